"""Collectives through which gradients flow, as ``torch.distributed.nn.functional``.

The backward of each is the transposed collective, so all ranks must run backward alike.
"""

from __future__ import annotations

from typing import Any

import nnkit.distributed.collectives as dist
from nnkit.autograd import Function
from nnkit.autograd.ops.creation.factories import empty, empty_like, zeros_like
from nnkit.autograd.ops.shape.joining import stack
from nnkit.autograd.tensor import Tensor
from nnkit.distributed.groups import get_rank, get_world_size
from nnkit.distributed.reduce_op import ReduceOp

__all__ = [
    "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce",
    "reduce_scatter", "scatter",
]  # fmt: skip


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """The ``tensor`` of rank ``src``, whose gradient is the sum over all ranks."""
    return _Broadcast.apply(src, group, tensor)


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks on rank ``dst``, zeros on the others."""
    return _Gather.apply(dst, group, tensor)


def scatter(tensors: list[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """The tensor at this rank's place in the list of rank ``src``."""
    return _Scatter.apply(src, group, *tensors)


def reduce(tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The tensors of all ranks, reduced, on rank ``dst``; its own tensor on every other rank."""
    return _Reduce.apply(dst, op, group, tensor)


def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: Any = ReduceOp.SUM, group: Any = None
) -> Tensor:
    """The tensors at this rank's place in the lists of all ranks, reduced; in ``output``."""
    return _ReduceScatter.apply(op, group, output, *input_list)


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks.

    Example:
        >>> import nnkit
        >>> import nnkit.distributed as dist
        >>> dist.init_process_group()
        >>> x = nnkit.tensor([1.0, 2.0], requires_grad=True)
        >>> dist.nn.all_gather(x)[0].sum().backward()
        >>> x.grad
        tensor([1., 1.])
        >>> dist.destroy_process_group()
    """
    return _AllGather.apply(group, tensor)


def all_to_all(
    output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Any = None
) -> tuple[Tensor, ...]:
    """The tensors at this rank's place in the lists of all ranks; in the output tensors."""
    return _AllToAll.apply(group, output_tensor_list, *input_tensor_list)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: Any = None,
) -> Tensor:
    """The parts of all ranks' inputs that are for this rank; in ``output``."""
    return _AllToAllSingle.apply(group, output, output_split_sizes, input_split_sizes, input)


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The tensors of all ranks, reduced, on every rank."""
    return _AllReduce.apply(op, group, tensor)


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, tensor: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        out = tensor.clone()
        dist.broadcast(out, src, group=group)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        total = _Reduce.apply(ctx.src, ReduceOp.SUM, ctx.group, grad)
        return None, None, total if get_rank() == ctx.src else total * 0


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, group: Any, tensor: Tensor) -> Any:
        ctx.dst, ctx.group = dst, group
        outputs = [zeros_like(tensor) for _ in range(get_world_size(group))]
        dist.gather(tensor, outputs if get_rank() == dst else None, dst, group=group)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, None, _Scatter.apply(ctx.dst, ctx.group, *grads)


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, *tensors: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        output = zeros_like(tensors[0])
        dist.scatter(output, list(tensors) if get_rank() == src else None, src, group=group)
        return output

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, *_Gather.apply(ctx.src, ctx.group, grad)


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, op: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.dst, ctx.group = dst, group
        out = tensor.clone()
        dist.reduce(out, dst, op, group)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, None, _Broadcast.apply(ctx.dst, ctx.group, grad)


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, output: Tensor, *inputs: Tensor) -> Tensor:
        ctx.group = group
        dist.reduce_scatter(output, list(inputs), op, group)
        return output.view_as(output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, None, *_AllGather.apply(ctx.group, grad)


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, tensor: Tensor) -> Any:
        ctx.group = group
        outputs = [empty_like(tensor) for _ in range(get_world_size(group))]
        dist.all_gather(outputs, tensor, group)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        parts = _AllToAll.apply(ctx.group, [empty_like(g) for g in grads], *grads)
        return None, stack(parts).sum(0)


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, outputs: list[Tensor], *tensors: Tensor) -> Any:
        ctx.group, ctx.shapes = group, [t.shape for t in tensors]
        dist.all_to_all(outputs, list(tensors), group)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        like = grads[0]
        outputs = [empty(s, dtype=like.dtype, device=like.device) for s in ctx.shapes]
        return None, None, *_AllToAll.apply(ctx.group, outputs, *grads)


class _AllToAllSingle(Function):
    @staticmethod
    def forward(
        ctx: Any, group: Any, output: Tensor, received: Any, sent: Any, tensor: Tensor
    ) -> Tensor:
        ctx.group, ctx.shape, ctx.sizes = group, tensor.shape, (received, sent)
        dist.all_to_all_single(output, tensor, received, sent, group)
        return output.view_as(output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        output = empty(ctx.shape, dtype=grad.dtype, device=grad.device)
        received, sent = ctx.sizes
        result = _AllToAllSingle.apply(ctx.group, output, sent, received, grad)
        return None, None, None, None, result


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.op, ctx.group = op, group
        out = tensor.clone()
        dist.all_reduce(out, op, group)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, _AllReduce.apply(ctx.op, ctx.group, grad)
