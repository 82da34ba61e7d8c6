"""The largest and the smallest elements, where they are, and whether all or any are true."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nnkit.autograd.arguments.dims import check_tensor, normalize_dims
from nnkit.autograd.op.inference import copied_scalar
from nnkit.autograd.op.out import Out
from nnkit.autograd.op.promotion import check_dtype
from nnkit.autograd.op.public import public
from nnkit.autograd.op.rule import real_gradient, rule
from nnkit.autograd.ops.creation.conversion import converted
from nnkit.autograd.ops.elementwise import bounds
from nnkit.autograd.ops.reduction.sums import axis_of, check_dim, one_axis, sum_of_given
from nnkit.autograd.surface import return_types
from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import BOOL, COMPLEX, bool_, uint8


def _shared(B: Any, g: Any, x: Any, reached: Any, axis: Any, keepdims: bool) -> Any:
    """The gradient in equal parts to all elements that reached the extremum."""
    selected = B.where(reached, B.ones_like(x), 0)
    share = B.div(g, B.sum(selected, axis, keepdims))
    return B.mul(B.expand_reduced(share, tuple(x.shape), axis, keepdims), selected)


def _grad_extreme(B: Any, g: Any, x: Any, out: Any, axis: Any, keepdims: bool) -> Any:
    reached = B.eq(B.expand_reduced(out, tuple(x.shape), axis, keepdims), x)
    return _shared(B, g, x, reached, axis, keepdims)


def _grad_aminmax(
    B: Any, g_min: Any, g_max: Any, x: Any, min: Any, max: Any, axis: Any, keepdims: bool
) -> Any:
    of_min = None if g_min is None else _grad_extreme(B, g_min, x, min, axis, keepdims)
    of_max = None if g_max is None else _grad_extreme(B, g_max, x, max, axis, keepdims)
    return sum_of_given(B, of_min, of_max)


def _grad_total(B: Any, g: Any, x: Any, out: Any, axis: Any, keepdims: bool) -> Any:
    """The gradient of an extremum of all elements, which reaches a NaN as well, as in torch."""
    equal = B.eq(x, B.expand_reduced(out, tuple(x.shape), axis, keepdims))
    reached = B.logical_or(equal, B.ne(x, x))
    share = _shared(B, g, x, reached, axis, keepdims)
    return B.contiguous(B.where(reached, share, B.zeros_like(x)))  # it lies by rows in torch


def _grad_chosen(
    B: Any, g: Any, indices: Any, x_shape: tuple, axis: int | None, keepdims: bool
) -> Any:
    if axis is None:
        return B.copy(g)
    if not keepdims:
        g, indices = B.unsqueeze(g, axis), B.unsqueeze(indices, axis)
    return B.gather_adjoint(g, indices, axis, x_shape)


def _copied_along(x: Tensor, axis: Any, keepdims: bool) -> str | None:
    """``alone`` of a `rule` whose op torch records as a copy of a 0-dim input along a dimension,
    which is an empty tuple."""
    return None if axis is None else copied_scalar(x)


_total = {
    n: rule(f"a{n}", node=f"{n.capitalize()}Backward1", x=_grad_total) for n in ("max", "min")
}
_extreme = {n: rule(n, x=_grad_extreme) for n in ("amax", "amin")}
_chosen = {
    n: rule(n, nondifferentiable=("indices",), alone=copied_scalar, x=_grad_chosen)
    for n in ("max", "min")
}
_aminmax = rule("aminmax", alone=_copied_along, materializes=False, x=_grad_aminmax)
_index = {n: rule(n) for n in ("argmax", "argmin")}
_logical = {n: rule(n) for n in ("all", "any")}


def _check_some(name: str, shape: tuple, axis: Any) -> None:
    """RuntimeError or IndexError for the extremum of no elements."""
    if 0 not in shape:
        return
    if axis is None:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
            f"reduction dim with the 'dim' argument: got shape {list(shape)}"
        )
    for a in (axis,) if isinstance(axis, int) else axis:
        if not shape[a]:
            raise IndexError(f"{name}(): Expected reduction dim {a} to have non-zero size.")


def _amax(name: str, input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    check_tensor(name, input)
    shape = input._array.shape
    axis = axis_of(name, dim, len(shape))
    _check_some(name, shape, axis)
    return real_gradient(name, _extreme[name](input, axis, keepdim))


_WRONG_EXTREMA = (
    "Expected the dtype for input and out to match, but got {wanted} for input's dtype and {got} "
    "for out's dtype."
)


@public(out=Out(dtype="same", words=_WRONG_EXTREMA))
def amax(input: Tensor, dim: int | Sequence[int] | None = (), keepdim: bool = False) -> Tensor:
    """The largest element of all or along dimensions; NaN if one is NaN. Equal ones share the
    gradient.

    Args:
        dim: an int or a tuple of ints; an empty tuple stands for all.

    Raises:
        RuntimeError: there are no elements and no ``dim``.
        IndexError: ``dim`` is out of range or has size 0.
        NotImplementedError: the dtype is complex.

    Example:
        >>> import nnkit
        >>> nnkit.tensor([[1.0, 3.0], [2.0, 0.0]]).amax(1)
        tensor([3., 2.])
    """
    return _amax("amax", input, dim, keepdim)


@public(out=Out(dtype="same", words=_WRONG_EXTREMA))
def amin(input: Tensor, dim: int | Sequence[int] | None = (), keepdim: bool = False) -> Tensor:
    """The smallest element of all or along dimensions; see `amax`.

    Example:
        >>> import nnkit
        >>> nnkit.amin(nnkit.tensor([[3, 1], [2, 5]]), dim=1)
        tensor([1, 2])
    """
    return _amax("amin", input, dim, keepdim)


@public(out=True)
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """`amin` and `amax` as a named tuple (min, max).

    Example:
        >>> import nnkit
        >>> low, high = nnkit.aminmax(nnkit.tensor([3, 1, 2]))
        >>> low, high
        (tensor(1), tensor(3))
    """
    check_tensor("aminmax", input)
    shape = input._array.shape
    axis = None if dim is None else one_axis("aminmax", dim, len(shape))
    _check_some("aminmax", shape, axis)
    check_dtype("aminmax", input.dtype, ("complex",))
    if not shape and dim is not None:
        axis = ()
    return return_types.aminmax(_aminmax(input, axis, keepdim))


def _max(name: str, kind: Any, elementwise: Any, input: Tensor, dim: Any, keepdim: bool) -> Any:
    if isinstance(dim, Tensor) and not keepdim:
        return elementwise(input, dim)
    check_tensor(name, input)
    shape = input._array.shape
    if dim is ...:
        check_dim(name, dim, keepdim)
        _check_some(name, shape, None)
        return _total[name](input, None, False)
    axis = one_axis(name, dim, len(shape))
    _check_some(name, shape, () if axis is None else axis)
    if input.dtype.category == COMPLEX:
        raise RuntimeError(f"{name}(): does not support complex input, got {input.dtype}")
    return kind(_chosen[name](input, axis, keepdim))


def _second(name: str, dim: Any, other: Any) -> Any:
    """The other tensor, which stands behind the input; TypeError if there is a dim too."""
    if dim is not ...:
        raise TypeError(f"{name}(): takes 'dim' or 'other', got both")
    return other


def _compares(arguments: tuple) -> bool:
    """Whether `max` and `min` are those of two tensors."""
    return isinstance(arguments[1] if arguments[1:] else None, Tensor)


def _overload_of(name: str) -> Callable:
    return lambda arguments: f"{name}.dim" if arguments[1:] and not _compares(arguments) else name


@public(out=Out(checks_first=_compares, overload=_overload_of("max")))
def max(
    input: Tensor,
    dim: Tensor | int = ...,  # pyright: ignore[reportArgumentType]
    keepdim: bool = False,
    *,
    other: Tensor = ...,  # pyright: ignore[reportArgumentType]
) -> Any:
    """The largest element: ``max(input)``; with their indices along a dimension:
    ``max(input, dim)``; of two tensors element by element: ``max(input, other)``.

    Returns:
        A 0-dim tensor (equal elements share its gradient); a named tuple (values, indices) of the
        first largest element along ``dim``; or a tensor (`maximum`). A NaN is the largest of all.

    Raises:
        RuntimeError: there are no elements and no ``dim``, or the dtype is complex.
        IndexError: ``dim`` is out of range or has size 0.

    Example:
        >>> import nnkit
        >>> nnkit.tensor([[1.0, 3.0], [2.0, 0.0]]).max(1).indices
        tensor([1, 0])
    """
    dim = dim if other is ... else _second("max", dim, other)
    return _max("max", return_types.max, bounds.maximum, input, dim, keepdim)


@public(out=Out(checks_first=_compares, overload=_overload_of("min")))
def min(
    input: Tensor,
    dim: Tensor | int = ...,  # pyright: ignore[reportArgumentType]
    keepdim: bool = False,
    *,
    other: Tensor = ...,  # pyright: ignore[reportArgumentType]
) -> Any:
    """The smallest element, in the three forms of `max`. A NaN is the smallest of all.

    Example:
        >>> import nnkit
        >>> nnkit.min(nnkit.tensor([3, 1, 2]))
        tensor(1)
        >>> nnkit.min(nnkit.tensor([3, 1]), nnkit.tensor([2, 2]))
        tensor([2, 1])
    """
    dim = dim if other is ... else _second("min", dim, other)
    return _max("min", return_types.min, bounds.minimum, input, dim, keepdim)


def _arg(name: str, input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    check_tensor(name, input)
    if input.dtype.category in (BOOL, COMPLEX):
        raise RuntimeError(f"{name}(): does not support {input.dtype.name} input")
    shape = input._array.shape
    axis = None if dim is None else one_axis(name, dim, len(shape))
    if axis is None and 0 in shape:
        raise IndexError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0, "
            f"got shape {list(shape)}"
        )
    _check_some(name, shape, () if axis is None else axis)
    return _index[name](input, axis, keepdim)


@public(out=Out(dtype="same"))
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the first largest element, along ``dim`` or in the flattened tensor.

    Raises:
        IndexError: ``dim`` is out of range or has size 0.
        RuntimeError: the dtype is bool or complex.

    Example:
        >>> import nnkit
        >>> nnkit.tensor([[1.0, 3.0], [2.0, 0.0]]).argmax(1)
        tensor([1, 0])
    """
    return _arg("argmax", input, dim, keepdim)


@public(out=Out(dtype="same"))
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the first smallest element; see `argmax`.

    Example:
        >>> import nnkit
        >>> nnkit.argmin(nnkit.tensor([3, 1, 2]))
        tensor(1)
    """
    return _arg("argmin", input, dim, keepdim)


def _truth(name: str, input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    check_tensor(name, input)
    ndim = input._array.ndim
    # An empty tuple reduces nothing here, unlike in the sums.
    axes = normalize_dims(dim, ndim, name)
    result = _logical[name](input, axes if ndim else None, keepdim)
    return converted(result, uint8) if input.dtype is uint8 else result


_WRONG_TRUTHS = "%s only supports bool tensor for result, got: {got}"


def _dtype_of_truths(out: Tensor, result: Tensor, arguments: tuple) -> str:
    return "any" if out.dtype in (bool_, uint8) else "same"


@public(out=Out(dtype=_dtype_of_truths, words=_WRONG_TRUTHS % "all"))
def all(input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    """Whether all elements are true (not zero), in all or along dimensions.

    Example:
        >>> import nnkit
        >>> nnkit.tensor([[True, False], [True, True]]).all(1)
        tensor([False,  True])
    """
    return _truth("all", input, dim, keepdim)


@public(out=Out(dtype=_dtype_of_truths, words=_WRONG_TRUTHS % "any"))
def any(input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    """Whether any element is true (not zero), in all or along dimensions.

    Example:
        >>> import nnkit
        >>> nnkit.any(nnkit.tensor([[0, 1], [0, 0]]), dim=1)
        tensor([ True, False])
    """
    return _truth("any", input, dim, keepdim)
