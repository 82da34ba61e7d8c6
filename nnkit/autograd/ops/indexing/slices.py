"""Whole slices of one dimension, named by a vector of indices."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.arguments.dims import check_tensor
from nnkit.autograd.op.out import Out
from nnkit.autograd.op.promotion import check_dtype, on_one_device, require
from nnkit.autograd.op.public import public
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.op.rule import check_source, guarded, real_gradient, rule
from nnkit.autograd.op.single import single
from nnkit.autograd.ops.creation.memory_format import arranged
from nnkit.autograd.ops.indexing.scattering import (
    REDUCTIONS,
    UNDEFINED,
    check_reduce,
    index_argument,
    same_dtype,
)
from nnkit.autograd.ops.shape import reshaping as shapes
from nnkit.autograd.surface.limits import fitting
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.autograd.views.overlap import check_positions
from nnkit.autograd.views.writes import write
from nnkit.backend.dtype import COMPLEX, bool_, int64, of_number
from nnkit.backend.warning import warn_once

_index_select = rule(
    "index_select",
    x=lambda B, g, index, axis, x_shape: B.index_select_adjoint(g, index, axis, x_shape),
)
rule("index_select_adjoint", y=lambda B, g, index, axis: B.index_select(g, index, axis))
_index_add = rule(
    "index_add", alone="copied", also={"source": ("source",)}, x=lambda B, g: g,
    source=lambda B, g, index, axis, alpha: B.mul(
        B.index_select(g, index, axis), alpha.conjugate()
    ),
)  # fmt: skip
_index_copy = rule(
    "index_copy", alone="copied", linear=True, also={"source": ("source",)},
    x=lambda B, g, index, axis: B.index_fill(g, index, axis, 0),
    source=lambda B, g, index, axis: B.index_select(g, index, axis),
)  # fmt: skip
_index_fill = rule(
    "index_fill", alone="recorded", x=lambda B, g, index, axis: B.index_fill(g, index, axis, 0)
)


# The functions that take no index but int64, each with its error.
def _vector_index(name: str, input: Tensor, dim: int, index: Any) -> tuple[int, Tensor]:
    """Check an index that names whole slices of one dimension."""
    check_tensor(name, index, "index")
    long = f"{name}(): expected dtype int64 for index, got {index.dtype}"
    vector = f"{name}(): index is supposed to be a vector, got {index.ndim} dimensions"
    if name == "index_fill":  # torch's types of errors, and their order
        if index.dtype is not int64:
            raise IndexError(long)
        if index.ndim > 1:
            raise RuntimeError(vector)
    if index.ndim > 1:
        raise IndexError(vector)
    if name == "index_copy" and index.dtype is not int64:
        raise RuntimeError(long)
    axis, index = index_argument(name, input, dim, index)
    return axis, index if index.ndim else shapes.reshape(index, (1,))


WRONG_SELECTED = "%s(): self and result must have the same scalar type, got {wanted} and {got}"


@public(out=Out(dtype="same", words=WRONG_SELECTED % "index_select", checks_first=True))
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """A copy of the slices of ``dim`` that a 1-dim ``index`` names, in its order.

    Raises:
        IndexError: an index is negative or too large, or ``index`` is no vector.

    Example:
        >>> import nnkit
        >>> nnkit.index_select(nnkit.tensor([10, 20, 30]), 0, nnkit.tensor([2, 0]))
        tensor([30, 10])
    """
    axis, index = _vector_index("index_select", input, dim, index)
    if index._array.size and input.ndim > 1 and not input._array.shape[axis]:
        raise RuntimeError(
            f"index_select(): self indexing axis dim should be positive, got dimension {axis} of "
            f"an input of shape {list(input.shape)}"
        )
    if not input.ndim and index._array.size != 1:
        raise RuntimeError(
            f"index_select(): Index to scalar can have only 1 value, got {index._array.size} "
            "value(s)"
        )
    if index._array.size and input.ndim > 1 and not input._array.size:  # where no kernel reads
        bounds = (index.min().item(), index.max().item())
        if bounds[0] < 0 or bounds[1] >= input._array.shape[axis]:
            raise RuntimeError(
                f"index_select(): INDICES element is out of DATA bounds, dimension {axis} of shape "
                f"{list(input.shape)}"
            )
    return _index_select(input, index, axis)


def _slices(name: str, input: Tensor, dim: int, index: Any, source: Any, error: type) -> tuple:
    """Check a vector index together with the slices that go there."""
    axis, index = _vector_index(name, input, dim, index)
    check_tensor(name, source, "source")
    if source.ndim and input.ndim and source.ndim != input.ndim:
        raise error(
            f"{name}(): source must have as many dimensions as input, got {source.ndim} and "
            f"{input.ndim}"
        )
    same_dtype(name, input, source, "source")
    if not source.ndim and index._array.size != 1:
        lacks = name != "index_copy" and axis > 0  # such a dimension
        raise (RuntimeError if lacks else IndexError)(
            f"{name}(): a 0-dim source goes with one index, got {index._array.size} of them"
        )
    if name in ("index_add", "index_reduce") and source.ndim != input.ndim:  # as in torch
        raise RuntimeError(
            f"{name}(): source tensor shape must match self tensor shape, excluding the specified "
            f"dimension: got {source.ndim} and {input.ndim} dimensions"
        )
    shape = source._array.shape or (1,)
    if len(shape) != (input.ndim or 1):
        raise RuntimeError(
            f"{name}(): source must have as many dimensions as input, got {len(shape)} and "
            f"{input.ndim}"
        )
    expected = input._array.shape or (1,)
    if any(n != m for d, (n, m) in enumerate(zip(shape, expected, strict=True)) if d != axis):
        raise RuntimeError(
            f"{name}(): source tensor shape must match self tensor shape, excluding the specified "
            f"dimension: got {list(input._array.shape)} and {list(shape)}"
        )
    count = index._array.size
    if shape[axis] != count:
        raise error(
            f"{name}(): number of indices ({count}) should be equal to source.size(dim) "
            f"({shape[axis]}), for dim: {axis}"
        )
    return axis, index


def _added(input: Tensor, dim: int, index: Tensor, source: Tensor, alpha: complex = 1) -> tuple:
    """The arguments of the primitive `index_add`, checked."""
    axis, index = _slices("index_add", input, dim, index, source, RuntimeError)
    fitting("index_add", alpha, input.dtype)
    return index, source, axis, alpha


@public(in_place=True, prepare=_added, out=Out(dtype="same"))
def index_add(
    input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: complex = 1
) -> Tensor:
    """A copy with ``alpha * source`` added to the slices of ``dim`` that ``index`` names.

    Example:
        >>> import nnkit
        >>> nnkit.zeros(3).index_add(0, nnkit.tensor([1, 1]), nnkit.ones(2))
        tensor([0., 2., 0.])
    """
    return _index_add(input, *_added(input, dim, index, source, alpha))


def _copied(input: Tensor, dim: int, index: Tensor, source: Tensor) -> tuple:
    """The arguments of the primitive `index_copy`, checked."""
    axis, index = _slices("index_copy", input, dim, index, source, IndexError)
    return index, source, axis


@public(in_place=True, prepare=_copied, out=Out(dtype="same"))
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """A copy with the slices of ``dim`` that ``index`` names replaced by those of ``source``.

    Example:
        >>> import nnkit
        >>> nnkit.index_copy(nnkit.zeros(3), 0, nnkit.tensor([2, 0]), nnkit.tensor([5.0, 6.0]))
        tensor([6., 0., 5.])
    """
    return _index_copy(input, *_copied(input, dim, index, source))


@public(in_place=True, out=Out(dtype="same"))
def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *,
    include_self: bool = True,
) -> Tensor:  # fmt: skip
    """`scatter_reduce` of whole slices; ``reduce`` is "prod", "mean", "amax" or "amin".

    Example:
        >>> import nnkit
        >>> x, source = nnkit.ones(2), nnkit.tensor([3.0, 4.0])
        >>> nnkit.index_reduce(x, 0, nnkit.tensor([0, 0]), source, "prod")
        tensor([12.,  1.])
    """
    warn_once("index_reduce() is in beta and the API may change at any time.")
    check_reduce("index_reduce", input, reduce, REDUCTIONS[1:])
    axis, index = _slices("index_reduce", input, dim, index, source, RuntimeError)
    if input.ndim < 2 or not include_self:  # else torch goes slice by slice, with other functions
        check_dtype("index_reduce", input.dtype, ("bool", "complex"))
    elif index._array.size:
        check_dtype("index_reduce", input.dtype, UNDEFINED.get(reduce, ()))
    size = input._array.shape[axis] if input.ndim else 1
    inside = (index >= 0).logical_and(index < size)
    message = f"index_reduce(): an index is out of bounds for dimension {axis} with size {size}"
    require(inside, IndexError, message)
    column = shapes.reshape(index, (-1,) + (1,) * (source.ndim - axis - 1) if source.ndim else ())
    rows = shapes.expand(column, source._array.shape)
    out = OPS["scatter_reduce"](input, rows, source, axis, reduce, include_self)
    return real_gradient("index_reduce", out)


def _filled(input: Tensor, dim: int, index: Tensor, value: Tensor | complex) -> Any:
    """The arguments of the primitive `index_fill`, checked; None for a value that is a tensor."""
    if isinstance(index, Tensor) and index.dtype is not int64:
        raise IndexError(f"index_fill(): expected an int64 index, got {index.dtype}")
    axis, index = _vector_index("index_fill", input, dim, index)
    d = value.dtype if isinstance(value, Tensor) else of_number(value)
    if d.category == COMPLEX != input.dtype.category:
        raise RuntimeError(f"index_fill(): a complex value cannot be converted to {input.dtype}")
    if isinstance(value, Tensor):
        return None
    return index, axis, fitting("index_fill", value, input.dtype)


def _index_fill_in_place(self: Tensor, dim: int, index: Tensor, value: Tensor | complex) -> Tensor:
    def fill(B: Any, x: Any, dim: int, index: Tensor, value: Any) -> Any:
        axis, index = _vector_index("index_fill", self, dim, index)
        return B.index_fill_(x, index._array, axis, getattr(value, "_array", value))

    check_positions("index_fill_", self, (index,))
    kernel = self._device.backend.index_fill_
    return write(
        self, "index_fill_", index_fill, dim, index, value, kernel=kernel, prepare=_filled,
        overlapping=fill,
    )  # fmt: skip


@public(in_place=_index_fill_in_place)
def index_fill(input: Tensor, dim: int, index: Tensor, value: Tensor | complex) -> Tensor:
    """A copy with the slices of ``dim`` that ``index`` names set to ``value``, a number or a
    0-dim tensor.

    Example:
        >>> import nnkit
        >>> nnkit.index_fill(nnkit.zeros(3), 0, nnkit.tensor([0, 2]), 7)
        tensor([7., 0., 7.])
    """
    arguments = _filled(input, dim, index, value)
    if not isinstance(value, Tensor):
        return _index_fill(input, *arguments)
    axis, index = _vector_index("index_fill", input, dim, index)
    if value.ndim:
        raise RuntimeError(
            f"index_fill(): value must be a number or a 0-dim tensor, got {value.ndim} dimensions"
        )
    check_source("index_fill", input, value, "value")
    return _index_fill_with(input, index, axis, value)


@single(name="index_fill", node="IndexFillBackward1")
def _index_fill_with(input: Tensor, index: Tensor, axis: int, value: Tensor) -> Tensor:
    input, index = on_one_device("index_fill", (input, index))
    B = input._device.backend
    filled = B.index_fill(B.zeros(input._array.shape, bool_.array), index._array, axis, True)
    value = OPS["cast"](value, input._array.dtype)
    out = arranged(OPS["where"](wrap(filled, input._device), value, input), input)
    return guarded("index_fill", out, index)
