"""The states of a model and its optimizers under the names of parameters.

They are the same whether the model is `DistributedDataParallel`, sharded, or neither, so what one
has saved another can load.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from nnkit.autograd import no_grad
from nnkit.autograd.ops.creation.factories import empty, zeros_like
from nnkit.autograd.tensor import Tensor
from nnkit.backend.warning import warn
from nnkit.distributed.checkpoint.nested import set_element
from nnkit.distributed.collectives import broadcast
from nnkit.distributed.groups import get_rank, is_initialized
from nnkit.distributed.objects import broadcast_object_list
from nnkit.distributed.tensor import DTensor
from nnkit.distributed.tensor.dtensor import as_dtensor
from nnkit.distributed.tensor.moving import own_part
from nnkit.nn import Module
from nnkit.nn.parallel import DistributedDataParallel
from nnkit.optim import Optimizer

__all__ = [
    "StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict",
    "set_model_state_dict", "set_optimizer_state_dict", "set_state_dict",
]  # fmt: skip

Optimizers = Optimizer | Iterable[Optimizer]


@dataclass
class StateDictOptions:
    """Options for reading and setting states.

    Attributes:
        full_state_dict: whole tensors in place of shards.
        cpu_offload: on the CPU; together with ``full_state_dict`` only rank 0 gets them.
        ignore_frozen_params: leave out parameters that require no gradient.
        keep_submodule_prefixes: names in ``submodules`` are those in the whole model.
        strict: whether every key has to be on both sides.
        broadcast_from_rank0: rank 0 gives the whole state that is set, the others an empty one.
        flatten_optimizer_state_dict: the states of optimizers are one dictionary each, with keys
            such as ``state.weight.exp_avg`` and ``param_groups.weight.lr``.
        dsd_fqn_modifiers: accepted.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def get_model_state_dict(
    model: Module, *, submodules: set[Module] | None = None, options: Any = None
) -> dict[str, Any]:
    """The state of a model under the names that it has in one process.

    Args:
        submodules: modules in it whose state alone is wanted; deprecated.

    Example:
        >>> import nnkit
        >>> from nnkit.distributed.checkpoint.state_dict import get_model_state_dict
        >>> nnkit.distributed.init_process_group()
        >>> model = nnkit.nn.parallel.DistributedDataParallel(nnkit.nn.Linear(1, 1))
        >>> list(get_model_state_dict(model))
        ['weight', 'bias']
        >>> nnkit.distributed.destroy_process_group()
    """
    options = _checked(options)
    model = _inner(model)
    found = dict(model.state_dict())
    if submodules:
        found = _of_submodules(model, submodules, found, options)
    if options.ignore_frozen_params:
        for name, p in _named(model).items():
            if not p.requires_grad:
                found.pop(name, None)
    return _as_chosen(found, options)


def get_optimizer_state_dict(
    model: Module,
    optimizers: Optimizers,
    *,
    submodules: set[Module] | None = None,
    options: Any = None,
) -> dict[str, Any]:
    """The state of optimizers, by the names of the parameters.

    An optimizer that has made no step yet makes one that changes nothing, so that its state can be
    loaded into.
    """
    options = _checked(options)
    names = {id(p): name for name, p in _named(_inner(model)).items()}
    state: dict[str, Any] = {}
    groups: list[dict[str, Any]] = []
    for optimizer in _listed(optimizers):
        _make_state(optimizer)
        for group in optimizer.param_groups:
            skips = options.ignore_frozen_params
            kept = [p for p in group["params"] if p.requires_grad or not skips]
            packed = {name: value for name, value in group.items() if name != "params"}
            groups.append(packed | {"params": [names[id(p)] for p in kept]})
            for p in kept:
                if p in optimizer.state:
                    state[names[id(p)]] = dict(optimizer.state[p])
    if options.flatten_optimizer_state_dict:
        return _as_chosen(_flattened(state, groups), options)
    return {"state": _as_chosen(state, options), "param_groups": groups}


def get_state_dict(
    model: Module,
    optimizers: Optimizers,
    *,
    submodules: set[Module] | None = None,
    options: Any = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """`get_model_state_dict` and `get_optimizer_state_dict`."""
    of_model = get_model_state_dict(model, submodules=submodules, options=options)
    return of_model, get_optimizer_state_dict(model, optimizers, options=options)


@no_grad()
def set_model_state_dict(
    model: Module, model_state_dict: dict[str, Any], *, options: Any = None
) -> Any:
    """Load a state that `get_model_state_dict` gave, sharded or whole.

    Args:
        model_state_dict: the state, or, which is deprecated, states of modules in the model by
            these modules.

    Returns:
        the named tuple ``(missing_keys, unexpected_keys)``.
    """
    options = _checked(options)
    model = _inner(model)
    own = model.state_dict()
    if any(isinstance(key, Module) for key in model_state_dict):
        warn("model_state_dict by modules is deprecated: give names", FutureWarning)
        model_state_dict = {
            f"{name}.{key}": value
            for name, module in model.named_modules()
            for key, value in model_state_dict.get(module, {}).items()  # pyright: ignore
        }
    state = _from_first(model_state_dict, own, options)
    fitting = {name: _like(value, own.get(name)) for name, value in state.items()}
    return model.load_state_dict(fitting, strict=options.strict)


@no_grad()
def set_optimizer_state_dict(
    model: Module, optimizers: Optimizers, optim_state_dict: dict[str, Any], *, options: Any = None
) -> None:
    """Load a state that `get_optimizer_state_dict` gave, sharded or whole.

    Raises:
        KeyError: a parameter is in none of the groups.
        RuntimeError: one that requires a gradient has no state, if ``strict``.
    """
    options = _checked(options)
    names = {id(p): name for name, p in _named(_inner(model)).items()}
    for optimizer in _listed(optimizers):
        _make_state(optimizer)
        given = optim_state_dict
        if given and "state" not in given:
            given = _unflattened(optimizer, names, given)
        if options.broadcast_from_rank0:
            own = {names[id(p)]: dict(s) for p, s in optimizer.state.items()}
            box = [given.get("param_groups")]
            broadcast_object_list(box, src=0)
            state = _from_first(given.get("state", {}), own, options)
            given = {"state": state, "param_groups": box[0]}
        groups, state, number = [], {}, 0
        for group in optimizer.param_groups:
            own_names = [names[id(p)] for p in group["params"]]
            found = next((g for g in given["param_groups"] if {*g["params"]} & {*own_names}), None)
            if found is None:
                raise KeyError(f"no group of the loaded state has any of {own_names}")
            groups.append(found | {"params": list(range(number, number + len(own_names)))})
            for p, name in zip(group["params"], own_names):
                if name in given["state"]:
                    loaded = given["state"][name]
                    state[number] = {
                        k: _like(v, optimizer.state[p].get(k)) for k, v in loaded.items()
                    }
                elif given["state"] and p.requires_grad and options.strict:
                    raise RuntimeError(
                        f"Missing optimizer state for parameter '{name}' in checkpoint; "
                        "StateDictOptions(strict=False) loads the others"
                    )
                number += 1
        optimizer.load_state_dict({"state": state, "param_groups": groups})


def set_state_dict(
    model: Module,
    optimizers: Optimizers,
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: Any = None,
) -> Any:
    """`set_model_state_dict` and `set_optimizer_state_dict`."""
    keys = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return keys


def _checked(options: StateDictOptions | None) -> StateDictOptions:
    options = options or StateDictOptions()
    if options.broadcast_from_rank0 and not options.full_state_dict:
        raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")
    return options


def _of_submodules(
    model: Module, submodules: set[Module], state: dict[str, Any], options: StateDictOptions
) -> dict[str, Any]:
    """The part of a state that belongs to some of the model's modules."""
    warn("states of submodules are deprecated: choose names of the whole state", FutureWarning)
    found = {}
    for prefix in (f"{name}." for name, module in model.named_modules() if module in submodules):
        for key in [key for key in state if key.startswith(prefix)]:
            kept = key if options.keep_submodule_prefixes else key.removeprefix(prefix)
            found[kept] = state[key]
    return found


def _flattened(state: dict[str, Any], groups: list[dict[str, Any]]) -> dict[str, Any]:
    """The state of optimizers as one dictionary."""
    found: dict[str, Any] = {}

    def put(prefix: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, each in value.items():
                put(f"{prefix}.{key}", each)
        elif isinstance(value, (Tensor, int, float)):
            found[prefix] = value
        else:
            raise NotImplementedError(
                "Flattening optimizer state_dict only supports tensor, int, float, dict states "
                f"now. Type is {type(value)}."
            )

    put("state", state)
    for group in groups:
        for name in group["params"]:
            found.update({f"param_groups.{name}.{k}": v for k, v in group.items() if k != "params"})
    return found


def _unflattened(
    optimizer: Optimizer, names: dict[int, str], flat: dict[str, Any]
) -> dict[str, Any]:
    """The state of an optimizer from the dictionary of `_flattened`.

    Raises:
        RuntimeError: the parameters of a group have different settings.
    """
    state: dict[str, Any] = {}
    groups: list[dict[str, Any]] = []
    for group in optimizer.param_groups:
        kept = [names[id(p)] for p in group["params"]]
        found: dict[str, Any] = {"params": kept}
        for name in kept:
            for key in group.keys() - {"params"}:
                value = flat[f"param_groups.{name}.{key}"]
                if found.setdefault(key, value) != value:
                    raise RuntimeError(
                        "All the parameters in the same parameter group should have the same "
                        f"saved param_group value. But {name}.{key} is {value} while other(s) is "
                        f"{found[key]}."
                    )
            prefix = f"state.{name}."
            for key in [key for key in flat if key.startswith(prefix)]:
                path = (name, *key.removeprefix(prefix).split("."))
                set_element(state, path, flat[key])
        groups.append(found)
    return {"state": state, "param_groups": groups}


def _inner(model: Module) -> Any:
    return model.module if isinstance(model, DistributedDataParallel) else model


def _named(model: Module) -> dict[str, Tensor]:
    """Every parameter by its first name; those of sharded modules are the shards."""
    model.state_dict()  # its hooks free the gathered parameters
    return dict(model.named_parameters())


def _listed(optimizers: Optimizers) -> list[Optimizer]:
    return [optimizers] if isinstance(optimizers, Optimizer) else list(optimizers)


def _make_state(optimizer: Optimizer) -> None:
    """Let an optimizer without a state make a step that changes nothing."""
    params = [p for group in optimizer.param_groups for p in group["params"]]
    if optimizer.state or any(p.grad is not None for p in params):
        return
    for p in params:
        if p.requires_grad:
            p.grad = zeros_like(p)
    rates = [group.get("lr") for group in optimizer.param_groups]
    for group in optimizer.param_groups:
        if "lr" in group:
            group["lr"] = 0.0
    optimizer.step()
    for group, rate in zip(optimizer.param_groups, rates):
        if "lr" in group:
            group["lr"] = rate
    optimizer.zero_grad()


def _as_chosen(state: dict[str, Any], options: StateDictOptions) -> dict[str, Any]:
    """A state with its tensors where and as the options want them."""

    def converted(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: converted(each) for key, each in value.items()}
        if not isinstance(value, Tensor):
            return value
        if options.full_state_dict and isinstance(value, DTensor):
            value = value.full_tensor().detach()
        return value.cpu() if options.cpu_offload else value

    if not (options.full_state_dict or options.cpu_offload):
        return state
    found = converted(state)
    if options.full_state_dict and options.cpu_offload and is_initialized() and get_rank():
        return {}
    return found


def _like(value: Any, target: Any) -> Any:
    """A loaded tensor, distributed as the one that it is loaded into."""
    if not isinstance(target, DTensor) or not isinstance(value, Tensor):
        return value
    if isinstance(value, DTensor) or value.shape != target.shape:
        return value
    local = own_part(value, target.device_mesh, target.placements).clone()
    return as_dtensor(local, target.device_mesh, target.placements, target.shape)


def _from_first(given: Any, own: Any, options: StateDictOptions) -> Any:
    """The state of rank 0 on every rank, for the keys that this rank has."""
    if not options.broadcast_from_rank0:
        return given
    found: dict[str, Any] = {}
    for name, target in own.items():
        if isinstance(target, dict):
            found[name] = _from_first(given.get(name, {}), target, options)
        elif isinstance(target, Tensor):
            whole = empty(tuple(target.shape), dtype=target.dtype, device=target.device)
            if not get_rank():
                whole.copy_(given[name])
            broadcast(whole, src=0)
            found[name] = whole
        else:
            box = [given.get(name)]
            broadcast_object_list(box, src=0)
            found[name] = box[0]
    return found
