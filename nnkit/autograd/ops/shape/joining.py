"""Taking tensors apart and putting them together: pieces and stacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nnkit.autograd.arguments.dims import check_tensor, check_tensors, normalize_dim, sizes_of
from nnkit.autograd.arguments.sizes import check_integers, integer
from nnkit.autograd.op.out import Out, by_rows
from nnkit.autograd.op.promotion import promote
from nnkit.autograd.op.public import attach, known_as, public
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.op.rule import rule
from nnkit.autograd.ops.creation.conversion import composite_operands
from nnkit.autograd.ops.shape import reshaping as shapes
from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import int64


def _joined(B: Any, g: Any, axis: int) -> Any:
    return B.concat(g, axis)


def _grad_concat(B: Any, g: Any, xs_shape: tuple, axis: int) -> list:
    """The parts of the gradient, each a view for itself, which may be written; of what `cat` leaves
    out plain zeros."""
    lead = (slice(None),) * axis
    parts, start = [], 0
    for shape in xs_shape:
        end = start + shape[axis]
        part = B.getitem(g, (*lead, slice(start, end)))
        parts.append(B.zeros_like(part) if shape == (0,) else part)
        start = end
    return parts


_concat = rule("concat", node="CatBackward0", joint=_grad_concat)
_stack = rule(
    "stack",
    joint=lambda B, g, axis: [
        B.getitem(g, (*(slice(None),) * axis, i, ...)) for i in range(g.shape[axis])
    ],
)
_sizes_split = rule("split", node="SplitWithSizesBackward0", view=True, x=_joined)
_split = rule("split", view=True, x=_joined)
_unbind = rule("unbind", view=True, x=lambda B, g, axis: B.stack(g, axis))


def _with_elements(out: Any, arguments: tuple, options: dict) -> tuple:
    """The tensors that are joined, without those that hold nothing; with ``out`` if it is one of
    them, which holds something once it has the result's shape."""
    joined = [t for t in arguments[0] if t.shape != (0,)]
    if joined and any(t is out for t in arguments[0]):
        joined.append(out)
    return tuple(joined)


@public(
    method=False,
    out=Out(dtype="joined", operands=_with_elements),
    aliases=("concat", "concatenate"),
)
def cat(tensors: Any, dim: int = 0, *, axis: int | None = None) -> Tensor:
    """Join tensors along an existing dimension.

    Args:
        tensors: a sequence of tensors whose sizes agree except along ``dim``; their dtypes are
            promoted. An empty 1-dim tensor is left out, whatever the others look like.

    Raises:
        ValueError: the sequence is empty.
        RuntimeError: numbers of dimensions or sizes differ.

    Example:
        >>> import nnkit
        >>> nnkit.cat([nnkit.tensor([1, 2]), nnkit.tensor([3])])
        tensor([1, 2, 3])
    """
    tensors = check_tensors("cat", tensors)
    if not tensors:
        raise ValueError("cat(): expected a non-empty list of Tensors")
    first = tensors[0]._array
    for tensor in tensors:
        if tensor._array.shape != first.shape or tensor._array.dtype is not first.dtype:
            break
    else:
        if first.ndim and first.shape != (0,):
            return _concat(tensors, normalize_dim(dim if axis is None else axis, first.ndim, "cat"))
    return _cat_unequal(tensors, dim if axis is None else axis)


def _cat_unequal(tensors: Any, dim: int) -> Tensor:
    """`cat` of tensors whose shapes or dtypes differ, once that has been looked into."""
    given = [t._array.shape for t in tensors]
    if () in given:
        raise RuntimeError(
            f"cat(): zero-dimensional tensor (at position {given.index(())}) cannot be "
            "concatenated: use stack()"
        )
    shape = next((size for size in given if size != (0,)), (0,))
    if shape == (0,):  # torch leaves them all out, and does not look at the dimension
        dim = 0
    axis = normalize_dim(dim, len(shape), "cat")
    if len(shape) > 1 and (0,) in given:
        nothing = (*shape[:axis], 0, *shape[axis + 1 :])
        # Copies, since views of inference tensors have no history.
        tensors = tuple(
            [shapes.reshape(t.clone(), nothing) if t._array.shape == (0,) else t for t in tensors]
        )
        given = [t._array.shape for t in tensors]
    for position, other in enumerate(given):
        if len(other) != len(shape):
            raise RuntimeError(
                f"cat(): Tensors must have same number of dimensions: got {len(shape)} and "
                f"{len(other)}"
            )
        if other[:axis] != shape[:axis] or other[axis + 1 :] != shape[axis + 1 :]:
            raise RuntimeError(
                f"cat(): Sizes of tensors must match except in dimension {axis}. Expected shape "
                f"{list(shape)} but got {list(other)} for tensor number {position} in the list"
            )
    return _concat(_one_dtype("cat", tensors), axis)


def _one_dtype(name: str, tensors: Any) -> Any:
    """The tensors in the dtype that all of them promote to."""
    first = tensors[0]._array.dtype
    for tensor in tensors:
        if tensor._array.dtype is not first:
            return promote(name, *tensors)
    return tensors


def _some(name: str, tensors: Any) -> tuple[Tensor, ...]:
    """A sequence of at least one tensor."""
    given = check_tensors(name, tensors)
    if not given:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return given


@public(method=False, out=Out(dtype="joined", axes=by_rows))
def stack(tensors: Any, dim: int = 0) -> Tensor:
    """Join tensors of one shape along a new dimension.

    Raises:
        RuntimeError: the sequence is empty or the shapes differ.

    Example:
        >>> import nnkit
        >>> nnkit.stack([nnkit.zeros(2), nnkit.ones(2)]).shape
        nnkit.Size([2, 2])
    """
    tensors = _some("stack", tensors)
    shape = tensors[0]._array.shape
    for position, tensor in enumerate(tensors):
        if tensor._array.shape != shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and "
                f"{list(tensor._array.shape)} at entry {position}"
            )
    return _stack(_one_dtype("stack", tensors), normalize_dim(dim, len(shape) + 1, "stack"))


@public(method=False, out=Out(dtype="joined", operands=_with_elements, views_below=1))
def hstack(tensors: Any) -> Tensor:
    """`cat` along dimension 1 (0 for 1-dim tensors), after `atleast_1d`.

    Example:
        >>> import nnkit
        >>> nnkit.hstack((nnkit.tensor([1, 2]), nnkit.tensor([3])))
        tensor([1, 2, 3])
    """
    tensors = _some("hstack", tensors)
    return cat(_raised(1, tensors), 0 if tensors[0].ndim <= 1 else 1)


@public(
    method=False,
    out=Out(dtype="joined", operands=_with_elements, views_below=2),
    aliases=("row_stack",),
)
def vstack(tensors: Any) -> Tensor:
    """`cat` along dimension 0, after `atleast_2d`.

    Example:
        >>> import nnkit
        >>> nnkit.vstack([nnkit.tensor([1, 2]), nnkit.tensor([3, 4])])
        tensor([[1, 2],
                [3, 4]])
    """
    return cat(_raised(2, _some("vstack", tensors)), 0)


@public(method=False, out=Out(dtype="joined", operands=_with_elements, views_below=3))
def dstack(tensors: Any) -> Tensor:
    """`cat` along dimension 2, after `atleast_3d`.

    Example:
        >>> import nnkit
        >>> nnkit.dstack((nnkit.tensor([1, 2]), nnkit.tensor([3, 4])))
        tensor([[[1, 3],
                 [2, 4]]])
    """
    return cat(_raised(3, _some("dstack", tensors)), 2)


@public(method=False, out=Out(dtype="joined", operands=_with_elements, views_below=2))
def column_stack(tensors: Any) -> Tensor:
    """Join along dimension 1; tensors of fewer than two dimensions become columns.

    Example:
        >>> import nnkit
        >>> nnkit.column_stack((nnkit.tensor([1, 2]), nnkit.tensor([3, 4])))
        tensor([[1, 3],
                [2, 4]])
    """
    given = _some("column_stack", tensors)
    return cat([t if t.ndim > 1 else shapes.reshape(t, (-1, 1)) for t in given], 1)


def _at_least(ndim: int, name: str, tensors: tuple) -> Any:
    many = len(tensors) == 1 and isinstance(tensors[0], (tuple, list))
    raised = _raised(ndim, check_tensors(name, tensors[0] if many else tensors))
    return raised[0] if len(raised) == 1 and not many else raised


def _raised(ndim: int, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """The tensors with at least so many dimensions."""
    raised = []
    for tensor in composite_operands(*tensors):
        shape = tensor._array.shape
        if len(shape) < ndim:
            sizes = shape if len(shape) > 1 else (1,) * (min(ndim, 2) - len(shape)) + shape
            tensor = shapes.reshape(tensor, sizes + (1,) * (ndim - len(sizes)))
        raised.append(tensor)
    return tuple(raised)


@public(method=False, in_python=True)
def atleast_1d(*tensors: Any) -> Any:
    """The tensor, or each of several, with at least one dimension.

    Example:
        >>> import nnkit
        >>> nnkit.atleast_1d(nnkit.tensor(3))
        tensor([3])
    """
    return _at_least(1, "atleast_1d", tensors)


@public(method=False, in_python=True)
def atleast_2d(*tensors: Any) -> Any:
    """The tensor, or each of several, with at least two dimensions: a vector becomes a row.

    Example:
        >>> import nnkit
        >>> nnkit.atleast_2d(nnkit.tensor([1, 2]))
        tensor([[1, 2]])
    """
    return _at_least(2, "atleast_2d", tensors)


@public(method=False, in_python=True)
def atleast_3d(*tensors: Any) -> Any:
    """The tensor, or each of several, with at least three dimensions, new ones last.

    Example:
        >>> import nnkit
        >>> nnkit.atleast_3d(nnkit.tensor([1, 2])).shape
        nnkit.Size([1, 2, 1])
    """
    return _at_least(3, "atleast_3d", tensors)


# Pieces

MOST_PIECES = 1 << 28  # whose Tensors could fit into any memory


@public(method=False, in_python=True)
def split(
    tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0
) -> tuple[Tensor, ...]:
    """Views of consecutive pieces along ``dim``.

    Args:
        split_size_or_sections: the size of every piece (the last may be smaller), or a list of
            sizes; as a method, ``split_size``.

    Raises:
        RuntimeError: a size is negative or the sizes do not add up.

    Example:
        >>> import nnkit
        >>> nnkit.arange(5).split(2)
        (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    return _pieces(tensor, split_size_or_sections, dim)


@public(name="split", namespace=False, in_python=True)
def _split_method(
    self: Tensor, split_size: int | Sequence[int], dim: int = 0
) -> tuple[Tensor, ...]:
    return _pieces(self, split_size, dim)


def _pieces(tensor: Tensor, split_size: int | Sequence[int], dim: int) -> tuple[Tensor, ...]:
    check_tensor("split", tensor, "tensor")
    if isinstance(split_size, (tuple, list)):
        return split_with_sizes(tensor, split_size, dim)
    size = integer("split", "split_size", split_size)
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    axis = _axis(tensor, dim, "split")
    total = tensor._array.shape[axis]
    if not size and total:
        raise RuntimeError(
            f"split(): split_size can only be 0 for a dimension of size 0, not {total}"
        )
    count = max(-(-total // size), 1) if size else 1
    last = total - (count - 1) * size
    return _split(tensor, (size,) * (count - 1) + (last,), axis)


def _axis(input: Tensor, dim: int, name: str) -> int:
    if not input.ndim:
        raise RuntimeError(
            f"{name} expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    return normalize_dim(dim, input.ndim, name)


@public
def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Views of consecutive pieces of the given sizes along ``dim``.

    Example:
        >>> import nnkit
        >>> nnkit.arange(5).split_with_sizes([2, 3])
        (tensor([0, 1]), tensor([2, 3, 4]))
    """
    check_tensor("split_with_sizes", input)
    axis = _axis(input, dim, "split_with_sizes")
    sizes = sizes_of("split_with_sizes", (split_sizes,), None, "split_sizes")
    check_integers("split_with_sizes", "split_sizes", sizes)
    total = input._array.shape[axis]
    if min(sizes, default=0) < 0 or sum(sizes) != total:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to be non-negative and to sum exactly to "
            f"{total} (the size of dimension {axis}), but got split_sizes={list(sizes)}"
        )
    return _sizes_split(input, sizes, axis)


@public
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most ``chunks`` equal pieces (the last may be smaller), as views.

    Example:
        >>> import nnkit
        >>> nnkit.chunk(nnkit.arange(5), 2)
        (tensor([0, 1, 2]), tensor([3, 4]))
    """
    check_tensor("chunk", input)
    if integer("chunk", "chunks", chunks) <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    axis = _axis(input, dim, "chunk")
    size = -(-input._array.shape[axis] // chunks)
    if not size:
        return _split(input, (0,) * chunks, axis)
    return _pieces(input, size, axis)


def _the_one(name: str, *given: Any) -> Any:
    """The positions to cut at, or the number of pieces, under whichever of its names it came."""
    named = [value for value in given if value is not ...]
    if len(named) != 1:
        raise TypeError(f"{name}(): expected either indices or sections, got {len(named)} of them")
    value = named[0]
    if isinstance(value, bool):
        raise TypeError(f"{name}(): argument 'sections' must be int, not bool")
    if not isinstance(value, Tensor):
        return value
    if value.dtype is not int64:
        raise RuntimeError(
            f"{name} expected tensor_indices_or_sections to have dtype of long, but got "
            f"{value.dtype.scalar_type}"
        )
    if value.ndim > 1:
        raise RuntimeError(
            f"{name} expected tensor_indices_or_sections to be a zero-dimensional or "
            f"one-dimensional tensor, but got a tensor with {value.ndim} dims"
        )
    return value.tolist()


@public
def tensor_split(
    input: Tensor, indices_or_sections: Any = ..., dim: int = 0, *,
    tensor_indices_or_sections: Tensor = ...,  # pyright: ignore[reportArgumentType]
    indices: Sequence[int] = ..., sections: int = ...,  # pyright: ignore[reportArgumentType]
) -> tuple[Tensor, ...]:  # fmt: skip
    """Views of pieces: that many nearly equal ones, or cut at the given indices.

    Args:
        indices_or_sections: an int (also called ``sections``), or a sequence or 1-dim tensor of
            positions to cut at (also called ``indices``; a tensor
            ``tensor_indices_or_sections``).

    Example:
        >>> import nnkit
        >>> nnkit.arange(5).tensor_split(2)
        (tensor([0, 1, 2]), tensor([3, 4]))
    """
    check_tensor("tensor_split", input)
    axis = _axis(input, dim, "tensor_split")
    total = input._array.shape[axis]
    given = _the_one(
        "tensor_split", indices_or_sections, indices, sections, tensor_indices_or_sections
    )
    if isinstance(given, (tuple, list)):
        positions = sizes_of("tensor_split", (given,), None, "indices")
        check_integers("tensor_split", "indices", positions)
        cuts = [0, *positions, total]
    else:
        count = integer("tensor_split", "sections", given)
        if count <= 0:
            raise RuntimeError(
                f"tensor_split(): number of sections must be larger than 0, got {count}"
            )
        if count > MOST_PIECES:
            raise RuntimeError(f"tensor_split(): {count} pieces do not fit into memory")
        size, larger = divmod(total, count)
        cuts = [i * size + min(i, larger) for i in range(count + 1)]
    lead = (slice(None),) * axis
    pieces = [(*lead, slice(a, b)) for a, b in zip(cuts, cuts[1:], strict=False)]
    return tuple(OPS["getitem"](input, piece) for piece in pieces)


def _stack_split(name: str, minimum: int, dim_of: Any) -> None:
    def split_along(
        input: Tensor, indices_or_sections: int | Sequence[int] = ..., *,  # pyright: ignore
        indices: Sequence[int] = ..., sections: int = ...,  # pyright: ignore
    ) -> tuple[Tensor, ...]:  # fmt: skip
        check_tensor(name, input)
        given = _the_one(name, indices_or_sections, indices, sections)
        if input.ndim < minimum:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {minimum} dimension, but got a "
                f"tensor with {input.ndim} dimensions"
            )
        dim = dim_of(input)
        total = input._array.shape[dim]
        if isinstance(given, int) and (given <= 0 or total % given):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {dim}, but the size of the "
                f"dimension {total} is not divisible by the split_size {given}"
            )
        return tensor_split(input, given, dim)

    split_along.__name__ = name
    known_as(split_along, name)
    split_along.__doc__ = "`tensor_split` along the dimension that the stack of that name joins."
    offered = public(split_along)

    def method(self: Tensor, *given: Any, **named: Any) -> tuple[Tensor, ...]:
        """The function as a method, which also takes the positions to cut at as separate
        arguments."""
        return offered(self, *((given,) if len(given) > 1 else given), **named)

    method.__name__ = name
    known_as(method, f"Tensor.{name}")
    attach(name, method)


_stack_split("hsplit", 1, lambda x: 0 if x.ndim == 1 else 1)
_stack_split("vsplit", 2, lambda x: 0)
_stack_split("dsplit", 3, lambda x: 2)


@public
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of all slices along ``dim``, which is dropped.

    Example:
        >>> import nnkit
        >>> nnkit.tensor([[1, 2], [3, 4]]).unbind(1)
        (tensor([1, 3]), tensor([2, 4]))
    """
    check_tensor("unbind", input)
    if not input.ndim:
        raise IndexError("unbind(): a 0-dim tensor has no dimension to take apart")
    return _unbind(input, normalize_dim(dim, input.ndim, "unbind"))
