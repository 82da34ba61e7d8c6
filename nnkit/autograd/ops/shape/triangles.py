"""Triangles and diagonals of matrices: cutting them out, writing into them, their indices."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from nnkit.autograd.arguments.dims import check_tensor, normalize_dim
from nnkit.autograd.arguments.factory import place_of
from nnkit.autograd.arguments.sizes import check_shape, clipped, integer
from nnkit.autograd.compiled import bind_write
from nnkit.autograd.op.inference import copied_without_history
from nnkit.autograd.op.out import Out
from nnkit.autograd.op.pointwise import declined
from nnkit.autograd.op.promotion import cast_inside
from nnkit.autograd.op.public import public
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.op.rule import check_source, rule
from nnkit.autograd.ops.shape import reshaping as shapes
from nnkit.autograd.ops.shape import strided
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.autograd.views.writes import write
from nnkit.backend.dtype import int32, int64

rule("tril", x=lambda B, g, offset: B.tril(g, offset))
rule("triu", x=lambda B, g, offset: B.triu(g, offset))
_diagonal_scatter = rule(
    "diagonal_scatter",
    alone="written",
    apart=copied_without_history,
    x=lambda B, g, offset, axis1, axis2: B.diagonal_scatter(
        g, B.zeros_like(B.diagonal(g, offset, axis1, axis2)), offset, axis1, axis2
    ),
    y=lambda B, g, offset, axis1, axis2: B.diagonal(g, offset, axis1, axis2),
)


def _cut(name: str, input: Tensor, diagonal: Any) -> Tensor:
    """The triangle of that name."""
    check_tensor(name, input)
    if input.ndim < 2:
        raise RuntimeError(
            f"{name}(): input tensor must have at least 2 dimensions, got {input.ndim}"
        )
    return OPS[name](input, _offset(name, input, diagonal))


def _offset(name: str, input: Tensor, diagonal: Any) -> int:
    rows, columns = input._array.shape[-2:]
    return clipped(integer(name, "diagonal", diagonal), -rows - 1, columns + 1)


def _cut_in_place(name: str) -> Callable[..., Tensor]:
    """``tril_`` or ``triu_``, which write zeros around the triangle."""
    operation, cut = f"{name}_", functools.partial(_cut, name)
    attempt = bind_write(operation, operation, 1, None, declined)

    def prepare(self: Tensor, diagonal: Any) -> tuple | None:
        return (_offset(name, self, diagonal),) if self.ndim > 1 else None

    def write_in_place(self: Tensor, diagonal: int = 0) -> Tensor:
        out = attempt(self, _offset(name, self, diagonal)) if self.ndim > 1 else None
        if out is not None:
            return out
        kernel = getattr(self._device.backend, operation)
        return write(self, operation, cut, diagonal, kernel=kernel, prepare=prepare)

    return write_in_place


@public(in_place=_cut_in_place("tril"), out=Out(dtype="same"))
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """The lower triangle of matrices, zero elsewhere; ``diagonal`` is the last one kept.

    Example:
        >>> import nnkit
        >>> nnkit.tril(nnkit.ones(2, 2))
        tensor([[1., 0.],
                [1., 1.]])
    """
    return _cut("tril", input, diagonal)


@public(in_place=_cut_in_place("triu"), out=Out(dtype="same"))
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """The upper triangle of matrices, zero elsewhere; ``diagonal`` is the first one kept.

    Example:
        >>> import nnkit
        >>> nnkit.triu(nnkit.ones(2, 2))
        tensor([[1., 1.],
                [0., 1.]])
    """
    return _cut("triu", input, diagonal)


def _triangle_indices(
    name: str, row: int, col: int, offset: int, dtype: Any, device: Any
) -> Tensor:
    row, col = integer(name, "row", row), integer(name, "col", col)
    if row < 0 or col < 0:
        wrong = f"row must be non-negative, got {row}"
        if row >= 0:
            wrong = f"col must be non-negative, got {col}"
        raise RuntimeError(f"{name}(): {wrong}")
    offset = clipped(integer(name, "offset", offset), -row - 1, col + 1)
    if name == "tril_indices":  # of a wide matrix it has nothing in the last columns
        col = clipped(col, 0, max(row + offset, 0))
    else:
        row = clipped(row, 0, max(col - offset, 0))
    check_shape(name, (2, row, col))
    if dtype not in (None, int32, int64):
        raise NotImplementedError(f"{name}(): expected dtype int32 or int64, got {dtype}")
    place = place_of(device)
    return wrap(getattr(place.backend, name)(row, col, offset, (dtype or int64).array), place)


@public(method=False)
def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None,
    layout: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """The row and column indices of the lower triangle of a matrix, a (2, n) tensor.

    Example:
        >>> import nnkit
        >>> nnkit.tril_indices(2, 2)
        tensor([[0, 1, 1],
                [0, 0, 1]])
    """
    made = _triangle_indices("tril_indices", row, col, offset, dtype, device)
    return made._set_requires_grad(requires_grad)


@public(method=False)
def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None,
    layout: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """The row and column indices of the upper triangle of a matrix, a (2, n) tensor.

    Example:
        >>> import nnkit
        >>> nnkit.triu_indices(2, 2)
        tensor([[0, 0, 1],
                [0, 1, 1]])
    """
    made = _triangle_indices("triu_indices", row, col, offset, dtype, device)
    return made._set_requires_grad(requires_grad)


@public(out=Out(dtype="same", history="ended"))
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A vector as the diagonal of a square matrix; of a matrix a copy of its diagonal.

    Example:
        >>> import nnkit
        >>> nnkit.diag(nnkit.tensor([1, 2]))
        tensor([[1, 0],
                [0, 2]])
    """
    check_tensor("diag", input)
    if input.ndim == 1:
        return diag_embed(input, diagonal)
    if input.ndim != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    return OPS["copy"](strided.diagonal(input, diagonal))


@public
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The last dimension becomes the diagonal of two new dimensions ``dim1`` and ``dim2``.

    Example:
        >>> import nnkit
        >>> nnkit.diag_embed(nnkit.tensor([1, 2]))
        tensor([[1, 0],
                [0, 2]])
    """
    check_tensor("diag_embed", input)
    ndim = input.ndim + 1
    axis1, axis2 = (normalize_dim(d, ndim, "diag_embed") for d in (dim1, dim2))
    if axis1 == axis2:
        raise RuntimeError(f"diag_embed(): diagonal dimensions cannot be identical {dim1}, {dim2}")
    *rest, length = input._array.shape
    size = length + abs(integer("diag_embed", "offset", offset))
    for axis in sorted((axis1, axis2)):
        rest.insert(axis, size)
    shape = check_shape("diag_embed", tuple(rest))
    return OPS["diagonal_adjoint"](input, shape, offset, axis1, axis2)


@public
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """All elements as the diagonal of a square matrix.

    Example:
        >>> import nnkit
        >>> nnkit.diagflat(nnkit.tensor([[1], [2]]))
        tensor([[1, 0],
                [0, 2]])
    """
    check_tensor("diagflat", input)
    return diag_embed(shapes.reshape(input, (-1,)), offset)


@public
def diagonal_scatter(
    input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    """A copy of ``input`` with ``src`` on its diagonal.

    Example:
        >>> import nnkit
        >>> nnkit.diagonal_scatter(nnkit.zeros(2, 2), nnkit.tensor([1.0, 2.0]))
        tensor([[1., 0.],
                [0., 2.]])
    """
    check_tensor("diagonal_scatter", input)
    check_tensor("diagonal_scatter", src, "src")
    shape = input._array.shape
    axis1, axis2 = (normalize_dim(d, len(shape), "diagonal_scatter") for d in (dim1, dim2))
    expected = strided.diagonal(input.detach(), offset, dim1, dim2)._array.shape
    if src._array.shape != expected:
        raise RuntimeError(
            f"diagonal_scatter(): expected src to have size {list(expected)}, got "
            f"{list(src._array.shape)}"
        )
    check_source("diagonal_scatter", input, src)
    return _diagonal_scatter(input, cast_inside(src, input.dtype), offset, axis1, axis2)
