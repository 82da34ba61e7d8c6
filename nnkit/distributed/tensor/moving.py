"""Gathering a whole tensor from the parts of all ranks, and dividing it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nnkit.autograd import Function
from nnkit.autograd.ops.creation.factories import empty, zeros
from nnkit.autograd.tensor import Tensor
from nnkit.distributed.collectives import all_gather_single, all_reduce
from nnkit.distributed.device_mesh import DeviceMesh
from nnkit.distributed.reduce_op import ReduceOp
from nnkit.distributed.tensor.placement_types import Partial, Placement, Shard, part

Placements = Sequence[Placement]


def extent(
    shape: Sequence[int], mesh: DeviceMesh, placements: Placements
) -> tuple[list[int], list[int]]:
    """The offsets of this rank's part in the whole, and its sizes."""
    starts, sizes = [0] * len(shape), list(shape)
    for mesh_dim, placement in enumerate(placements):
        if isinstance(placement, Shard):
            dim, place = placement.dim, mesh.get_local_rank(mesh_dim)
            start, rows = part(sizes[dim], mesh.size(mesh_dim), place)
            starts[dim], sizes[dim] = starts[dim] + start, rows
    return starts, sizes


def own_part(whole: Tensor, mesh: DeviceMesh, placements: Placements) -> Tensor:
    """This rank's part of a tensor that every rank has: a view."""
    for dim, (start, size) in enumerate(zip(*extent(whole.shape, mesh, placements))):
        whole = whole.narrow(dim, start, size)
    return whole


def gathered(
    local: Tensor, mesh: DeviceMesh, placements: Placements, shape: Sequence[int]
) -> Tensor:
    """The whole tensor of which every rank has a part; all ranks of the mesh call this."""
    out = local
    for mesh_dim in reversed(range(mesh.ndim)):
        placement = placements[mesh_dim]
        group = mesh.get_group(mesh_dim)
        if isinstance(placement, Shard):
            rows = shape[placement.dim]
            for outer in range(mesh_dim):
                if placements[outer] == placement:
                    rows = part(rows, mesh.size(outer), mesh.get_local_rank(outer))[1]
            out = _rows_of_all(out, placement.dim, rows, group)
        elif isinstance(placement, Partial):
            out = out.clone()
            all_reduce(out, getattr(ReduceOp, placement.reduce_op.upper()), group)
    return out


def _rows_of_all(own: Tensor, dim: int, rows: int, group: Any) -> Tensor:
    chunk = -(-rows // group.size())
    own = own.movedim(dim, 0)
    sent = own.contiguous()
    if own.shape[0] < chunk:
        sent = zeros(chunk, *own.shape[1:], dtype=own.dtype, device=own.device)
        sent[: own.shape[0]] = own
    found = empty(chunk * group.size(), *own.shape[1:], dtype=own.dtype, device=own.device)
    all_gather_single(found, sent, group)
    return found[:rows].movedim(0, dim).contiguous()


class Gather(Function):
    """`gathered`, with this rank's part of the whole's gradient: all ranks compute the same one."""

    @staticmethod
    def forward(
        ctx: Any, local: Tensor, mesh: DeviceMesh, placements: Placements, shape: Sequence[int]
    ) -> Tensor:
        ctx.mesh, ctx.placements = mesh, placements
        found = gathered(local.detach(), mesh, placements, shape)
        return found.view_as(found) if found is local else found

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return own_part(grad, ctx.mesh, ctx.placements).contiguous(), None, None, None
