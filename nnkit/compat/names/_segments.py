"""Reductions of contiguous segments, and conversions of the indices of sparse matrices."""

from __future__ import annotations

from typing import Any

import nnkit
from nnkit import Tensor
from nnkit.autograd import Function

# By torch's name of a reduction: that of `scatter_reduce`, and the result of an empty segment.
_REDUCTIONS = {
    "sum": ("sum", 0.0),
    "mean": ("sum", 0.0),
    "prod": ("prod", 1.0),
    "max": ("amax", float("-inf")),
    "amax": ("amax", float("-inf")),
    "min": ("amin", float("inf")),
    "amin": ("amin", float("inf")),
}


class _Chosen(Function):
    """The products, maxima or minima of segments, with torch's gradients.

    The gradient of an extremum is shared by all elements equal to it or NaN; the initial value has
    no share. That of a product is the result divided by the element, or the product of the others
    where the element is 0 or NaN.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(data: Tensor, initial: Tensor, axis: int, index: Tensor, name: str) -> Tensor:
        return initial.scatter_reduce(axis, index, data, name)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Tensor) -> None:
        data, initial, ctx.axis, index, ctx.name = inputs
        ctx.save_for_backward(data, initial, index, output)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple:
        data, initial, index, out = ctx.saved_tensors
        if ctx.name == "prod":
            found = _others(data, initial, ctx.axis, index, out) * grads[0].gather(ctx.axis, index)
        else:
            chosen = data.isnan() | (data == out.gather(ctx.axis, index))
            shares = nnkit.zeros_like(initial).scatter_add(ctx.axis, index, chosen.to(data.dtype))
            found = chosen * (grads[0] / shares.clamp(min=1)).gather(ctx.axis, index)
        return found, None, None, None, None


def _others(data: Tensor, initial: Tensor, axis: int, index: Tensor, out: Tensor) -> Tensor:
    """For each element, the product of the initial value and all others of its segment."""
    zero, nan = data == 0, data.isnan()
    plain = data.masked_fill(zero | nan, 1)
    found = initial.scatter_reduce(axis, index, plain, "prod").gather(axis, index)
    for special, value in ((zero, 0.0), (nan, float("nan"))):
        count = nnkit.zeros_like(initial).scatter_add(axis, index, special.to(data.dtype))
        among_others = count.gather(axis, index) > special
        found = nnkit.where(among_others, found * value, found)
    return nnkit.where(zero | nan, found, out.gather(axis, index) / data)


def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Any = None,
) -> Tensor:
    """Reductions of consecutive segments of an axis.

    Args:
        data: (*, n, *rest), of floats.
        reduce: "sum", "mean", "prod", "max" or "min".
        lengths: (*, k), the lengths of the segments.
        offsets: (*, k + 1), where they begin, and where the last one ends; instead of ``lengths``.
        axis: the axis of ``data`` of size n, the last one of ``lengths``.
        initial: the value that each reduction begins with.

    Returns:
        Tensor: (*, k, *rest). An empty segment's mean is NaN unless ``initial`` is given.

    Raises:
        RuntimeError: neither lengths nor offsets are given, or they do not cover the axis.
        NotImplementedError: the dtype is none of floats.

    Source: ``torch.segment_reduce``.
    """
    if reduce not in _REDUCTIONS:
        names = "sum, prod, mean, amax or amin"
        raise RuntimeError(f"segment_reduce(): reduce must be one of {names}, got {reduce}")
    if not data.is_floating_point():
        raise NotImplementedError(f"segment_reduce(): expected floats, got {data.dtype}")
    given = offsets if lengths is None else lengths
    if given is None:
        raise RuntimeError("segment_reduce(): either lengths or offsets must be given")
    axis += data.dim() if axis < 0 else 0
    if axis != given.dim() - 1:
        raise RuntimeError(
            f"segment_reduce(): axis must be the last dimension of lengths, got axis {axis} and "
            f"{given.dim()} dimensions"
        )
    counts = given.diff() if lengths is None else given
    if not unsafe and lengths is not None:
        if (counts < 0).any():
            raise RuntimeError("segment_reduce(): lengths contains a negative value")
        if (counts.sum(-1) != data.shape[axis]).any():
            raise RuntimeError(
                f"segment_reduce(): Expected all rows of lengths along axis to sum to "
                f"data.size({axis}), {data.shape[axis]}"
            )
    first = given.new_zeros(given.shape[:-1]) if lengths is not None else given[..., 0]
    ends = first.unsqueeze(-1) + counts.cumsum(-1)
    places = nnkit.arange(data.shape[axis], device=data.device).expand(data.shape[: axis + 1])
    covered = (places >= first.unsqueeze(-1)) & (places < ends[..., -1:])
    owners = nnkit.searchsorted(ends, places.to(ends.dtype).contiguous(), right=True)
    # Elements outside all segments go to one more, which is dropped.
    owners = owners.where(covered, counts.shape[-1])
    rest = (1,) * (data.dim() - axis - 1)
    name, start = _REDUCTIONS[reduce]
    shape = (*data.shape[:axis], counts.shape[-1] + 1, *data.shape[axis + 1 :])
    out = data.new_full(shape, start if initial is None else initial)
    index = owners.reshape(*owners.shape, *rest).expand(data.shape)
    if name == "sum":
        out = out.scatter_reduce(axis, index, data, name)
    else:
        out = _Chosen.apply(data, out, axis, index, name)
    out = out.narrow(axis, 0, counts.shape[-1])
    if reduce != "mean":
        return out
    divisors = counts if initial is None else counts.clamp(min=1)
    return out / divisors.reshape(*counts.shape, *rest)


def coo_to_csr(indices: Tensor, size: int, *, out_int32: bool = False) -> Tensor:
    """Where each of ``size`` rows begins in the sorted row numbers ``indices``, and the end.

    Example:
        >>> import nnkit
        >>> coo_to_csr(nnkit.tensor([0, 0, 2]), 3)
        tensor([0, 2, 2, 3])
    """
    rows = nnkit.arange(size + 1, dtype=indices.dtype, device=indices.device)
    return nnkit.searchsorted(indices.contiguous(), rows, out_int32=out_int32)


def csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """The (row, column) indices of compressed rows; (column, row) with ``transpose``.

    Example:
        >>> import nnkit
        >>> csr_to_coo(nnkit.tensor([0, 2, 2, 3]), nnkit.tensor([0, 1, 1]))
        tensor([[0, 0, 2],
                [0, 1, 1]])
    """
    rows = nnkit.arange(crow_indices.shape[-1] - 1, device=crow_indices.device)
    pair = rows.repeat_interleave(crow_indices.diff()), col_indices
    return nnkit.stack(pair[::-1] if transpose else pair).to(
        nnkit.int32 if out_int32 else nnkit.int64
    )
