"""The states of a model and its optimizers under the names of parameters.

They are the same whether the model is `DistributedDataParallel`, in shards, or neither, and so what
one has saved another loads.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from nnkit.autograd import no_grad
from nnkit.autograd.ops.creation.factories import empty, zeros_like
from nnkit.autograd.tensor import Tensor
from nnkit.distributed.collectives import broadcast
from nnkit.distributed.groups import get_rank, is_initialized
from nnkit.distributed.objects import broadcast_object_list
from nnkit.distributed.tensor import DTensor
from nnkit.distributed.tensor.dtensor import made
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
        strict: whether every key has to be on both sides.
        broadcast_from_rank0: rank 0 has the state that is set; the others give an empty one.
        keep_submodule_prefixes, flatten_optimizer_state_dict: accepted where they are the
            defaults.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False

    def __post_init__(self) -> None:
        if self.flatten_optimizer_state_dict or not self.keep_submodule_prefixes:
            raise NotImplementedError(
                "StateDictOptions: flatten_optimizer_state_dict=True and "
                "keep_submodule_prefixes=False are not there"
            )


def get_model_state_dict(
    model: Module, *, submodules: set[Module] | None = None, options: Any = None
) -> dict[str, Any]:
    """The state of a model under the names that it has in one process.

    Example:
        >>> import nnkit
        >>> from nnkit.distributed.checkpoint.state_dict import get_model_state_dict
        >>> nnkit.distributed.init_process_group()
        >>> model = nnkit.nn.parallel.DistributedDataParallel(nnkit.nn.Linear(1, 1))
        >>> list(get_model_state_dict(model))
        ['weight', 'bias']
        >>> nnkit.distributed.destroy_process_group()
    """
    _refuse_submodules(submodules)
    options = options or StateDictOptions()
    model = _inner(model)
    found = dict(model.state_dict())
    if options.ignore_frozen_params:
        for name, p in _named(model).items():
            if not p.requires_grad:
                found.pop(name, None)
    return _told(found, options)


def get_optimizer_state_dict(
    model: Module,
    optimizers: Optimizers,
    *,
    submodules: set[Module] | None = None,
    options: Any = None,
) -> dict[str, Any]:
    """The state of optimizers, by the names of the parameters; one that has made no step yet gets
    a state as of a step that changes nothing, which can be loaded into."""
    _refuse_submodules(submodules)
    options = options or StateDictOptions()
    names = {id(p): name for name, p in _named(_inner(model)).items()}
    state: dict[str, Any] = {}
    groups: list[dict[str, Any]] = []
    for optimizer in _listed(optimizers):
        _make_state(optimizer)
        for group in optimizer.param_groups:
            kept = [p for p in group["params"] if p.requires_grad or not _frozen(options)]
            packed = {name: value for name, value in group.items() if name != "params"}
            groups.append(packed | {"params": [names[id(p)] for p in kept]})
            for p in kept:
                if p in optimizer.state:
                    state[names[id(p)]] = dict(optimizer.state[p])
    return {"state": _told(state, options), "param_groups": groups}


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
    """Load what `get_model_state_dict` gave, in shards or whole.

    Returns:
        the named tuple ``(missing_keys, unexpected_keys)``.
    """
    options = options or StateDictOptions()
    model = _inner(model)
    own = model.state_dict()
    state = _from_first(model_state_dict, own, options)
    fitting = {name: _like(value, own.get(name)) for name, value in state.items()}
    return model.load_state_dict(fitting, strict=options.strict)


@no_grad()
def set_optimizer_state_dict(
    model: Module, optimizers: Optimizers, optim_state_dict: dict[str, Any], *, options: Any = None
) -> None:
    """Load what `get_optimizer_state_dict` gave, in shards or whole.

    Raises:
        KeyError: a parameter is in none of the groups.
    """
    options = options or StateDictOptions()
    names = {id(p): name for name, p in _named(_inner(model)).items()}
    for optimizer in _listed(optimizers):
        _make_state(optimizer)
        given = optim_state_dict
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


def _refuse_submodules(submodules: Any) -> None:
    if submodules:
        raise NotImplementedError("state dicts of submodules: call this with the submodule")


def _inner(model: Module) -> Any:
    return model.module if isinstance(model, DistributedDataParallel) else model


def _named(model: Module) -> dict[str, Tensor]:
    """Every parameter by its first name; those of modules in shards are the shards."""
    model.state_dict()  # whose hooks free what is gathered
    return dict(model.named_parameters())


def _listed(optimizers: Optimizers) -> list[Optimizer]:
    return [optimizers] if isinstance(optimizers, Optimizer) else list(optimizers)


def _frozen(options: StateDictOptions) -> bool:
    return options.ignore_frozen_params


def _make_state(optimizer: Optimizer) -> None:
    """Let an optimizer that has made no step make one that changes nothing."""
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


def _told(value: Any, options: StateDictOptions) -> Any:
    """The tensors of a state as the options want them."""
    if not (options.full_state_dict or options.cpu_offload):
        return value
    found = _mapped(value, options)
    if options.full_state_dict and options.cpu_offload and is_initialized() and get_rank():
        return {}
    return found


def _mapped(value: Any, options: StateDictOptions) -> Any:
    if isinstance(value, dict):
        return {key: _mapped(each, options) for key, each in value.items()}
    if isinstance(value, Tensor):
        if options.full_state_dict and isinstance(value, DTensor):
            value = value.full_tensor().detach()
        return value.cpu() if options.cpu_offload else value
    return value


def _like(value: Any, target: Any) -> Any:
    """A loaded tensor, divided as the one that it is for."""
    if not isinstance(target, DTensor) or not isinstance(value, Tensor):
        return value
    if isinstance(value, DTensor) or value.shape != target.shape:
        return value
    local = own_part(value, target.device_mesh, target.placements).clone()
    return made(local, target.device_mesh, target.placements, target.shape)


def _from_first(given: Any, own: Any, options: StateDictOptions) -> Any:
    """The state of rank 0, of the tensors that this rank has of it."""
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
