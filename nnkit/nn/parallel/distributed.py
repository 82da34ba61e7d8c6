"""One module in many processes, each with its part of the batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import compress
from typing import Any

from nnkit.autograd import is_grad_enabled, no_grad
from nnkit.autograd.engine.node import RUNNING, Node, edge_of, target_of
from nnkit.autograd.ops.creation.factories import tensor
from nnkit.autograd.tensor import Tensor
from nnkit.backend.futures import Future
from nnkit.distributed import (
    all_gather_object,
    all_reduce,
    broadcast_object_list,
)
from nnkit.distributed.algorithms.join import Join, Joinable, JoinHook
from nnkit.distributed.collectives import broadcast_coalesced
from nnkit.distributed.groups import default_group
from nnkit.nn.modules.module import Module
from nnkit.nn.parallel.buckets import (
    DEFAULT_BUCKET_MB,
    FIRST_BUCKET_BYTES,
    Bucket,
    GradBucket,
    divided,
)

__all__ = ["DistributedDataParallel"]

_OF_ONE_RUN = (
    *("process_group", "_parameters_to_send", "_buffers_to_send", "_join", "_hook"),
    *("_hook_state", "_step", "_buckets", "_places", "_rebuilt", "_arrivals", "_calls"),
)


class DistributedDataParallel(Module, Joinable):
    """Calls ``module``; backward averages the gradients over all ranks.

    The parameters and buffers of rank 0 are given to all when it is made. Gradients travel in
    buckets, each as soon as the gradients in it are complete, while backward goes on; after the
    first backward the buckets are made anew in the order in which gradients came. At the end of
    backward ``grad`` of every parameter holds the mean over the ranks: of the gradients of losses
    that are means over equal parts of a batch, this is the gradient of the mean over the batch.
    Until then a gradient of 1 MiB or more is itself under way, with its bucket but not copied,
    unless the parameter has hooks that could see it.

    Args:
        module: what is called; at least one parameter must require a gradient.
        device_ids, output_device, dim: accepted; the module stays where it is.
        broadcast_buffers: give rank 0's buffers to all before each forward in training.
        init_sync: compare and broadcast the parameters now.
        process_group: the ranks; all by default.
        bucket_cap_mb: how large a bucket may be; 25 MiB by default, the first one 1 MiB.
        find_unused_parameters: look in each forward which parameters the outputs do not depend on:
            nobody waits for their gradients.
        check_reduction: accepted.
        gradient_as_bucket_view: let ``grad`` be a view of the bucket, into which all are copied.
        static_graph: the same parameters are used in the same way in each step. Then they may be
            used in several inner backward passes (`nnkit.utils.checkpoint`).

    Raises:
        RuntimeError: no parameter requires a gradient, the ranks' parameters differ, or a step
            begins though gradients of the last one are missing.

    Example:
        >>> import nnkit
        >>> nnkit.distributed.init_process_group()
        >>> model = nnkit.nn.parallel.DistributedDataParallel(nnkit.nn.Linear(2, 1))
        >>> model(nnkit.ones(3, 2)).sum().backward()
        >>> model.module.bias.grad
        tensor([3.])
        >>> nnkit.distributed.destroy_process_group()
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
    ) -> None:
        super().__init__()
        self.process_group = default_group() if process_group is None else process_group
        self.module = module
        self.device_ids = device_ids
        self.output_device = output_device
        self.dim = dim
        self.broadcast_buffers = broadcast_buffers
        self.find_unused_parameters = find_unused_parameters
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.static_graph = static_graph
        self.require_backward_grad_sync = True
        cap = DEFAULT_BUCKET_MB if bucket_cap_mb is None else bucket_cap_mb
        self.bucket_bytes_cap = int(cap * (1 << 20))
        first = FIRST_BUCKET_BYTES if bucket_cap_mb is None else self.bucket_bytes_cap
        self._limits = [min(first, self.bucket_bytes_cap), self.bucket_bytes_cap]
        self._prepare()
        if init_sync:
            self._check_alike(module)
            self._broadcast([*module.parameters(), *self._buffers_to_send])

    def _prepare(self) -> None:
        """Watch the module's gradients; nothing of what this makes is part of a copy."""
        module = self.module
        ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        self._parameters_to_send = [
            p for name, p in module.named_parameters() if p.requires_grad and name not in ignored
        ]
        if not self._parameters_to_send:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter "
                "that requires a gradient."
            )
        self._buffers_to_send = [
            b for name, b in module.named_buffers() if name not in ignored and b is not None
        ]
        self._divides_by_all = True  # also where some ranks have no more batches
        self._hook: Callable | None = None
        self._hook_state: Any = None
        self._step = _Step()
        self._make_buckets(self._parameters_to_send[::-1])
        self._rebuilt = False
        self._arrivals: list[Tensor] = []
        self._calls: dict[Tensor, int] = {}  # with a static graph: passes that reach a parameter
        for p in self._parameters_to_send:
            p.register_post_accumulate_grad_hook(self._arrived)

    def __getstate__(self) -> dict[str, Any]:
        """The state of a copy: it belongs to the default group, and watches its own gradients."""
        if self.process_group is not default_group():
            raise RuntimeError(
                "DDP Pickling/Unpickling are only supported when using DDP with the default "
                "process group. That is, when you have called init_process_group and have not "
                "passed process_group argument to DDP constructor"
            )
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name not in _OF_ONE_RUN}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.process_group = default_group()
        super().__setstate__(state)
        self._prepare()

    def _check_alike(self, module: Module) -> None:
        """RuntimeError, on every rank, if the ranks' parameters differ in number or form."""
        own = [(n, str(p.dtype), tuple(p.shape)) for n, p in module.named_parameters()]
        found: list = [None] * self.process_group.size()
        all_gather_object(found, own, self.process_group)
        for rank, other in enumerate(found):
            if other == found[0]:
                continue
            pairs = [(a, b) for a, b in zip(found[0], other) if a != b]
            words = (
                f"rank 0 has {pairs[0][0]}, rank {rank} has {pairs[0][1]}"
                if pairs
                else f"rank 0 has {len(found[0])}, rank {rank} has {len(other)}"
            )
            raise RuntimeError(
                f"DDP expects same model across all ranks, but the parameters differ: {words}"
            )

    def _make_buckets(self, parameters: Sequence[Tensor]) -> None:
        flat = self.gradient_as_bucket_view or self._hook is not None
        self._buckets = [Bucket(members, flat) for members in divided(parameters, self._limits)]
        self._places = {
            p: (bucket, place)
            for bucket in self._buckets
            for place, p in enumerate(bucket.parameters)
        }

    # Forward

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        syncs = is_grad_enabled() and self.require_backward_grad_sync
        if syncs:
            self._begin()
            Join.notify_join_context(self)
        if self.require_backward_grad_sync and self.broadcast_buffers and self.training:
            self._broadcast(self._buffers_to_send)
        output = self.module(*inputs, **kwargs)
        if syncs and self.find_unused_parameters and not self.static_graph:
            used = _leaves(output)
            self._step.unused = [p for p in self._parameters_to_send if p not in used]
        return output

    def _begin(self) -> None:
        """Get ready for a backward; the last one must have come to its end."""
        if self._step.started:
            missing = [n for n, p in self.module.named_parameters() if self._step.waits_for(p)]
            raise RuntimeError(
                "Expected to have finished reduction in the prior iteration before starting a new "
                "one. This error indicates that your module has parameters that were not used in "
                "producing loss. You can enable unused parameter detection by passing the keyword "
                "argument `find_unused_parameters=True` to "
                "`torch.nn.parallel.DistributedDataParallel`, and by making sure all `forward` "
                f"function outputs participate in calculating loss. Without a gradient: {missing}"
            )
        may_rebuild = not self.find_unused_parameters and self._join is None
        if self._arrivals and not self._rebuilt and may_rebuild:
            self._rebuild()
        self._step = _Step(self._parameters_to_send)
        for bucket in self._buckets:
            bucket.begin()

    def _rebuild(self) -> None:
        """Make the buckets anew, in the order in which rank 0's gradients came."""
        self._rebuilt = True
        numbers: dict[Any, int] = {p: i for i, p in enumerate(self._parameters_to_send)}
        order = [[numbers[p] for p in self._arrivals]]
        broadcast_object_list(order, group=self.process_group, group_src=0)
        self._make_buckets([self._parameters_to_send[i] for i in order[0]])

    def _broadcast(self, tensors: Sequence[Tensor]) -> None:
        """Give all ranks the values of rank 0 or, where it has no more inputs, of one that has."""
        root = 0 if self._join is None else self._join.active[-1]
        for work in broadcast_coalesced(tensors, root, self.process_group):
            work.wait()

    # Backward

    def _arrived(self, parameter: Tensor) -> None:
        """Called with each parameter whose gradient is complete."""
        step = self._step
        if not self.require_backward_grad_sync or not step.expected:
            return
        if not step.started:
            step.started = True
            for p in step.unused:
                self._ready(p, False)
            if self.static_graph and not self._calls:
                step.counts = {}
                at_end(self._end_of_first_static)
        if step.counts is not None:
            step.counts[parameter] = step.counts.get(parameter, 0) + 1
            return
        if self._calls:
            step.seen[parameter] = step.seen.get(parameter, 0) + 1
            if step.seen[parameter] < self._calls.get(parameter, 1):
                return
        self._ready(parameter, True)

    def _end_of_first_static(self) -> None:
        """Once it is known how often each gradient comes, send all that came."""
        counts, self._step.counts = self._step.counts or {}, None
        self._calls = dict(counts)
        for p in self._parameters_to_send:
            self._ready(p, p in counts)

    def _ready(self, parameter: Tensor, used: bool) -> None:
        """Take a gradient into its bucket, and send the buckets that are full, in their order."""
        step = self._step
        if parameter in step.ready:
            raise RuntimeError(
                "Expected to mark a variable ready only once. This error is caused by a parameter "
                "that is used in several backward passes of one step, as by reentrant "
                "checkpointing: try static_graph=True"
            )
        step.ready.add(parameter)
        if used:
            step.used.add(parameter)
            if not self._rebuilt:
                self._arrivals.append(parameter)
        bucket, place = self._places[parameter]
        with no_grad():
            bucket.store(place, used, self.gradient_as_bucket_view)
            bucket.waiting -= 1
            while step.sent < len(self._buckets) and not self._buckets[step.sent].waiting:
                is_last = step.sent == len(self._buckets) - 1
                shown = GradBucket(self._buckets[step.sent], step.sent, is_last)
                self._buckets[step.sent].send(
                    self.process_group, self._hook, self._hook_state, shown, self._divisor()
                )
                step.sent += 1
                if is_last:
                    self._send_used()
                    at_end(self._finish)
        if step.sent:
            self._go_on()
            RUNNING.innermost.between = self._go_on

    def _go_on(self) -> None:
        """Let what is under way make progress."""
        step = self._step
        while step.arrived < step.sent and self._buckets[step.arrived].arrived():
            step.arrived += 1

    def _divisor(self) -> int:
        if self._join is None or self._divides_by_all:
            return self.process_group.size()
        return len(self._join.active)

    def _send_used(self) -> None:
        """Send which parameters this rank has used, where some may be unused."""
        step = self._step
        if self.find_unused_parameters or self.static_graph:
            used = [int(p in step.used) for p in self._parameters_to_send]
            flags = tensor(used, device=self._parameters_to_send[0].device)
            step.used_anywhere = flags
            step.used_work = all_reduce(flags, group=self.process_group, async_op=True)

    def _accompany(self) -> None:
        """Take part in a step of the others with zeros; the gradients are then those of all, of
        which an optimizer in shares updates some on this rank."""
        self._step = _Step(self._parameters_to_send)
        for bucket in self._buckets:
            bucket.begin()
        if self.broadcast_buffers and self.training:
            self._broadcast(self._buffers_to_send)
        with no_grad():
            for index, bucket in enumerate(self._buckets):
                bucket.store_zeros()
                shown = GradBucket(bucket, index, bucket is self._buckets[-1])
                bucket.send(
                    self.process_group, self._hook, self._hook_state, shown, self._divisor()
                )
            self._send_used()
        self._finish()

    def _finish(self) -> None:
        """Give every parameter its mean gradient, when all leaves have theirs."""
        step = self._step
        used: set[Any] = set(self._parameters_to_send)
        with no_grad():
            if step.used_anywhere is not None:
                step.used_work.wait()
                flags = step.used_anywhere.tolist()
                used = set(compress(self._parameters_to_send, flags))
            for bucket in self._buckets:
                bucket.receive()
                for p, view in zip(bucket.parameters, bucket.views):
                    if p not in used:
                        continue
                    if self.gradient_as_bucket_view:
                        p.grad = view
                    elif p.grad is None:
                        p.grad = view.clone()
                    elif p.grad is not view:
                        p.grad.copy_(view)
                bucket.end()
        if not self._rebuilt and len(self._arrivals) != len(self._parameters_to_send):
            self._arrivals = []
        self._step = _Step()

    # What a user changes

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Leave gradients as they are on each rank, to add up those of several batches; the first
        backward outside of it averages the sums."""
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Join:
        """For ranks with different numbers of batches: who has no more takes part in the others'
        collectives, with zeros, until all have come to the end; then all have the same weights.

        Args:
            divide_by_initial_world_size: divide gradients by the number of all ranks, and not of
                those that still have batches.
            enable: do nothing of this if False.
            throw_on_early_termination: raise on all ranks when the first one has no more.

        Raises:
            RuntimeError: with ``throw_on_early_termination``, when a rank has come to its end.
        """
        return Join(
            [self], enable, throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        )  # fmt: skip

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The steps of this module in a `Join` once its own batches are at their end."""
        self._divides_by_all = kwargs.get("divide_by_initial_world_size", True)
        return _JoinHook(self)

    @property
    def join_device(self) -> Any:
        """The device of the parameters."""
        return self._parameters_to_send[0].device

    @property
    def join_process_group(self) -> Any:
        """The ranks."""
        return self.process_group

    def register_comm_hook(self, state: Any, hook: Callable[[Any, GradBucket], Future]) -> None:
        """Let ``hook(state, bucket)`` bring a bucket together; its future gives the flat result.

        `nnkit.distributed.algorithms.ddp_comm_hooks.default_hooks` has some.

        Raises:
            TypeError: ``hook`` cannot be called.
            RuntimeError: there is one already.
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self._hook is not None:
            raise RuntimeError("register_comm_hook can only be called once.")
        self._hook, self._hook_state = hook, state
        self._make_buckets([p for bucket in self._buckets for p in bucket.parameters])

    def _set_static_graph(self) -> None:
        self.static_graph = True

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        """Its settings, by names of torch; whether the graph stays the same is not watched."""
        return {
            "module_name": type(self.module).__name__,
            "backend_name": self.process_group.name(),
            "world_size": self.process_group.size(),
            "rank": self.process_group.rank(),
            "broadcast_buffers": self.broadcast_buffers,
            "bucket_cap_bytes": self.bucket_bytes_cap,
            "find_unused_parameters": self.find_unused_parameters,
            "gradient_as_bucket_view": self.gradient_as_bucket_view,
            "static_graph": self.static_graph,
            "can_set_static_graph": False,
        }


class _JoinHook(JoinHook):
    """The part of a rank without batches in the steps of the others; then it gets the weights."""

    def __init__(self, model: DistributedDataParallel) -> None:
        self.model = model

    def main_hook(self) -> None:
        self.model._accompany()

    def post_hook(self, is_last_joiner: bool) -> None:
        model = self.model
        model._broadcast([*model.module.parameters(), *model._buffers_to_send])


class _Step:
    """The state of the gradients since the last forward.

    Args:
        expected: the parameters whose gradients will come.
    """

    def __init__(self, expected: Sequence[Tensor] = ()) -> None:
        self.expected = bool(expected)
        self.started = False
        self.unused: list[Tensor] = []
        self.ready: set[Tensor] = set()
        self.used: set[Tensor] = set()
        self.seen: dict[Tensor, int] = {}
        self.counts: dict[Tensor, int] | None = None
        self.sent = self.arrived = 0  # buckets
        self.used_anywhere: Tensor | None = None
        self.used_work: Any = None

    def waits_for(self, parameter: Tensor) -> bool:
        return parameter not in self.ready


def outermost() -> Any:
    """The backward pass that runs, and in which all others do."""
    this: Any = RUNNING.innermost
    while this.outer is not None:
        this = this.outer
    return this


def at_end(callback: Callable) -> None:
    """Call a function when the outermost backward pass has given all leaves their gradients."""
    this = outermost()
    this.callbacks = [*(this.callbacks or ()), callback]


def _leaves(output: Any) -> set[Any]:
    """The leaves that the tensors in an output depend on."""
    found: set = set()
    stack = [edge_of(t) for t in _tensors(output) if t.requires_grad]
    while stack:
        target = target_of(stack.pop())[0]
        if target is not None and target not in found:
            found.add(target)
            if isinstance(target, Node):
                stack.extend(target.edges)
    return {target for target in found if not isinstance(target, Node)}


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _tensors(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _tensors(each)
    elif hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            yield from _tensors(getattr(value, name))
