"""Slices of one dimension that numbers name: `select`, `narrow` and their like."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.arguments.dims import check_tensor, normalize_dim
from nnkit.autograd.arguments.sizes import integer
from nnkit.autograd.op.inference import copied_without_history
from nnkit.autograd.op.out import Out
from nnkit.autograd.op.promotion import cast_inside
from nnkit.autograd.op.public import public
from nnkit.autograd.op.rule import check_source, real_gradient, rule
from nnkit.autograd.ops.creation.conversion import clone
from nnkit.autograd.ops.indexing.expressions import VIEWS
from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import INTEGER
from nnkit.backend.index import ALL
from nnkit.backend.memory import contiguous_format

_slice_scatter = rule(
    "slice_scatter",
    alone="written",
    apart=copied_without_history,
    x=lambda B, g, index: B.slice_scatter(g, B.zeros_like(B.getitem(g, index)), index),
    y=lambda B, g, index: B.getitem(g, index),
)


@public
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """The slice at ``index`` of dimension ``dim``, which is dropped; a view.

    Example:
        >>> import nnkit
        >>> nnkit.select(nnkit.tensor([[1, 2], [3, 4]]), 1, 0)
        tensor([1, 3])
    """
    check_tensor("select", input)
    if not input.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor")
    axis = normalize_dim(dim, input.ndim, "select")
    size = input._array.shape[axis]
    position = integer("select", "index", index)
    if not -size <= position < size:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input._array.shape)} "
            f"at dimension {axis}"
        )
    return VIEWS[int](input, (*(ALL,) * axis, position, ...))


@public
def narrow(input: Tensor, dim: int, start: Tensor | int, length: int) -> Tensor:
    """The ``length`` slices from ``start`` on along ``dim``; a view.

    Example:
        >>> import nnkit
        >>> nnkit.arange(5).narrow(0, 1, 3)
        tensor([1, 2, 3])
    """
    check_tensor("narrow", input)
    if not input.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor")
    if integer("narrow", "length", length) < 0:
        raise RuntimeError(f"narrow(): length must be non-negative, got {length}")
    axis = normalize_dim(dim, input.ndim, "narrow")
    size = input._array.shape[axis]
    if isinstance(start, Tensor) and (start.ndim or start.dtype.category != INTEGER):
        raise RuntimeError(f"narrow(): start must be a 0-dim integral Tensor, got {start.dtype}")
    first = integer("narrow", "start", start)
    if not -size <= first <= size:
        raise IndexError(
            f"start out of range (expected to be in range of [{-size}, {size}], but got {first})"
        )
    first += size if first < 0 else 0
    if first + length > size:
        raise RuntimeError(
            f"narrow(): start ({first}) + length ({length}) exceeds dimension size ({size})"
        )
    return VIEWS[slice](input, (*(ALL,) * axis, slice(first, first + length), ...))


@public(out=Out(dtype="same", warning=""))
def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """A copy of `narrow`.

    Example:
        >>> import nnkit
        >>> nnkit.narrow_copy(nnkit.arange(5), 0, 1, 2)
        tensor([1, 2])
    """
    if dim >= input.ndim:
        raise RuntimeError(f"narrow_copy(): dim {dim} is not less than {input.ndim}, that of input")
    return clone(narrow(input, dim, start, length), memory_format=contiguous_format)


@public
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy of ``input`` with ``src`` at ``index`` of dimension ``dim``.

    Example:
        >>> import nnkit
        >>> nnkit.select_scatter(nnkit.zeros(2, 2), nnkit.ones(2), dim=0, index=1)
        tensor([[0., 0.],
                [1., 1.]])
    """
    expected = select(input.detach(), dim, index)._array.shape
    axis = normalize_dim(dim, input.ndim, "select_scatter")
    return _scattered("select_scatter", input, src, (*(ALL,) * axis, index, ...), expected)


@public(out=Out(dtype="same"))
def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0,
    start: int | None = None, end: int | None = None, step: int = 1,
) -> Tensor:  # fmt: skip
    """A copy of ``input`` with ``src`` in ``start:end:step`` of dimension ``dim``.

    Example:
        >>> import nnkit
        >>> nnkit.slice_scatter(nnkit.zeros(4), nnkit.ones(2), dim=0, start=1, end=3)
        tensor([0., 1., 1., 0.])
    """
    check_tensor("slice_scatter", input)
    axis = normalize_dim(dim, input.ndim, "slice_scatter")
    if step <= 0:
        raise RuntimeError(f"slice_scatter(): slice step must be positive, got {step}")
    index = (*(ALL,) * axis, slice(start, end, step), ...)
    expected = input._device.backend.getitem(input._array, index).shape
    return _scattered("slice_scatter", input, src, index, expected)


def _scattered(name: str, input: Tensor, src: Any, index: tuple, expected: tuple) -> Tensor:
    check_tensor(name, src, "src")
    if src._array.shape != expected:
        raise RuntimeError(
            f"{name}(): expected src to have size {list(expected)}, got {list(src._array.shape)}"
        )
    check_source(name, input, src)
    return real_gradient(name, _slice_scatter(input, cast_inside(src, input.dtype), index))
