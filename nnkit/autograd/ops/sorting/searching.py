"""Searching and counting: distinct values, and places in sorted sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nnkit.autograd.arguments.dims import check_tensor, normalize_dim, normalize_dims, sizes_of
from nnkit.autograd.arguments.sizes import check_shape, integer
from nnkit.autograd.batch.examples import by_example, lowest
from nnkit.autograd.grad_mode import no_grad
from nnkit.autograd.op.out import Out
from nnkit.autograd.op.promotion import check_dtype, on_one_device, promote
from nnkit.autograd.op.public import public
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.op.rule import refuse_tangent
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.autograd.views.history import end_history, refresh
from nnkit.autograd.views.writes import wants_history
from nnkit.backend.dtype import BOOL, COMPLEX, INTEGER, int32, int64


@public(in_python=True, strict=True)
def unique(
    input: Tensor, sorted: bool = True, return_inverse: bool = False,
    return_counts: bool = False, dim: int | None = None,
) -> Any:  # fmt: skip
    """The distinct elements in ascending order (distinct slices along ``dim``).

    Args:
        sorted: accepted for torch's sake; the result is always sorted.
        return_inverse: also where each element of the input went.
        return_counts: also how often each occurs.

    Example:
        >>> import nnkit
        >>> nnkit.tensor([3, 1, 3]).unique(return_counts=True)
        (tensor([1, 3]), tensor([1, 2]))
    """
    return _distinct("unique", input, dim, return_inverse, return_counts)


@public(in_python=True, strict=True)
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None,
) -> Any:  # fmt: skip
    """The elements (slices along ``dim``) that differ from the one before them.

    Example:
        >>> import nnkit
        >>> nnkit.unique_consecutive(nnkit.tensor([1, 1, 2, 1]))
        tensor([1, 2, 1])
    """
    return _distinct("unique_consecutive", input, dim, return_inverse, return_counts)


def _distinct(name: str, input: Tensor, dim: Any, inverse: bool, counts: bool) -> Any:
    check_tensor(name, input)
    if input.dtype.category == COMPLEX:
        raise NotImplementedError(f"{name}(): not implemented for '{input.dtype.name}' tensors")
    if dim is not None and not input.ndim:
        raise IndexError(f"{name}(): a 0-dim tensor has no dimension {dim}")
    axis = None if dim is None else normalize_dim(dim, input.ndim, name)
    others = [n for d, n in enumerate(input._array.shape) if d != axis]
    if axis is not None and 0 in others:
        raise RuntimeError(
            f"{name}(): There are 0 sized dimensions, and they aren't selected, so unique cannot "
            f"be applied, got shape {list(input.shape)}"
        )
    refresh(input)
    found = getattr(input._device.backend, name)(input._array, axis)
    wanted = (True, inverse, counts)
    results = [
        wrap(array, input._device) for array, want in zip(found, wanted, strict=True) if want
    ]
    refresh(input)
    if wants_history(input, ()):
        end_history(results[0], name, (input,), NotImplementedError)
    return tuple(results) if len(results) > 1 else results[0]


_WRONG_PLACES = "%s(): output tensor's dtype is wrong, got {got} for {wanted}"


@public(out=Out(dtype="same", words=_WRONG_PLACES % "searchsorted"), method=False)
def searchsorted(
    sorted_sequence: Tensor,
    input: Tensor | complex,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """The positions at which to insert ``input`` into sorted sequences so that they stay sorted.

    Args:
        sorted_sequence: one sequence, or one for each row of ``input``.
        input: a tensor or a number.
        right: whether to insert after equal elements (``side="right"``) or before them.
        sorter: indices that sort an unsorted ``sorted_sequence``.

    Example:
        >>> import nnkit
        >>> nnkit.searchsorted(nnkit.tensor([1, 3, 5]), nnkit.tensor([3, 6]))
        tensor([1, 3])
    """
    name = "searchsorted"
    check_tensor(name, sorted_sequence, "sorted_sequence")
    if side not in (None, "left", "right"):
        raise RuntimeError(f"{name}(): side can only be 'left' or 'right', got {side}")
    if side == "left" and right:
        raise RuntimeError(f"{name}(): side and right can't be set to opposites, got side of left")
    if sorter is not None:
        if sorter.dtype is not int64:
            raise RuntimeError(
                f"{name}(): sorter must be a tensor of long dtype, got {sorter.dtype}"
            )
        if sorter._array.shape != sorted_sequence._array.shape:
            raise RuntimeError(
                f"{name}(): boundary and sorter must have the same size, got "
                f"{list(sorted_sequence.shape)} and {list(sorter.shape)}"
            )
        if bool(lowest((sorter < 0) | (sorter >= sorter.shape[-1])).any()):
            raise RuntimeError(f"{name}(): sorter index out of range")
        axis = sorted_sequence.ndim - 1
        sorted_sequence = OPS["gather"](sorted_sequence.detach(), sorter, axis)
    return _search(name, sorted_sequence, input, right or side == "right", out_int32)


def _search(name: str, boundaries: Tensor, values: Any, right: bool, out_int32: bool) -> Tensor:
    number = not isinstance(values, Tensor)
    with no_grad():
        boundaries, values = promote(name, boundaries, values)
    rows, wanted = boundaries._array.shape, values._array.shape
    if number and len(rows) != 1:
        raise RuntimeError(
            f"{name}(): input value can be a scalar only when boundaries tensor dimension is 1, "
            f"got {list(rows)}"
        )
    if len(rows) != 1 and (not rows or rows[:-1] != wanted[:-1]):
        raise RuntimeError(
            f"{name}(): boundaries tensor should be 1 dimension or the first N-1 dimensions of "
            f"boundaries tensor and input value tensor must match, but we got boundaries tensor "
            f"{list(rows)} and input value tensor {list(wanted)}"
        )
    if values._array.size:
        check_dtype(name, boundaries.dtype, ("bool", "complex"))
    B = boundaries._device.backend
    found = B.searchsorted(boundaries._array, values._array, right)
    return wrap(B.cast(found, int32.array) if out_int32 else found, boundaries._device)


def _check_bucketized(out: Any, arguments: tuple, options: dict) -> None:
    if not isinstance(arguments[0], Tensor):
        raise TypeError("bucketize(): argument 'out' requires that 'input' is a tensor")


@public(
    out=Out(dtype="same", words=_WRONG_PLACES % "bucketize", prepare=_check_bucketized),
    method=False,
)
def bucketize(
    input: Tensor | complex, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    """The index of the bucket each element falls into: `searchsorted` with the operands exchanged.

    Args:
        right: whether a bucket includes its left boundary instead of its right one.

    Example:
        >>> import nnkit
        >>> nnkit.bucketize(nnkit.tensor([0.5, 2.0, 9.0]), nnkit.tensor([1.0, 2.0, 3.0]))
        tensor([0, 1, 3])
    """
    check_tensor("bucketize", boundaries, "boundaries")
    if boundaries.ndim != 1:
        raise RuntimeError(
            f"bucketize(): boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})"
        )
    return _search("bucketize", boundaries, input, right, out_int32)


@public
@by_example
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """The count of each integer from 0 in a 1-dim tensor, or the sum of its weights.

    Example:
        >>> import nnkit
        >>> nnkit.bincount(nnkit.tensor([0, 2, 2]))
        tensor([1, 0, 2])
    """
    check_tensor("bincount", input)
    B = input._device.backend
    if input.dtype.category != INTEGER:
        raise NotImplementedError(f"bincount(): not implemented for '{input.dtype.name}' tensors")
    if input._array.shape == (0,) and minlength >= 0:  # torch does not look at the weights then
        check_shape("bincount", (minlength,))
        return wrap(B.zeros((minlength,), int64.array), input._device)
    if input.ndim != 1:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if integer("bincount", "minlength", minlength) < 0:
        raise RuntimeError(f"bincount(): minlength should be >= 0, got {minlength}")
    if input._array.size:
        if B.item(B.amin(input._array, None, False)) < 0:
            raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
        check_shape("bincount", (B.item(B.amax(input._array, None, False)) + 1,))
    check_shape("bincount", (minlength,))
    if weights is not None and weights._array.shape != input._array.shape:
        raise RuntimeError(
            f"bincount(): weights should be 1-d and have the same length as input, got "
            f"{list(weights._array.shape)} and {list(input._array.shape)}"
        )
    if weights is not None and weights.dtype.category == COMPLEX:
        weights = weights.real.double()  # as in torch
    if weights is not None:
        input, weights = on_one_device("bincount", (input, weights))
        B = input._device.backend
    counts = B.bincount(input._array, None if weights is None else weights._array, minlength)
    out = wrap(counts, input._device)
    if weights is not None:
        refuse_tangent("bincount", weights)
        if wants_history(weights, ()):
            end_history(out, "bincount", (weights,))
    return out


@public(method=False)
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """The coordinates, one tensor for each dimension, of positions in a flattened ``shape``.

    Example:
        >>> import nnkit
        >>> nnkit.unravel_index(nnkit.tensor([5]), (2, 3))
        (tensor([1]), tensor([2]))
    """
    check_tensor("unravel_index", indices, "indices")
    if indices.dtype.category != INTEGER:
        raise TypeError(
            f"unravel_index(): expected 'indices' to be integer dtype, but got {indices.dtype}"
        )
    if isinstance(shape, Tensor):
        raise TypeError("expected 'shape' to be int or sequence of ints, but got Tensor")
    for size in shape if isinstance(shape, (tuple, list)) else ():
        if not isinstance(size, int):
            raise TypeError(
                f"expected 'shape' sequence to only contain ints, but got {type(size).__name__}"
            )
    if isinstance(shape, (tuple, list)) and any(isinstance(each, Tensor) for each in shape):
        raise TypeError(
            "unravel_index(): argument 'shape' must be tuple of ints, got a Tensor in it"
        )
    shape = (int(shape),) if isinstance(shape, bool) else shape
    sizes = sizes_of("unravel_index", (shape,), None, "shape")
    if min(sizes, default=0) < 0:
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    if not sizes:
        return ()
    B = indices._device.backend
    rest = B.cast(indices._array, int64.array)  # as in torch one beyond the last wraps around
    coordinates = []
    for size in reversed(sizes):
        coordinates.append(B.remainder(rest, size))
        rest = B.div_floor(rest, size)
    together = wrap(B.stack(tuple(reversed(coordinates)), rest.ndim), indices._device)
    return OPS["unbind"](together, rest.ndim)


unravel_index.arranged = lambda indices, shape: ((indices,), {"shape": shape})


@public(out=Out(dtype="same"), method=False)
def isin(
    elements: Tensor | complex = ...,  # pyright: ignore[reportArgumentType]
    test_elements: Tensor | complex = ...,  # pyright: ignore[reportArgumentType]
    *,
    assume_unique: bool = False,
    invert: bool = False,
    element: complex = ...,  # pyright: ignore[reportArgumentType]
    test_element: complex = ...,  # pyright: ignore[reportArgumentType]
) -> Tensor:
    """Whether each element is one of ``test_elements``; one of the two may be a number, which is
    also called ``element`` or ``test_element``.

    Example:
        >>> import nnkit
        >>> nnkit.isin(nnkit.tensor([1, 2, 3]), nnkit.tensor([2, 5]))
        tensor([False,  True, False])
    """
    elements = element if elements is ... else elements
    test_elements = test_element if test_elements is ... else test_elements
    if elements is ... or test_elements is ...:
        raise TypeError("isin(): both elements and test_elements must be given")
    x, values = promote("isin", elements, test_elements)
    for each in (elements, test_elements, x):
        if isinstance(each, bool) or (
            isinstance(each, Tensor) and each.dtype.category in (BOOL, COMPLEX)
        ):
            kind = each.dtype.name if isinstance(each, Tensor) else "bool"
            raise RuntimeError(f"isin(): not implemented for '{kind}' tensors")
    B = x._device.backend
    found = B.isin(x._array, B.reshape(values._array, (values._array.size,)))
    return wrap(B.logical_not(found) if invert else found, x._device)


@public(method=False)
def count_nonzero(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """The number of elements that are not zero, in all or along ``dim`` (an int or a tuple, which
    the method takes one by one too).

    Example:
        >>> import nnkit
        >>> nnkit.count_nonzero(nnkit.tensor([[0, 1], [2, 3]]), dim=1)
        tensor([1, 2])
    """
    check_tensor("count_nonzero", input)
    B = input._device.backend
    axes = normalize_dims(dim, input.ndim, "count_nonzero")
    found = B.ne(input._array, 0)
    return wrap(B.sum(found, axes if axes and input.ndim else None, False), input._device)


@public(name="count_nonzero", namespace=False)
def _counted(input: Tensor, dim: int | Sequence[int] | None = None, *more: int) -> Tensor:
    return count_nonzero(input, (dim, *more) if more else dim)
