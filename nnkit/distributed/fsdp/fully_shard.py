"""`fully_shard`: shards the parameters, gradients and optimizer states of a module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.autograd import is_grad_enabled
from nnkit.autograd.engine.node import RUNNING
from nnkit.autograd.tensor import Tensor
from nnkit.cpu import empty_cache
from nnkit.distributed.device_mesh import DeviceMesh, init_device_mesh
from nnkit.distributed.fsdp.policies import MixedPrecisionPolicy, OffloadPolicy
from nnkit.distributed.fsdp.sharded_parameters import ParameterGroup, groups_of, packing
from nnkit.distributed.groups import get_world_size, init_process_group, is_initialized
from nnkit.nn import Module, ModuleDict, ModuleList
from nnkit.nn.parallel.distributed import at_end, outermost
from nnkit.utils._pytree import tree_leaves, tree_map_only

__all__ = ["FSDPModule", "UnshardHandle", "fully_shard"]

OWN_DTYPES = MixedPrecisionPolicy()


class Schedule:
    """The order in which the modules of one tree are used.

    Attributes:
        used: the groups whose forward has ended since the last backward.
        before: the same list of the last time, which predicts the group that comes next.
        reducing: the group whose gradients are being summed over the ranks.
    """

    def __init__(self, modules: list[FSDPModule]) -> None:
        self.modules = modules
        self.used: list[ParameterGroup] = []
        self.before: list[ParameterGroup] = []
        self.reducing: ParameterGroup | None = None
        self.waits_for: Any = None  # the backward pass at whose end `finish` is called
        self.packing: Any = None

    def begin(self) -> None:
        """Begin a forward of the root."""
        if self.used:
            self.before, self.used = self.used, []
        self.packing = packing()
        self.packing.__enter__()

    def end(self) -> None:
        """Undo `begin` once the forward of the root has ended."""
        self.packing.__exit__(None, None, None)

    def after(self, group: ParameterGroup) -> ParameterGroup | None:
        """The group that is used next in forward, if that is known."""
        place = len(self.used)
        if place + 1 < len(self.before) and self.before[place] is group:
            return self.before[place + 1]
        return None

    def ahead(self, group: ParameterGroup) -> ParameterGroup | None:
        """The group whose backward comes next."""
        place = self.used.index(group) if group in self.used else 0
        return self.used[place - 1] if place else None

    def reduce(self, group: ParameterGroup) -> None:
        """Begin to sum a group's gradients, after waiting for those of the group before."""
        self.settle()
        group.begin_reduce()
        self.reducing = group

    def settle(self) -> None:
        """Wait for the gradients that are being summed."""
        if self.reducing is not None:
            self.reducing.finish_reduce()
            self.reducing = None

    def wait_for_end(self) -> None:
        """Have `finish` called at the end of the running backward pass."""
        running = outermost()
        if self.waits_for is not running:
            self.waits_for = running
            at_end(self.finish)

    def finish(self) -> None:
        """Sum the remaining gradients, wait for all, and free the parameters still gathered."""
        self.waits_for = None
        for module in self.modules:
            module._sharding.after_backward()
        self.settle()
        self.before, self.used = self.used or self.before, []


class Sharding:
    """The sharding of a module by `fully_shard`.

    Args:
        module: the module.
        group: its parameters, except those of inner modules that are sharded by themselves.
        policy: the dtypes.
        frees_after_forward: as ``reshard_after_forward``.
    """

    def __init__(
        self,
        module: Any,
        group: ParameterGroup | None,
        policy: MixedPrecisionPolicy,
        frees_after_forward: bool | None,
    ) -> None:
        self.module = module
        self.group = group
        self.policy = policy
        self.frees_after_forward = frees_after_forward
        self.schedule: Schedule | None = None
        self.is_root = False
        self.runs_as_root = False
        self.syncs = True
        self.frees_after_backward = True
        self.is_last_backward = True
        self.prefetched_in_forward: list[FSDPModule] = []
        self.prefetched_in_backward: list[FSDPModule] = []
        self.arrived: set[Tensor] = set()
        self.expected = 0
        if group is not None:
            wanted = [p for p in group.parameters if p.shard.requires_grad]
            self.expected = len(wanted)
            for p in wanted:
                p.full.register_post_accumulate_grad_hook(self._arrived)
        module.register_forward_pre_hook(self.before_forward, prepend=True, with_kwargs=True)
        module.register_forward_hook(self.after_forward, always_call=True)
        module.register_state_dict_pre_hook(lambda *_: self.reshard())
        module._register_load_state_dict_pre_hook(lambda *_: self.reshard())

    def _join(self) -> None:
        """Make this the root, at the first forward that is not part of another module's."""
        modules = [m for m in self.module.modules() if isinstance(m, FSDPModule)]
        self.is_root = True
        schedule = Schedule(modules)
        for each in modules:
            own = each._sharding
            if own.is_root and own is not self:
                own.is_root = False
            own.schedule = schedule
            if own.group is not None:
                frees = own.frees_after_forward
                own.group.frees_after_forward = own is not self if frees is None else frees

    def reshard(self) -> None:
        if self.group is not None:
            self.group.reshard()

    # Forward

    def before_forward(self, module: Any, args: tuple, kwargs: dict) -> Any:
        in_backward = RUNNING.innermost is not None
        if self.schedule is None:
            self._join()
        schedule: Any = self.schedule
        self.runs_as_root = self.is_root and not in_backward
        if self.runs_as_root:
            schedule.begin()
        if self.group is not None:
            self.group.unshard()
            if not in_backward:
                after = schedule.after(self.group)
                if after is not None:
                    after.begin_unshard()
                for group in groups_of(self.prefetched_in_forward):
                    group.begin_unshard()
        dtype = self.policy.param_dtype
        if dtype is None or not self.policy.cast_forward_inputs:
            return None
        return cast(args, dtype), cast(kwargs, dtype)

    def after_forward(self, module: Any, args: tuple, output: Any) -> Any:
        in_backward = RUNNING.innermost is not None
        schedule: Any = self.schedule
        group = self.group
        if self.runs_as_root:
            self.runs_as_root = False
            schedule.end()
        if group is not None and not in_backward:
            schedule.used.append(group)
            if group.frees_after_forward or not is_grad_enabled():
                group.reshard()
        if output is None:
            return None
        if self.policy.output_dtype is not None:
            output = cast(output, self.policy.output_dtype)
        if group is not None and not in_backward and is_grad_enabled():
            for each in tree_leaves(output):
                if isinstance(each, Tensor) and each.requires_grad:
                    each.register_hook(self.before_backward)
        return output

    # Backward

    def before_backward(self, grad: Tensor) -> None:
        """Gather the parameters, when the gradient of an output has been computed."""
        schedule: Any = self.schedule
        schedule.wait_for_end()
        assert self.group is not None
        self.group.unshard()
        schedule.settle()  # else two full gradients and two full modules would be held at once
        ahead = schedule.ahead(self.group)
        if ahead is not None:
            ahead.begin_unshard()
        for group in groups_of(self.prefetched_in_backward):
            group.begin_unshard()

    def _arrived(self, full: Tensor) -> None:
        """Count a full parameter whose gradient is complete; after the last, end backward."""
        schedule: Any = self.schedule
        schedule.wait_for_end()
        self.arrived.add(full)
        if len(self.arrived) == self.expected:
            self.after_backward()

    def after_backward(self) -> None:
        """Sum the gradients over the ranks, and free the full parameters."""
        group = self.group
        if group is None:
            return
        self.arrived.clear()
        if self.frees_after_backward:
            group.reshard()
        if self.syncs and any(p.full._grad is not None for p in group.parameters):
            self.schedule.reduce(group)  # type: ignore[union-attr]


def cast(value: Any, dtype: Any) -> Any:
    def changed(x: Tensor) -> Tensor:
        return x.to(dtype) if x.is_floating_point() else x

    return tree_map_only(Tensor, changed, value)


class FSDPModule:
    """The base class of a module after `fully_shard`."""

    _sharding: Sharding
    modules: Callable[[], Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """An instance of the module's original class: a slice of a sharded container is not
        sharded."""
        original = cls.__mro__[2]
        made = original.__new__(original, *args, **kwargs)  # type: ignore[call-arg]
        made.__init__(*args, **kwargs)
        return made

    def __deepcopy__(self, memo: dict) -> Any:
        raise AssertionError(
            "FSDP does not support deepcopy. Please use state dict for serialization."
        )

    def reshard(self) -> None:
        """Free the full parameters of this module, and let it have its shards."""
        self._sharding.reshard()

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Gather the parameters of this module; all ranks call this.

        Args:
            async_op: return at once with a handle, whose ``wait`` waits for them.
        """
        group = self._sharding.group
        handle = UnshardHandle(group)
        if group is not None:
            group.begin_unshard()
        if async_op:
            return handle
        handle.wait()
        return None

    def _each(self, recurse: bool) -> list[Sharding]:
        if not recurse:
            return [self._sharding]
        return [m._sharding for m in self.modules() if isinstance(m, FSDPModule)]

    def set_requires_gradient_sync(
        self, requires_gradient_sync: bool, *, recurse: bool = True
    ) -> None:
        """Choose whether backward sums gradients over the ranks.

        If not, full gradients accumulate on each rank until a backward sums them: several batches
        then need the messages of one.
        """
        for sharding in self._each(recurse):
            sharding.syncs = requires_gradient_sync

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Change the argument ``reshard_after_forward`` of `fully_shard`.

        Raises:
            ValueError: it is no bool.
        """
        if not isinstance(reshard_after_forward, bool):
            raise ValueError(
                f"reshard_after_forward should be a bool, got {type(reshard_after_forward)}"
            )
        for sharding in self._each(recurse):
            sharding.frees_after_forward = reshard_after_forward
            if sharding.group is not None:
                sharding.group.frees_after_forward = reshard_after_forward

    def set_reshard_after_backward(
        self, reshard_after_backward: bool, *, recurse: bool = True
    ) -> None:
        """Choose whether full parameters are freed after backward."""
        for sharding in self._each(recurse):
            sharding.frees_after_backward = reshard_after_backward

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Accepted: each backward waits for its gradients."""

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Accepted where it is True.

        Raises:
            NotImplementedError: it is False.
        """
        if not requires_all_reduce:
            raise NotImplementedError("set_requires_all_reduce(False): use "
                                      "set_requires_gradient_sync(False)")  # fmt: skip

    def set_gradient_divide_factor(self, factor: float) -> None:
        """Divide the sums of gradients by this factor instead of the number of ranks."""
        for sharding in self._each(False):
            if sharding.group is not None:
                sharding.group.divisor = factor

    def set_modules_to_forward_prefetch(self, modules: list[FSDPModule]) -> None:
        """Choose further modules to gather, beside the next one, while this one's forward runs."""
        self._sharding.prefetched_in_forward = _checked(modules)

    def set_modules_to_backward_prefetch(self, modules: list[FSDPModule]) -> None:
        """Choose further modules to gather, beside the next one, while this one's backward runs."""
        self._sharding.prefetched_in_backward = _checked(modules)


def _checked(modules: Any) -> list[FSDPModule]:
    for module in modules:
        if not isinstance(module, FSDPModule):
            raise ValueError(f"Expects FSDPModule but got {type(module)}: {module}")
    return list(modules)


class UnshardHandle:
    """The handle of a gathering of a module's parameters."""

    def __init__(self, group: ParameterGroup | None) -> None:
        self._group = group

    def wait(self) -> None:
        """Wait until the module has them."""
        if self._group is not None:
            self._group.unshard()
            self._group = None


def fully_shard(
    module: Module,
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: bool | None = None,
    shard_placement_fn: Callable | None = None,
    mp_policy: MixedPrecisionPolicy = OWN_DTYPES,
    offload_policy: OffloadPolicy | None = None,
    ignored_params: set | None = None,
) -> Any:
    """Divide the parameters of a module among the ranks, along their first dimension.

    Each rank keeps its rows of each parameter, of its gradient and of the optimizer's states, as
    `DTensor`. A forward gathers the parameters and frees them; backward gathers them again,
    averages the gradients over the ranks, and leaves each rank its rows. The parameters of one call
    of `fully_shard` are gathered at once: so it is called for the layers of a model first, and last
    for the model itself, which has the rest. While one layer is used, the next is being gathered.

    Every rank must have the same parameters, as after `nnkit.manual_seed`. The optimizer is made
    afterwards. Modules that share a parameter belong in one call.

    Args:
        module: is changed, and its class is derived from `FSDPModule`.
        mesh: one dimension, or two, of which the first replicates the shards (gradients are
            averaged over it too); all ranks by default.
        reshard_after_forward: free parameters after forward; by default all but the root's, which
            backward needs first.
        shard_placement_fn: None, or returns None or ``Shard(0)`` for each parameter.
        mp_policy: dtypes of computation and communication.
        offload_policy: accepted.
        ignored_params: parameters that stay as they are, and whose gradients are each rank's own.

    Returns:
        ``module``.

    Raises:
        ValueError: it has no forward, a parameter has no dimensions, the mesh has more than two, or
            a parameter is shared with another module that is sharded already.
        NotImplementedError: a dimension other than the first is to be divided.

    Source: Zhao et al. 2023, "PyTorch FSDP"; ``torch.distributed.fsdp.fully_shard``.

    Example:
        >>> import nnkit
        >>> from nnkit.distributed.fsdp import fully_shard
        >>> model = nnkit.nn.Sequential(nnkit.nn.Linear(2, 3), nnkit.nn.Linear(3, 1))
        >>> nnkit.distributed.init_process_group()
        >>> for layer in model:
        ...     _ = fully_shard(layer)
        >>> _ = fully_shard(model)
        >>> model(nnkit.ones(1, 2)).sum().backward()
        >>> model[1].bias.grad.full_tensor()
        tensor([1.])
        >>> nnkit.distributed.destroy_process_group()
    """
    if isinstance(module, (ModuleList, ModuleDict)):
        raise ValueError(
            f"fully_shard does not support containers that do not implement forward: {module}"
        )
    if isinstance(module, FSDPModule):
        raise AssertionError(
            "Each distinct composable distributed API can only be applied to a module once. "
            "fully_shard has already been applied to the following module."
        )
    if not is_initialized():
        init_process_group()
    mesh = init_device_mesh("cpu", (get_world_size(),)) if mesh is None else mesh
    if mesh.ndim > 2:
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}")
    found = _parameters(module, ignored_params or set())
    _check(found, shard_placement_fn)
    group = ParameterGroup(found, mesh, mp_policy) if found else None
    found.clear()
    empty_cache()  # it holds the memory of the whole parameters
    sharding = Sharding(module, group, mp_policy, reshard_after_forward)
    module.__dict__["_sharding"] = sharding
    cls = type(module)
    module.__class__ = type(f"FSDP{cls.__name__}", (FSDPModule, cls), {})
    return module


def _check(found: dict[Tensor, list[tuple[Module, str]]], placement_of: Callable | None) -> None:
    """Raise for parameters that cannot be divided."""
    for p, places in found.items():
        name = places[0][1]
        if not p.ndim:
            raise ValueError(
                "fully_shard doesn't support scalar parameters. Change "
                f"{name} to a 1D tensor with numel equal to 1."
            )
        if "_fully_sharded" in p.__dict__:
            raise ValueError(
                f"parameter {name} is shared with a module to which fully_shard was applied: "
                "modules that share a parameter belong into one call of it"
            )
        placement = None if placement_of is None else placement_of(p)
        if placement is not None and getattr(placement, "dim", None) != 0:
            raise NotImplementedError(f"fully_shard divides dimension 0, not {placement}")


def _parameters(module: Module, ignored: set) -> dict[Tensor, list[tuple[Module, str]]]:
    """The parameters in and below a module, except those of sharded modules, with their places."""
    found: dict[Tensor, list[tuple[Module, str]]] = {}
    waiting: list[Module | None] = [module]
    while waiting:
        each = waiting.pop()
        if each is None or isinstance(each, FSDPModule):
            continue
        for name, p in each._parameters.items():
            if p is not None and p not in ignored:
                found.setdefault(p, []).append((each, name))
        waiting.extend(reversed(each._modules.values()))
    return found
