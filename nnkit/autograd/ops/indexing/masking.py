"""Masks: reading and writing where a bool tensor is true, and finding where that is."""

from __future__ import annotations

import math
from typing import Any

from nnkit.autograd.arguments.dims import broadcast_shape, check_tensor
from nnkit.autograd.batch.examples import by_example, is_batched
from nnkit.autograd.compiled import bind_write
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.out import Out
from nnkit.autograd.op.pointwise import F4, F8, declined
from nnkit.autograd.op.public import METHODS, public
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.op.rule import rule
from nnkit.autograd.op.single import seen_beside, single
from nnkit.autograd.ops.creation.conversion import contiguous
from nnkit.autograd.ops.creation.memory_format import in_order_of
from nnkit.autograd.ops.indexing.scattering import same_dtype
from nnkit.autograd.ops.indexing.slices import WRONG_SELECTED
from nnkit.autograd.ops.shape import reshaping as shapes
from nnkit.autograd.ops.shape.joining import cat
from nnkit.autograd.surface.limits import FLOAT32_MAX, fitting
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.autograd.views.overlap import check_positions
from nnkit.autograd.views.writes import write
from nnkit.backend.dtype import BOOL, int64


def _copied_where_alike(x: Tensor, mask: Tensor, *rest: Any) -> str | None:
    """Torch copies the input, or a view of it if it has not the shape of the mask."""
    return "recorded" if x._array.shape == mask._array.shape else None


_masked_fill = rule(
    "masked_fill",
    alone=_copied_where_alike,
    broadcasts=True,
    x=lambda B, g, mask: B.masked_fill(g, mask, 0),
)
_masked_select = rule(
    "masked_select",
    x=lambda B, g, x, mask: in_order_of(B, B.masked_select_adjoint(g, mask, tuple(x.shape)), x),
)
rule("masked_select_adjoint", y=lambda B, g, mask: B.masked_select(g, mask))


def _to_masked_source(B: Any, g: Any, mask: Any, source_shape: tuple) -> Any:
    """The gradient of a masked scatter's source: g at the mask in order, then zeros."""
    count = math.prod(source_shape)
    if MODE.batches:  # the number of true elements may differ between examples
        mask, g = (B.reshape(each, (-1,)) for each in (B.expand(mask, g.shape), g))
        ranks = B.cumsum(B.cast(mask, int64.array), 0)  # the first place takes the others
        found = B.pad(B.getitem(g, (slice(0),)), ((0, count + 1),), 0)
        found = B.index_add(found, B.mul(ranks, B.cast(mask, int64.array)), g, 0, 1)
        return B.reshape(B.getitem(found, (slice(1, None),)), source_shape)
    used = B.masked_select(g, mask)
    return B.reshape(B.pad(used, ((0, count - used.shape[0]),), 0), source_shape)


_masked_scatter = rule(
    "masked_scatter",
    alone=_copied_where_alike,
    linear=True,
    x=lambda B, g, mask: B.masked_fill(g, mask, 0),
    source=_to_masked_source,
)


def _mask_of(name: str, input: Tensor, mask: Any) -> tuple[int, ...]:
    check_tensor(name, input)
    check_tensor(name, mask, "mask")
    if mask.dtype.category != BOOL:
        raise RuntimeError(
            f"{name}(): expected BoolTensor for mask: it only supports boolean masks, got "
            f"{mask.dtype}"
        )
    if mask._array.shape == input._array.shape:
        return mask._array.shape
    return broadcast_shape(name, [input._array.shape, mask._array.shape])


_write_fill = bind_write("masked_fill_", "masked_fill_", 2, (F4, F8), declined, masks=0b10)


def fill_at_once(x: Tensor, mask: Tensor, value: Any) -> Tensor | None:
    """``x`` with a plain number where ``mask`` is true, written by the compiled op; None if it
    declines: nothing is written then."""
    if value.__class__ in (int, float) and -FLOAT32_MAX <= value <= FLOAT32_MAX:
        return _write_fill(x, mask, value)
    return None


def _masked_fill_in_place(self: Tensor, mask: Tensor, value: Tensor | complex) -> Tensor:
    if fill_at_once(self, mask, value) is not None:
        return self
    fill = lambda B, x, mask, value: B.masked_fill_(x, mask._array, getattr(value, "_array", value))
    check_positions("masked_fill_", self, (mask,))
    return write(self, "masked_fill_", masked_fill, mask, value, overlapping=fill)


@public(in_place=_masked_fill_in_place)
def masked_fill(input: Tensor, mask: Tensor, value: Tensor | complex) -> Tensor:
    """A copy with ``value`` where ``mask`` is true; input and mask broadcast.

    Args:
        value: a number or a 0-dim tensor.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([1.0, 2.0])
        >>> x.masked_fill(x > 1, 0.0)
        tensor([1., 0.])
    """
    _mask_of("masked_fill", input, mask)
    if not isinstance(value, Tensor):
        return _masked_fill(input, mask, fitting("masked_fill", value, input.dtype))
    if value.ndim:
        raise RuntimeError(
            f"masked_fill(): value must be a number or a 0-dim tensor, got {value.ndim} dimensions"
        )
    if value._device.home is not input._device.home:
        value = METHODS["to"](value, input._device)
    check_fill("masked_fill", input, value)
    return _masked_fill_with(input, mask, value)


def check_fill(name: str, input: Tensor, value: Any) -> None:
    """RuntimeError where the dtype of ``input`` has not room for what a tensor of one element
    holds."""
    if value.dtype is not input.dtype and not (value.is_meta or is_batched(value)):
        fitting(name, value.item(), input.dtype)


@single(name="masked_fill", node="MaskedFillBackward1")
def _masked_fill_with(input: Tensor, mask: Tensor, value: Tensor) -> Tensor:
    value = OPS["cast"](value, input._array.dtype)
    return OPS["where"](contiguous(mask), value, contiguous(input))  # torch's lies by rows


@public(out=Out(dtype="same", words=WRONG_SELECTED % "masked_select", checks_first=True))
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where ``mask`` is true, in order, as a 1-dim copy; both broadcast.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([1, -2, 3])
        >>> nnkit.masked_select(x, x > 0)
        tensor([1, 3])
    """
    shape = _mask_of("masked_select", input, mask)
    if shape != input._array.shape:
        input = shapes.expand(seen_beside(input, mask), shape)
    return _masked_select(input, mask)


def _placed(input: Tensor, mask: Any, source: Any) -> tuple | None:
    """The operands of ``masked_scatter_`` where they need not be broadcast or moved."""
    alike = _mask_of("masked_scatter", input, mask) == mask._array.shape == input._array.shape
    same_dtype("masked_scatter", input, source, "source")
    return (mask, source) if alike and mask._device is source._device is input._device else None


@public(in_place=True, prepare=_placed)
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy whose elements where ``mask`` is true are those of ``source``, one after another.

    Raises:
        RuntimeError: ``source`` has fewer elements than the mask has true ones.

    Example:
        >>> import nnkit
        >>> x, mask = nnkit.zeros(3), nnkit.tensor([True, False, True])
        >>> nnkit.masked_scatter(x, mask, nnkit.tensor([1.0, 2.0, 3.0]))
        tensor([1., 0., 2.])
    """
    shape = _mask_of("masked_scatter", input, mask)
    same_dtype("masked_scatter", input, source, "source")
    if shape != input._array.shape:
        input = shapes.expand(seen_beside(input, mask, source), shape)
    return _masked_scatter(input, mask, source)


_WRONG_PLACES = (
    "nonzero: Expected out tensor to have scalar type {wanted} but got scalar type {got}"
)


def _check_nonzero_out(out: Any, arguments: tuple, options: dict) -> None:
    if options.get("as_tuple"):
        if not isinstance(out, Tensor):
            raise TypeError(f"nonzero(): argument 'out' must be Tensor, not {type(out).__name__}")
        raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")


@public(out=Out(dtype="same", words=_WRONG_PLACES, checks_first=True, prepare=_check_nonzero_out))
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The indices of all elements that are not zero: a row for each, or, ``as_tuple``, one
    tensor for each dimension.

    Example:
        >>> import nnkit
        >>> nnkit.tensor([0, 3, 0, 4]).nonzero()
        tensor([[1],
                [3]])
    """
    check_tensor("nonzero", input)
    rows = wrap(input._device.backend.nonzero(input._array), input._device)
    if not as_tuple:
        return rows
    if not input.ndim:
        return nonzero(shapes.reshape(input, (1,)), as_tuple=True)
    return OPS["unbind"](rows, 1)


@public(out=Out(dtype="same"))
@by_example
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """`nonzero` as ``size`` rows: the first ones, or all and then rows of ``fill_value``.

    Raises:
        RuntimeError: ``size`` is negative.

    Example:
        >>> import nnkit
        >>> nnkit.nonzero_static(nnkit.tensor([0, 3, 0, 4]), size=3)
        tensor([[ 1],
                [ 3],
                [-1]])
    """
    check_tensor("nonzero_static", input)
    if size < 0:
        raise RuntimeError(f"nonzero_static(): size must not be negative, got {size}")
    rows = nonzero(input)[:size]
    return cat((rows, rows.new_full((size - len(rows), input.ndim), fill_value)))


@public
@by_example
def argwhere(input: Tensor) -> Tensor:
    """`nonzero`: the indices of all elements that are not zero, a row for each.

    Example:
        >>> import nnkit
        >>> nnkit.argwhere(nnkit.tensor([[0, 1], [2, 0]]))
        tensor([[0, 1],
                [1, 0]])
    """
    return nonzero(input)
