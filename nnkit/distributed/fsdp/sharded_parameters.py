"""Groups of parameters that are gathered, and whose gradients are reduced, together.

While a module is not in use it holds *shards*, `DTensor` parameters with this rank's rows. While it
is used they are replaced by *full* parameters, leaves that stay the same objects while their memory
comes and goes: so the nodes of a graph hold the leaf, and no memory. Where a node saves a full
parameter, a reference (`_Name`) is saved, and the parameter gathered again when backward needs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from nnkit.autograd import no_grad
from nnkit.autograd.engine.saved import STACK
from nnkit.autograd.graph import saved_tensors_hooks
from nnkit.autograd.ops.creation.factories import empty, zeros
from nnkit.autograd.tensor import Tensor
from nnkit.distributed.collectives import all_gather_single, all_reduce, reduce_scatter_single
from nnkit.distributed.device_mesh import DeviceMesh
from nnkit.distributed.fsdp.policies import MixedPrecisionPolicy
from nnkit.distributed.tensor import Replicate, Shard
from nnkit.distributed.tensor.dtensor import as_dtensor
from nnkit.distributed.tensor.moving import own_part
from nnkit.nn.parameter import Parameter

# A parameter of which a rank has this much is a message of its own: copying it into and out of a
# message with others takes longer than another message, and as much memory again.
ALONE = 1 << 18  # bytes


class ShardedParameter:
    """A sharded parameter, which several modules may have.

    Args:
        places: the modules that have it, and its name in each.
        parameter: the whole parameter.
        mesh: its rows are divided over the last dimension, and replicated over the first of two.
        dtype: in which it is gathered.
    """

    def __init__(
        self, places: list[tuple[Any, str]], parameter: Tensor, mesh: DeviceMesh, dtype: Any
    ) -> None:
        self.places = places
        self.shape = parameter.shape
        ranks = mesh.shape[-1]
        self.chunk = -(-self.shape[0] // ranks)  # rows of a shard, with padding
        self.row = self.shape[1:]
        self.size = self.chunk * self.row.numel()
        placements = (*(Replicate(),) * (mesh.ndim - 1), Shard(0))
        whole = parameter.detach()
        local = own_part(whole, mesh, placements).clone()
        shard = as_dtensor(local, mesh, placements, self.shape)
        self.shard: Any = Parameter(shard, parameter.requires_grad)
        self.shard.__dict__.update(parameter.__dict__)
        self.dtype = parameter.dtype if dtype is None else dtype
        # One element stands for all: the shape of a parameter, and none of its memory.
        self.blank = zeros(1, dtype=self.dtype, device=parameter.device)
        self.full: Any = Parameter(self._freed(), parameter.requires_grad)
        self.full.__dict__.update(parameter.__dict__)
        parameter.__dict__["_fully_sharded"] = True
        self.show(self.shard)

    def _freed(self) -> Tensor:
        return self.blank.view([1] * len(self.shape)).expand(self.shape)

    def show(self, parameter: Any) -> None:
        """Let the modules have the shard or the full parameter."""
        for module, name in self.places:
            module._parameters[name] = parameter

    def local(self) -> Tensor:
        """The rows of this rank."""
        return self.shard.to_local().detach()

    def fill(self, gathered: Tensor) -> None:
        """Give the full parameter its values, gathered from all ranks."""
        rows = gathered.reshape(-1, *self.row)[: self.shape[0]]
        self.full.data = rows

    def free(self) -> None:
        """Free the memory of the full parameter."""
        self.full.data = self._freed()

    def add_gradient(self, rows: Tensor) -> None:
        """Add this rank's rows of a gradient to the shard's."""
        shard = self.shard
        local = rows.view(self.chunk, *self.row)[: shard.to_local().shape[0]]
        local = local.to(shard.dtype)
        if shard._grad is None:
            shard.grad = local.detach()
        else:
            shard.grad.to_local().add_(local)


class ParameterGroup:
    """The parameters of a module that are gathered and reduced together.

    Args:
        found: the parameters with their places.
        mesh: the ranks: one dimension, or two, of which the first replicates.
        policy: the dtypes.
    """

    def __init__(
        self,
        found: dict[Tensor, list[tuple[Any, str]]],
        mesh: DeviceMesh,
        policy: MixedPrecisionPolicy,
    ) -> None:
        self.mesh = mesh
        self.policy = policy
        self.shards = mesh.get_group(mesh.ndim - 1)
        self.copies = mesh.get_group(0) if mesh.ndim == 2 else None
        self.parameters = [
            ShardedParameter(places, p, mesh, policy.param_dtype if p.is_floating_point() else None)
            for p, places in found.items()
        ]
        self.messages = _messages(self.parameters)
        self.is_full = False
        self.versions: list[int] = []  # of the shards when they were gathered
        self.gathering: list[tuple[Any, Tensor, Tensor]] = []
        self.reducing: list[tuple[Any, Tensor, list[ShardedParameter]]] = []
        self.frees_after_forward = True
        self.divisor: float = mesh.size()
        for p in self.parameters:
            p.full._sharded_in = self, p

    # Gathering

    def _now(self) -> list[int]:
        return [p.shard._version for p in self.parameters]

    @no_grad()
    def begin_unshard(self) -> None:
        """Begin to gather the parameters, unless they are there or being gathered."""
        now = self._now()
        if now == self.versions and (self.is_full or self.gathering):
            return
        self._drop_gathering()
        self.versions = now
        for members in self.messages:
            sent = _rows(members)
            size = self.shards.size() * sent.numel()
            found = empty(size, dtype=sent.dtype, device=sent.device)
            work = all_gather_single(found, sent, self.shards, async_op=True)
            self.gathering.append((work, found, sent))

    def _drop_gathering(self) -> None:
        for work, _, _ in self.gathering:
            work.wait()
        self.gathering = []

    @no_grad()
    def unshard(self) -> None:
        """Gather the full parameters, and let the modules have them."""
        self.begin_unshard()
        for (work, found, _), members in zip(self.gathering, self.messages):
            work.wait()
            columns = found.view(self.shards.size(), -1)
            start = 0
            for p in members:
                p.fill(columns[:, start : start + p.size])
                start += p.size
        self.gathering = []
        if not self.is_full:
            self.is_full = True
            for p in self.parameters:
                p.show(p.full)

    def reshard(self) -> None:
        """Let the modules have the shards again, and free the full parameters."""
        self._drop_gathering()
        self.versions = []
        if self.is_full:
            self.is_full = False
            for p in self.parameters:
                p.show(p.shard)
                p.free()

    # Gradients

    @no_grad()
    def begin_reduce(self) -> None:
        """Begin to reduce the full gradients; each rank gets the rows of its shards."""
        self.finish_reduce()
        for members in self.messages:
            ready = [p for p in members if p.full._grad is not None]
            if not ready:
                continue
            sent = _gradients(ready, self.shards.size(), self.policy.reduce_dtype)
            if self.divisor != 1:
                sent.div_(self.divisor)
            found = empty(sent.shape[1], dtype=sent.dtype, device=sent.device)
            work = reduce_scatter_single(found, sent.view(-1), group=self.shards, async_op=True)
            self.reducing.append((work, found, ready))

    @no_grad()
    def finish_reduce(self) -> None:
        """Wait for the reduced gradients, and add them to those of the shards."""
        for work, found, ready in self.reducing:
            work.wait()
            if self.copies is not None:
                all_reduce(found, group=self.copies)
            start = 0
            for p in ready:
                p.add_gradient(found[start : start + p.size])
                start += p.size
        self.reducing = []


def _messages(parameters: list[ShardedParameter]) -> list[list[ShardedParameter]]:
    """The parameters by messages: each large one alone, the small ones by dtype and device."""
    messages = []
    small: dict[Any, list[ShardedParameter]] = {}
    for p in parameters:
        if p.size * p.dtype.itemsize >= ALONE:
            messages.append([p])
        else:
            small.setdefault((p.dtype, p.shard.device), []).append(p)
    return [*messages, *small.values()]


def _rows(members: list[ShardedParameter]) -> Tensor:
    """This rank's rows of some parameters, one after another, padded with zeros."""
    first = members[0]
    own = first.local()
    if len(members) == 1 and own.numel() == first.size and own.dtype == first.dtype:
        return own.reshape(-1)
    sent = zeros(sum(p.size for p in members), dtype=first.dtype, device=own.device)
    start = 0
    for p in members:
        local = p.local()
        sent[start : start + local.numel()] = local.reshape(-1).to(first.dtype)
        start += p.size
    return sent


def _gradients(ready: list[ShardedParameter], ranks: int, dtype: Any) -> Tensor:
    """The full gradients, in a row for each rank; they are taken from the parameters."""
    first = ready[0]
    dtype = dtype or first.dtype
    if len(ready) == 1 and first.chunk * ranks == first.shape[0] and first.dtype == dtype:
        grad, first.full._grad = first.full._grad, None
        return grad.contiguous().view(ranks, -1)
    sent = zeros(ranks, sum(p.size for p in ready), dtype=dtype, device=first.shard.device)
    start = 0
    for p in ready:
        _put(sent[:, start : start + p.size], p.full._grad, p)
        p.full._grad = None
        start += p.size
    return sent


def _put(columns: Tensor, grad: Tensor, p: ShardedParameter) -> None:
    """Write a gradient into its columns of the rows for the ranks; padding stays zero."""
    full_rows, rest = divmod(p.shape[0], p.chunk) if p.chunk else (0, 0)
    flat = grad.reshape(p.shape[0], -1)
    columns[:full_rows] = flat[: full_rows * p.chunk].reshape(full_rows, -1)
    if rest:
        last = flat[full_rows * p.chunk :].reshape(-1)
        columns[full_rows, : last.numel()] = last


# Values saved for backward


class _Name:
    """A reference to a full parameter, or to a view of one, that is saved in its place."""

    def __init__(self, group: ParameterGroup, parameter: ShardedParameter, seen: Any) -> None:
        self.group = group
        self.parameter = parameter
        self.seen = seen  # sizes, strides and offset of a view


def packing() -> AbstractContextManager:
    """A context manager in which full parameters are saved by reference, all else as before."""
    if STACK.refusal is not None:
        return nullcontext()
    outer = STACK.pairs[-1] if STACK.pairs else None

    def pack(saved: Tensor) -> Any:
        base = saved if saved._base is None else saved._base
        place: Any = getattr(base, "_sharded_in", None)
        if place is not None and place[0].frees_after_forward:
            seen = None
            if saved is not base:
                seen = saved.shape, saved.stride(), saved.storage_offset()
            return _Name(place[0], place[1], seen)
        return saved if outer is None else (outer[0](saved),)

    def unpack(kept: Any) -> Tensor:
        if isinstance(kept, _Name):
            kept.group.unshard()
            found = kept.parameter.full.detach()
            return found if kept.seen is None else found.as_strided(*kept.seen)
        return kept if outer is None else outer[1](kept[0])

    return saved_tensors_hooks(pack, unpack)


def groups_of(modules: Iterable[Any]) -> Iterator[ParameterGroup]:
    """The groups of modules, as far as these have parameters of their own."""
    for module in modules:
        if module._sharding.group is not None:
            yield module._sharding.group
