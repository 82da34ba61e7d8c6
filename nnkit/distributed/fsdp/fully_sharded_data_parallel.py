"""`FullyShardedDataParallel`: the older interface of `fully_shard`, a wrapper around a module."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from enum import Enum, auto
from typing import Any

from nnkit.autograd import no_grad
from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import float32
from nnkit.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_optimizer_state_dict,
    set_optimizer_state_dict,
)
from nnkit.distributed.collectives import broadcast
from nnkit.distributed.device_mesh import DeviceMesh, init_device_mesh
from nnkit.distributed.fsdp.api import (
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    MixedPrecision,
    OptimStateDictConfig,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)
from nnkit.distributed.fsdp.fully_shard import FSDPModule, cast, fully_shard
from nnkit.distributed.fsdp.policies import MixedPrecisionPolicy
from nnkit.distributed.fsdp.sharded_parameters import ParameterGroup, groups_of
from nnkit.distributed.fsdp.wrap import wrap_parts
from nnkit.distributed.groups import get_rank, get_world_size, init_process_group, is_initialized
from nnkit.distributed.tensor import DTensor
from nnkit.distributed.tensor.dtensor import as_dtensor
from nnkit.distributed.tensor.moving import own_part
from nnkit.nn import Module
from nnkit.nn.utils import clip_grad_norm_
from nnkit.utils._pytree import tree_leaves

__all__ = ["FullyShardedDataParallel", "OptimStateKeyType"]

_INNER = "_fsdp_wrapped_module"
_HYBRID = (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2)
_KEPT = (ShardingStrategy.SHARD_GRAD_OP, ShardingStrategy._HYBRID_SHARD_ZERO2)
_CONFIGS: dict[StateDictType, tuple[Callable[[], Any], Callable[[], Any]]] = {
    StateDictType.FULL_STATE_DICT: (FullStateDictConfig, FullOptimStateDictConfig),
    StateDictType.SHARDED_STATE_DICT: (ShardedStateDictConfig, ShardedOptimStateDictConfig),
}


class OptimStateKeyType(Enum):
    """The kinds of keys of an optimizer's state."""

    PARAM_NAME = auto()
    PARAM_ID = auto()


class FullyShardedDataParallel(Module):
    """A wrapper of ``module`` that shards its parameters, gradients and optimizer states.

    It is `fully_shard` of the module and of the parts that ``auto_wrap_policy`` chooses, each in a
    wrapper of its own. Parameters are `DTensor` under their own names. The names in
    ``state_dict()`` are those of the module without wrappers, and its tensors are whole, unless
    `state_dict_type` says otherwise.

    Args:
        module: is changed.
        process_group: all ranks.
        sharding_strategy: see `ShardingStrategy`; ``FULL_SHARD`` by default.
        cpu_offload, backward_prefetch, forward_prefetch, limit_all_gathers, use_orig_params,
            device_id: accepted.
        auto_wrap_policy: a policy of `nnkit.distributed.fsdp.wrap`, or a function like those.
        mixed_precision: dtypes.
        ignored_modules, ignored_states: modules, in ``ignored_states`` also parameters, that stay
            as they are.
        param_init_fn: fills a module whose tensors are on ``meta``; by default
            ``reset_parameters`` of its parts does.
        sync_module_states: copy rank 0's parameters and buffers to all ranks.
        device_mesh: the ranks; for the hybrid strategies two dimensions.

    Raises:
        ValueError: the strategy and the mesh do not fit.
        NotImplementedError: a process group is given.

    Example:
        >>> import nnkit
        >>> from nnkit.distributed.fsdp import FullyShardedDataParallel
        >>> nnkit.distributed.init_process_group()
        >>> model = FullyShardedDataParallel(nnkit.nn.Sequential(nnkit.nn.Linear(2, 1)))
        >>> model(nnkit.ones(1, 2)).sum().backward()
        >>> list(model.state_dict())
        ['0.weight', '0.bias']
        >>> nnkit.distributed.destroy_process_group()
    """

    def __init__(
        self,
        module: Module,
        process_group: Any = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: CPUOffload | None = None,
        auto_wrap_policy: Any = None,
        backward_prefetch: BackwardPrefetch | None = BackwardPrefetch.BACKWARD_PRE,
        mixed_precision: MixedPrecision | None = None,
        ignored_modules: Iterable[Module] | None = None,
        param_init_fn: Callable[[Module], None] | None = None,
        device_id: Any = None,
        sync_module_states: bool = False,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = False,
        ignored_states: Iterable[Any] | None = None,
        device_mesh: DeviceMesh | None = None,
    ) -> None:
        super().__init__()
        if process_group is not None:
            raise NotImplementedError("FullyShardedDataParallel: give a device_mesh, not groups")
        if not is_initialized():
            init_process_group()
        strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        mesh = _mesh(strategy, device_mesh)
        ignored, free = _ignored(ignored_modules, ignored_states)
        precision = mixed_precision or MixedPrecision()
        shared = {
            "sharding_strategy": strategy,
            "mixed_precision": precision,
            "param_init_fn": param_init_fn,
            "sync_module_states": sync_module_states,
            "ignored_states": [*ignored, *free],
            "device_mesh": device_mesh,
        }
        if auto_wrap_policy is not None:

            def make(part: Module, **settings: Any) -> Module:
                return FullyShardedDataParallel(part, **{**shared, **settings})

            apart = _of_own_precision(module, precision, ignored)
            wrap_parts(module, auto_wrap_policy, ignored, free, apart, make)
        _materialize(module, param_init_fn)
        if sync_module_states:
            _synchronize(module, mesh)
        if precision.buffer_dtype is not None:
            inside = {m for f in self.fsdp_modules(module) for m in f.modules()}
            for part, name, value in [*_own(module)]:
                if name in part._buffers and part not in inside:
                    part._buffers[name] = cast(value, precision.buffer_dtype)
        self.sharding_strategy = strategy
        self.mixed_precision = precision
        self.cpu_offload = cpu_offload or CPUOffload()
        self._is_root: bool | None = None
        self._settings = StateDictSettings()
        self._fsdp_wrapped_module = fully_shard(
            module,
            mesh=mesh,
            reshard_after_forward=False if strategy in _KEPT else None,
            mp_policy=MixedPrecisionPolicy(
                precision.param_dtype, precision.reduce_dtype, cast_forward_inputs=False
            ),
            ignored_params=free,
        )
        self._register_state_dict_hook(_after_state_dict)
        self._register_load_state_dict_pre_hook(self._before_load)

    @property
    def module(self) -> Any:
        """The wrapped module."""
        return self._fsdp_wrapped_module

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__(_INNER), name)

    def __getitem__(self, key: Any) -> Any:
        return self.module[key]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        dtype = self.mixed_precision.param_dtype
        if dtype is not None:
            casts = self.mixed_precision.cast_forward_inputs
            if casts or (self.check_is_root() and self.mixed_precision.cast_root_forward_inputs):
                args, kwargs = cast(args, dtype), cast(kwargs, dtype)
        return self.module(*args, **kwargs)

    def check_is_root(self) -> bool:
        """Whether this is the outermost wrapper."""
        if self._is_root is None:
            for inner in self.fsdp_modules(self):
                inner._is_root = inner is self
        return bool(self._is_root)

    @staticmethod
    def fsdp_modules(module: Module, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """The wrappers in a module, itself included, or only the outermost ones."""
        found = [m for m in module.modules() if isinstance(m, FullyShardedDataParallel)]
        if root_only:
            inside = {m for f in found for m in f.module.modules()}
            found = [f for f in found if f not in inside]
        return found

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """A context manager in which gradients accumulate on each rank, until a later backward."""
        self.module.set_requires_gradient_sync(False)
        try:
            yield
        finally:
            self.module.set_requires_gradient_sync(True)

    @no_grad()
    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """`nnkit.nn.utils.clip_grad_norm_` by the norm of the gradients of all ranks."""
        norm = clip_grad_norm_(self.parameters(), max_norm, norm_type)
        return norm.full_tensor() if isinstance(norm, DTensor) else norm

    def apply(self, fn: Callable[[Module], None]) -> FullyShardedDataParallel:
        """``Module.apply`` with whole parameters; changes to them are kept."""
        sharded = (m for m in self.modules() if isinstance(m, FSDPModule))
        if any(group.is_full for group in groups_of(sharded)):
            super().apply(fn)
        else:
            with self.summon_full_params(self):
                super().apply(fn)
        return self

    @staticmethod
    @contextlib.contextmanager
    def summon_full_params(
        module: Module,
        recurse: bool = True,
        writeback: bool = True,
        rank0_only: bool = False,
        offload_to_cpu: bool = False,
        with_grads: bool = False,
    ) -> Iterator[None]:
        """A context manager in which modules have whole parameters; all ranks enter it.

        Args:
            recurse: also in the wrappers inside the outermost ones.
            writeback: whether changes to the parameters are kept.
            rank0_only, offload_to_cpu: accepted; every rank has the parameters.
            with_grads: they have whole gradients as well; changes to those are not kept.
        """
        found = FullyShardedDataParallel.fsdp_modules(module)
        if not recurse:
            found = [f for f in found if f is module]
        groups = list(groups_of(f.module for f in found))
        for group in groups:
            grads = [p.shard.grad for p in group.parameters]
            group.unshard()
            for p, grad in zip(group.parameters, grads):
                if with_grads and grad is not None:
                    p.full.grad = grad.full_tensor()
        try:
            yield
        finally:
            for group in groups:
                _put_back(group, writeback)

    # States

    @staticmethod
    def set_state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> StateDictSettings:
        """Choose the tensors of states; returns the previous settings.

        Raises:
            NotImplementedError: ``LOCAL_STATE_DICT``.
            RuntimeError: the configuration belongs to another type.
        """
        if state_dict_type not in _CONFIGS:
            raise NotImplementedError("LOCAL_STATE_DICT: flat parameters are not there")
        kinds: Any = _CONFIGS[state_dict_type]
        given: list[Any] = [
            kind() if config is None else config
            for kind, config in zip(kinds, (state_dict_config, optim_state_dict_config))
        ]
        for kind, config in zip(kinds, given):
            if type(config) is not kind:
                raise RuntimeError(f"Expected {kind} but got {type(config)} for {state_dict_type}")
        before = FullyShardedDataParallel.get_state_dict_type(module)
        for each in FullyShardedDataParallel.fsdp_modules(module):
            each._settings = StateDictSettings(state_dict_type, *given)
        return before

    @staticmethod
    def get_state_dict_type(module: Module) -> StateDictSettings:
        """The settings of the wrappers in a module."""
        found = FullyShardedDataParallel.fsdp_modules(module)
        return replace(found[0]._settings) if found else StateDictSettings()

    @staticmethod
    @contextlib.contextmanager
    def state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> Iterator[None]:
        """`set_state_dict_type` as a context manager."""
        settings = state_dict_type, state_dict_config, optim_state_dict_config
        before = FullyShardedDataParallel.set_state_dict_type(module, *settings)
        try:
            yield
        finally:
            for each in FullyShardedDataParallel.fsdp_modules(module):
                each._settings = before

    def _before_load(self, state: dict[str, Any], prefix: str, *_: Any) -> None:
        """Rename the entries of a state for loading, and keep this rank's rows of whole tensors."""
        for name in [name for name in state if name.startswith(prefix)]:
            rest = name.removeprefix(prefix)
            if not rest.startswith(_INNER):
                state[f"{prefix}{_INNER}.{rest}"] = state.pop(name)
        self.module.reshard()
        for name, p in self.module.named_parameters(remove_duplicate=False):
            name = f"{prefix}{_INNER}.{name}"
            value = state.get(name)
            if isinstance(p, DTensor) and isinstance(value, Tensor):
                if not isinstance(value, DTensor) and value.shape == p.shape:
                    rows = own_part(value, p.device_mesh, p.placements).clone()
                    state[name] = as_dtensor(rows, p.device_mesh, p.placements, p.shape)

    @staticmethod
    def optim_state_dict(
        model: Module, optim: Any, optim_state_dict: Any = None, group: Any = None
    ) -> dict[str, Any]:
        """The state of an optimizer by the names of parameters, as `state_dict_type` says."""
        settings = FullyShardedDataParallel.get_state_dict_type(model)
        config = settings.optim_state_dict_config
        is_full = isinstance(config, FullOptimStateDictConfig)
        options = StateDictOptions(full_state_dict=is_full)
        found = get_optimizer_state_dict(model, optim, options=options)
        if is_full and config.rank0_only and get_rank():  # type: ignore[attr-defined]
            return {}
        return {
            "state": {_clean(name): state for name, state in found["state"].items()},
            "param_groups": [
                group | {"params": [_clean(name) for name in group["params"]]}
                for group in found["param_groups"]
            ],
        }

    @staticmethod
    def optim_state_dict_to_load(
        model: Module,
        optim: Any,
        optim_state_dict: dict[str, Any],
        is_named_optimizer: bool = False,
        load_directly: bool = False,
        group: Any = None,
    ) -> dict[str, Any]:
        """A state of `optim_state_dict`, in the form that ``optim.load_state_dict`` takes."""
        names = {_clean(name): name for name, _ in model.named_parameters()}
        given = {
            "state": {names[name]: s for name, s in optim_state_dict["state"].items()},
            "param_groups": [
                group | {"params": [names[name] for name in group["params"]]}
                for group in optim_state_dict["param_groups"]
            ],
        }
        before = optim.state_dict()
        set_optimizer_state_dict(model, optim, given)
        found: dict[str, Any] = optim.state_dict()
        if not load_directly:
            optim.load_state_dict(before)
        return found


def _clean(name: str) -> str:
    return name.replace(f"{_INNER}.", "")


def _after_state_dict(module: Any, state: dict[str, Any], prefix: str, _: Any) -> None:
    """Rename the entries of a state to those without wrappers, with tensors as configured."""
    config = module._settings.state_dict_config
    is_full = isinstance(config, FullStateDictConfig)
    inner = f"{prefix}{_INNER}."
    for name in [name for name in state if name.startswith(inner)]:
        value = state.pop(name)
        if is_full and isinstance(value, DTensor):
            value = value.full_tensor().detach()
        if is_full and config.rank0_only and get_rank():
            continue
        if config.offload_to_cpu and isinstance(value, Tensor):
            value = value.cpu()
        state[prefix + name.removeprefix(inner)] = value


@no_grad()
def _put_back(group: ParameterGroup, writes: bool) -> None:
    for p in group.parameters:
        if writes:
            rows = own_part(p.full.detach(), p.shard.device_mesh, p.shard.placements)
            p.shard.to_local().copy_(rows)
        p.full.grad = None
    group.reshard()


def _mesh(strategy: ShardingStrategy, mesh: DeviceMesh | None) -> DeviceMesh:
    """The mesh for `fully_shard`, with the dimensions that the strategy needs."""
    size = get_world_size()
    if strategy in _HYBRID:
        if mesh is not None and mesh.ndim != 2:
            raise ValueError(f"{strategy} needs a device_mesh of two dimensions, got {mesh}")
        return init_device_mesh("cpu", (1, size)) if mesh is None else mesh
    if mesh is not None and mesh.ndim != 1:
        raise ValueError(f"{strategy} needs a device_mesh of one dimension, got {mesh}")
    if strategy is ShardingStrategy.NO_SHARD:
        return init_device_mesh("cpu", (size, 1))
    return init_device_mesh("cpu", (size,)) if mesh is None else mesh


def _ignored(
    modules: Iterable[Module] | None, states: Iterable[Any] | None
) -> tuple[set[Module], set[Any]]:
    """The ignored modules, with all inside them, and the ignored parameters."""
    given = [*(modules or ()), *(states or ())]
    ignored = {m for each in given if isinstance(each, Module) for m in each.modules()}
    free = {each for each in given if not isinstance(each, Module)}
    return ignored, free | {p for module in ignored for p in module.parameters(recurse=False)}


def _own(module: Module) -> Iterator[tuple[Module, str, Tensor]]:
    """The tensors of a module's parts, except shards."""
    for part in module.modules():
        for tensors in (part._parameters, part._buffers):
            for name, value in tensors.items():
                if value is not None and not isinstance(value, DTensor):
                    yield part, name, value


def _of_own_precision(
    module: Module, precision: MixedPrecision, ignored: set[Module]
) -> dict[Module, dict[str, Any]]:
    """The settings of parts that compute in float32 within half-precision ones, as batch norms do.

    Their inputs are cast to float32, and their outputs to the dtype that the inputs had.
    """
    kinds = tuple(precision._module_classes_to_ignore)
    if precision.param_dtype is None or not kinds:
        return {}
    found = [m for m in module.modules() if isinstance(m, kinds) and m not in ignored]
    for part in found:
        came: list[Any] = []

        def widen(_: Any, args: tuple, came: list[Any] = came) -> Any:
            came[:] = [x.dtype for x in tree_leaves(args) if isinstance(x, Tensor)]
            return cast(args, float32)

        def narrow(_: Any, args: tuple, output: Any, came: list[Any] = came) -> Any:
            return cast(output, came[0]) if came and came[0].is_floating_point else output

        part.register_forward_pre_hook(widen)
        part.register_forward_hook(narrow)
    return {part: {"mixed_precision": None} for part in found}


def _materialize(module: Module, fill: Callable[[Any], None] | None) -> None:
    """Give memory and values to the parts whose tensors are on ``meta``."""
    for part in dict.fromkeys(part for part, _, value in _own(module) if value.is_meta):
        if fill is not None:
            fill(part)
        else:
            part.to_empty(device="cpu", recurse=False)
            part.reset_parameters()  # type: ignore[operator]


@no_grad()
def _synchronize(module: Module, mesh: DeviceMesh) -> None:
    """Give the parameters and buffers of all ranks of the mesh the values of its first rank."""
    for _, _, value in _own(module):
        for dim in reversed(range(mesh.ndim)):
            broadcast(value.detach(), group=mesh.get_group(dim), group_src=0)
