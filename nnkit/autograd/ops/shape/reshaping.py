"""Shapes and views: the same elements under other sizes and strides.

Everything here shares memory with its input wherever the strides allow it, as in torch: a write
through the result is a write to the input.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nnkit.autograd.arguments.dims import (
    broadcast_shape,
    check_tensor,
    complete_shape,
    expanded_shape,
    normalize_dim,
    normalize_dims,
    shape_for,
    sizes_of,
)
from nnkit.autograd.op.public import public
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.op.rule import rule
from nnkit.autograd.ops.creation.conversion import composite_operands
from nnkit.autograd.surface.metadata import is_conj, is_neg
from nnkit.autograd.surface.size import Size
from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import dtype as dtype_type
from nnkit.backend.memory import owner
from nnkit.backend.warning import warn, warn_once


def _inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))


def _copied_where_no_view(x: Tensor, shape: tuple[int, ...]) -> str | None:
    made = x._device.backend.reshape(x._array, shape)
    return None if owner(made) is owner(x._array) else "recorded"


_reshape = rule(
    "reshape",
    node="ViewBackward0",
    view=True,
    alone=_copied_where_no_view,
    x=lambda B, g, x_shape: B.reshape(g, x_shape),
)
_view = rule("view", view=True, x=lambda B, g, x_shape: B.reshape(g, x_shape))
_view_dtype = rule("view_dtype")
_permute = rule("permute", view=True, x=lambda B, g, axes: B.permute(g, _inverse(axes)))
_t = rule(
    "swapaxes", node="TBackward0", view=True,
    x=lambda B, g, axis1, axis2: B.swapaxes(g, axis1, axis2),
)  # fmt: skip
_swapaxes = rule(
    "swapaxes", node="TransposeBackward0", view=True,
    x=lambda B, g, axis1, axis2: B.swapaxes(g, axis1, axis2),
)  # fmt: skip
_mT = rule("mT", node="TransposeBackward0", view=True, x=lambda B, g: B.mT(g))
_expand = rule("expand", view=True, broadcasts=True, x=lambda B, g: g)
_squeeze = {  # by torch's numbers; other ops, which drop one dimension, take the last
    n: rule(
        "squeeze", node=f"SqueezeBackward{n}", view=True,
        x=lambda B, g, x_shape: g if g.shape == x_shape else B.reshape(g, x_shape),
    )
    for n in (0, 2, 1)
}  # fmt: skip
_unsqueeze = rule("unsqueeze", view=True, x=lambda B, g, x_shape: B.reshape(g, x_shape))


@public(method=False)
def reshape(input: Tensor, shape: Sequence[int]) -> Tensor:
    """The same elements in order under another shape: a view where possible, else a copy.

    Args:
        shape: the new sizes, which the method takes one by one too; one of them may be -1
            (whatever is left).

    Raises:
        RuntimeError: the sizes do not hold exactly the elements of ``input``.

    Example:
        >>> import nnkit
        >>> nnkit.arange(6).reshape(2, -1)
        tensor([[0, 1, 2],
                [3, 4, 5]])
    """
    check_tensor("reshape", input)
    return _reshape(input, shape_for("reshape", input._array.size, (shape,), None, "shape"))


@public(name="reshape", namespace=False)
def _reshaped(input: Tensor, *sizes: Any, shape: Sequence[int] | None = None) -> Tensor:
    return _reshape(input, shape_for("reshape", input._array.size, sizes, shape, "shape"))


@public(namespace=False)
def view(
    input: Tensor, *shape: Any, size: Sequence[int] | None = None, dtype: Any = None
) -> Tensor:
    """`reshape` that never copies; with a dtype, the same bytes read as another type.

    Args:
        shape: the new sizes (one may be -1), or a single `nnkit.dtype`. If its elements have
            another size than the input's, the last dimension shrinks or grows accordingly.

    Raises:
        RuntimeError: the strides do not allow it, or the number of elements does not fit.

    Example:
        >>> import nnkit
        >>> x = nnkit.zeros(2, 3)
        >>> x.view(6)[0] = 1.0
        >>> x
        tensor([[1., 0., 0.],
                [0., 0., 0.]])
    """
    if len(shape) == 1 and isinstance(shape[0], dtype_type):
        dtype = shape[0]
    if dtype is not None:
        return _bitcast(input, dtype)
    return _view(input, shape_for("view", input._array.size, shape, size))


def _obstacle(shape: tuple, strides: tuple, offset: int, here: int, there: int) -> str | None:
    """The reason, in words, why elements of ``here`` bytes cannot be read as ones of ``there``;
    None if there is none."""
    if not shape:
        return "self.dim() cannot be 0"
    ratio = max(there // here, 1)
    wrong = "self.{} must be divisible by {}, but is {},".format
    for place, number in (("size(-1)", shape[-1]), ("storage_offset()", offset)):
        if number % ratio:
            return wrong(place, ratio, number)
    if strides[-1] != 1:
        return f"self.stride(-1) must be 1, but is {strides[-1]},"
    for d, step in enumerate(strides[:-1]):
        if step % ratio:
            return wrong(f"stride({d})", ratio, step)
    return None


def _bitcast(input: Tensor, dtype: dtype_type) -> Tensor:
    data = input._array
    if is_conj(input) or is_neg(input):
        what = "conjugate view tensors" if is_conj(input) else "tensors with negative bit set"
        raise RuntimeError(f"view(): not supported for {what} when converting to a different dtype")
    here, there = input.itemsize, dtype.itemsize
    if here != there:
        problem = _obstacle(data.shape, input.stride(), input.storage_offset(), here, there)
        if problem:
            raise RuntimeError(f"view(): {problem} to view {input.dtype} as {dtype}")
    out = _view_dtype(input, dtype.array)
    if not (input.is_inference() or out.is_inference()):
        out._writes = input._writes  # not a view with a history, as in torch
    return out


@public(namespace=False)
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """``input.view(other.shape)``.

    Example:
        >>> import nnkit
        >>> nnkit.arange(4).view_as(nnkit.zeros(2, 2))
        tensor([[0, 1],
                [2, 3]])
    """
    check_tensor("view_as", other, "other")
    return view(input, other._array.shape)


@public(namespace=False)
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """``input.reshape(other.shape)``.

    Example:
        >>> import nnkit
        >>> nnkit.arange(4).reshape_as(nnkit.zeros(2, 2))
        tensor([[0, 1],
                [2, 3]])
    """
    check_tensor("reshape_as", other, "other")
    return reshape(input, other._array.shape)


@public
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension, next to each other; a view where they are that already.

    Example:
        >>> import nnkit
        >>> nnkit.tensor([[1, 2], [3, 4]]).ravel()
        tensor([1, 2, 3, 4])
    """
    check_tensor("ravel", input)
    return reshape(input.contiguous(), (-1,))


@public
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Merge the dimensions from ``start_dim`` to ``end_dim`` (both included) into one.

    Example:
        >>> import nnkit
        >>> nnkit.flatten(nnkit.zeros(2, 3, 4), 1).shape
        nnkit.Size([2, 12])
    """
    check_tensor("flatten", input)
    shape = input._array.shape
    start = normalize_dim(start_dim, len(shape), "flatten")
    end = normalize_dim(end_dim, len(shape), "flatten")
    if start > end:
        raise RuntimeError(
            f"flatten(): start_dim cannot come after end_dim, got {start_dim} and {end_dim}"
        )
    if not shape:
        return reshape(input, (1,))
    if start == end:
        return input
    size = math.prod(shape[start : end + 1])
    return _reshape(input, (*shape[:start], size, *shape[end + 1 :]))


@public
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Split dimension ``dim`` into ``sizes``, one of which may be -1.

    Example:
        >>> import nnkit
        >>> nnkit.zeros(2, 12).unflatten(1, (3, -1)).shape
        nnkit.Size([2, 3, 4])
    """
    check_tensor("unflatten", input)
    shape = input._array.shape
    dim = normalize_dim(dim, len(shape), "unflatten")
    if not shape:
        raise RuntimeError("unflatten(): a 0-dim tensor has no dimension to divide")
    given = sizes_of("unflatten", (sizes,), None, "sizes")
    if not given:
        raise RuntimeError("unflatten: sizes must be non-empty")
    if -1 not in given and math.prod(given) != shape[dim]:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(given)} don't multiply up to the size of dim {dim} "
            f"({shape[dim]}) in the input tensor"
        )
    inner = complete_shape("unflatten", given, shape[dim])
    return _reshape(input, (*shape[:dim], *inner, *shape[dim + 1 :]))


@public(method=False)
def permute(input: Tensor, dims: Sequence[int]) -> Tensor:
    """The dimensions in another order, as a view; the method takes them one by one too.

    Raises:
        RuntimeError: not every dimension is named once.

    Example:
        >>> import nnkit
        >>> nnkit.zeros(2, 3, 4).permute(2, 0, 1).shape
        nnkit.Size([4, 2, 3])
    """
    check_tensor("permute", input)
    return _permuted(input, dims)


@public(name="permute", namespace=False)
def _permuted(input: Tensor, *order: Any, dims: Sequence[int] | None = None) -> Tensor:
    given = sizes_of("permute", order, dims, "dims")
    if sorted(given) == [*range(input._array.ndim)]:
        return _permute(input, given)
    if len(given) != input.ndim:
        raise RuntimeError(
            "permute(): number of dimensions in the tensor input does not match the length of the "
            f"desired ordering of dimensions, got {input.ndim} and {len(given)}"
        )
    axes = tuple(normalize_dim(d, input.ndim, "permute") for d in given)
    if len(set(axes)) < len(axes):
        raise RuntimeError(f"permute(): duplicate dims are not allowed, got {list(given)}")
    return _permute(input, axes)


@public(aliases=("swapdims",))
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Exchange two dimensions, as a view.

    Example:
        >>> import nnkit
        >>> nnkit.zeros(2, 3, 4).transpose(0, 2).shape
        nnkit.Size([4, 3, 2])
    """
    check_tensor("transpose", input)
    axis1 = normalize_dim(dim0, input.ndim, "transpose")
    axis2 = normalize_dim(dim1, input.ndim, "transpose")
    if not input.ndim:
        return _reshape(input, ())
    return _swapaxes(input, axis1, axis2)


@public
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """`transpose` with NumPy's names.

    Example:
        >>> import nnkit
        >>> nnkit.zeros(2, 3).swapaxes(0, 1).shape
        nnkit.Size([3, 2])
    """
    return transpose(input, axis0, axis1)


@public
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix; a vector or a 0-dim tensor stays what it is.

    Example:
        >>> import nnkit
        >>> nnkit.tensor([[1, 2], [3, 4]]).t()
        tensor([[1, 3],
                [2, 4]])
    """
    check_tensor("t", input)
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return _t(input, 0, 1) if input.ndim == 2 else _reshape(input, input._array.shape)


def _T(self: Tensor) -> Tensor:
    """The dimensions in reverse order."""
    if self.ndim not in (0, 2):
        warn_once(
            "The use of `x.T` on tensors of dimension other than 2 is deprecated: use `x.mT` for "
            "batches of matrices or `x.permute(*range(x.ndim)[::-1])` to reverse all of them."
        )
    return _permute(self, tuple(range(self.ndim - 1, -1, -1)))


def _matrix_transpose(self: Tensor) -> Tensor:
    """The last two dimensions exchanged."""
    if not self.ndim:
        warn("tensor.mT and mH are deprecated on 0-D tensors, which they do not turn")
        return self
    if self.ndim < 2:
        raise RuntimeError(
            f"tensor.mT is only supported on matrices or batches of matrices. Got {self.ndim}-D "
            "tensor."
        )
    return _mT(self)


@public
def adjoint(input: Tensor) -> Tensor:
    """The conjugate transpose of a matrix or a batch of matrices.

    Example:
        >>> import nnkit
        >>> nnkit.adjoint(nnkit.tensor([[1, 2j], [3, 4]]))
        tensor([[1.-0.j, 3.-0.j],
                [0.-2.j, 4.-0.j]])
    """
    check_tensor("adjoint", input)
    turned = _matrix_transpose(input)
    return OPS["conj"](turned) if input.is_complex() else turned


def _H(self: Tensor) -> Tensor:
    """The conjugate transpose of a matrix."""
    if self.ndim not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor."
        )
    return adjoint(self)


for _name, _function in (("T", _T), ("mT", _matrix_transpose), ("H", _H), ("mH", adjoint)):
    setattr(Tensor, _name, property(_function))


def _distinct_dims(ndim: int, parameter: str, dims: Sequence[int]) -> list[int]:
    axes = [normalize_dim(d, ndim, "movedim") for d in dims]
    if len(axes) > 1 and len(set(axes)) < len(axes):
        raise RuntimeError(f"movedim: repeated dim in `{parameter}` ({list(dims)})")
    return axes


@public(aliases=("moveaxis",))
def movedim(input: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """Move dimensions from ``source`` to ``destination``; the others keep their order.

    Example:
        >>> import nnkit
        >>> nnkit.movedim(nnkit.zeros(2, 3, 4), 0, -1).shape
        nnkit.Size([3, 4, 2])
    """
    check_tensor("movedim", input)
    one: Any = source if isinstance(source, (tuple, list)) else None
    other: Any = destination if isinstance(destination, (tuple, list)) else None
    if (one is None) is not (other is None):
        raise TypeError(
            "movedim(): arguments 'source' and 'destination' must both be int or both be tuple of "
            f"ints, not {type(source).__name__} and {type(destination).__name__}"
        )
    if one is None or other is None:
        one, other = (source,), (destination,)
    if len(one) != len(other):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source {list(one)} should contain "
            f"the same number of dims as destination {list(other)}"
        )
    ndim = input._array.ndim
    moved = _distinct_dims(ndim, "source", one)
    places = _distinct_dims(ndim, "destination", other)
    if not ndim:
        return _permute(input, ())
    order = [d for d in range(ndim) if d not in moved]
    for place, dim in sorted(zip(places, moved)):
        order.insert(place, dim)
    return _permute(input, tuple(order))


@public(namespace=False)
def expand(
    input: Tensor, *sizes: Any, size: Sequence[int] | None = None, implicit: bool = False
) -> Tensor:
    """Repeat dimensions of size 1 (and new leading ones) without copying: their stride is 0.

    Args:
        sizes: the new sizes; -1 keeps a dimension as it is.

    Raises:
        RuntimeError: a size other than 1 would have to change.

    Example:
        >>> import nnkit
        >>> nnkit.tensor([[1], [2]]).expand(-1, 3)
        tensor([[1, 1, 1],
                [2, 2, 2]])
    """
    wanted = sizes_of("expand", sizes, size)
    return _expand(input, expanded_shape("expand", input._array.shape, wanted))


@public(namespace=False)
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """``input.expand(other.shape)``.

    Example:
        >>> import nnkit
        >>> nnkit.tensor([1, 2]).expand_as(nnkit.zeros(2, 2))
        tensor([[1, 2],
                [1, 2]])
    """
    check_tensor("expand_as", other, "other")
    return expand(input, other._array.shape)


@public(method=False)
def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """``input.expand(size)``: the input repeated to a larger shape without copying.

    Example:
        >>> import nnkit
        >>> nnkit.broadcast_to(nnkit.tensor([1, 2]), (2, 2))
        tensor([[1, 2],
                [1, 2]])
    """
    check_tensor("broadcast_to", input)
    return expand(input, size)


@public(name="broadcast_to", namespace=False)
def _broadcasted(input: Tensor, *sizes: Any, size: Sequence[int] | None = None) -> Tensor:
    return expand(input, *sizes, size=size)


@public(method=False)
def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that tensors of these shapes broadcast to.

    Raises:
        RuntimeError: there is none, or an argument is no shape.
        ValueError: a size is negative.

    Example:
        >>> import nnkit
        >>> nnkit.broadcast_shapes((2, 1), (3,))
        nnkit.Size([2, 3])
    """
    name = "broadcast_shapes"
    for position, shape in enumerate(shapes):
        if not isinstance(shape, (int, tuple, list)):
            raise RuntimeError(
                f"{name}(): expected ints and tuples of ints, but argument {position} is "
                f"{type(shape).__name__}"
            )
    given = [sizes_of(name, (int(s) if isinstance(s, bool) else s,)) for s in shapes]
    common = [1] * max(map(len, given), default=0)
    for position, sizes in enumerate(given):
        if min(sizes, default=0) < 0:
            raise ValueError(f"{name}(): sizes must be non-negative, got {list(sizes)}")
        for d in range(1, len(sizes) + 1):
            if sizes[-d] not in (1, common[-d]) and common[-d] != 1:
                raise RuntimeError(
                    f"{name}(): Attempting to broadcast a dimension of length {sizes[-d]} at "
                    f"{-d}! Mismatching argument at index {position} had {tuple(sizes)}; but "
                    f"expected shape should be broadcastable to {common}"
                )
            common[-d] = common[-d] if sizes[-d] == 1 else sizes[-d]
    return Size(common)


@public(method=False, in_python=True)
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Expand all tensors to their common shape.

    Example:
        >>> import nnkit
        >>> x, y = nnkit.broadcast_tensors(nnkit.ones(3, 1), nnkit.ones(2))
        >>> x.shape, y.shape
        (nnkit.Size([3, 2]), nnkit.Size([3, 2]))
    """
    for tensor in tensors:
        check_tensor("broadcast_tensors", tensor, "tensors")
    shape = broadcast_shape("broadcast_tensors", [t._array.shape for t in tensors])
    return tuple(
        t if t._array.shape == shape else _expand(t, tuple(shape))
        for t in composite_operands(*tensors)
    )


@public(method=False)
def squeeze(
    input: Tensor,
    dim: int | Sequence[int] = ...,  # pyright: ignore[reportArgumentType]
) -> Tensor:
    """Drop the dimensions of size 1: all, or those in ``dim``, an int or a tuple; the method takes
    several ints, too.

    Example:
        >>> import nnkit
        >>> nnkit.zeros(2, 1, 3).squeeze().shape
        nnkit.Size([2, 3])
    """
    check_tensor("squeeze", input)
    return _squeezed_along(input, dim)


@public(name="squeeze", namespace=False)
def _squeezed(
    input: Tensor,
    dim: int | Sequence[int] = ...,  # pyright: ignore[reportArgumentType]
    *more: int,
) -> Tensor:
    return _squeezed_along(input, (dim, *more) if more else dim)


def _squeezed_along(input: Tensor, dim: Any) -> Tensor:
    shape = input._array.shape
    if dim is ...:
        variant, axes = 0, range(len(shape))
    elif isinstance(dim, (tuple, list)):
        variant, axes = 2, normalize_dims(dim, len(shape), "squeeze") or ()
    else:
        variant, axes = 1, (normalize_dim(dim, len(shape), "squeeze"),)
    return _squeeze[variant](input, tuple([a for a in axes if shape and shape[a] == 1]))


@public
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """Insert a dimension of size 1 at position ``dim``.

    Example:
        >>> import nnkit
        >>> nnkit.tensor([1, 2]).unsqueeze(1)
        tensor([[1],
                [2]])
    """
    check_tensor("unsqueeze", input)
    return _unsqueeze(input, normalize_dim(dim, input.ndim + 1, "unsqueeze"))
