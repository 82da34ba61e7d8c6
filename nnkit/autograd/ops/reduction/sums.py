"""Sums, means, products, variances and norms along dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from nnkit.autograd.arguments.dims import (
    check_tensor,
    expanded_shape,
    normalize_dim,
    normalize_dims,
    sizes_of,
)
from nnkit.autograd.arguments.factory import dtype_of
from nnkit.autograd.arguments.sizes import check_integers
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.out import Out, compute_in
from nnkit.autograd.op.pointwise import fn, pointwise
from nnkit.autograd.op.promotion import cast_inside
from nnkit.autograd.op.public import public
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.op.rule import rule
from nnkit.autograd.op.single import single
from nnkit.autograd.ops.creation.conversion import composite_operands, converted
from nnkit.autograd.ops.creation.memory_format import in_order_of
from nnkit.autograd.tensor import Tensor, on_its_own
from nnkit.backend.axes import terms
from nnkit.backend.dtype import FLOATING, int64, to_float


def shifted(B: Any, x: Any, axis: int, by: int, value: float) -> Any:
    """``x`` moved one place along ``axis`` (``by`` is 1 or -1); ``value`` fills the gap."""
    if not x.shape[axis]:
        return x
    kept, width = (slice(0, -1), (1, 0)) if by > 0 else (slice(1, None), (0, 1))
    widths = tuple(width if a == axis else (0, 0) for a in range(x.ndim))
    return B.pad(B.getitem(x, (slice(None),) * axis + (kept,)), widths, value)


def divided_or(B: Any, total: Callable[[], Any], x: Any, of_zeros: Any) -> Any:
    """``total() / x``; or, where some element of ``x`` is 0, what needs no division, which torch
    takes within transforms always: near 0 derivatives of the quotient are lost."""
    if MODE.transforms:
        return of_zeros
    zero = B.eq(x, 0)
    quotient = B.div(total(), B.where(zero, B.ones_like(x), x))
    return B.where(B.any(zero, None, False), of_zeros, quotient)


def _grad_prod(B: Any, g: Any, x: Any, out: Any, axis: Any, keepdims: bool) -> Any:
    """The product of all other elements; of all elements, with two zeros among them, nothing,
    unless that is to be differentiated itself."""
    shape = tuple(x.shape)
    if not shape:
        return g
    if axis is None:
        one = B.reshape(out, (1,))
        flat = _grad_prod(B, B.reshape(g, (1,)), B.reshape(x, (-1,)), one, 0, True)
        flat = in_order_of(B, B.reshape(flat, shape), x)
        flat = on_its_own(flat) if isinstance(flat, Tensor) else flat
        several = B.gt(B.sum(B.eq(x, 0), None, False), 1)
        return flat if MODE.enabled or MODE.transforms else B.where(several, 0.0, flat)
    if MODE.transforms and 0 in shape:
        return B.zeros_like(x)
    if MODE.transforms and shape[axis] == 1:  # the same for all examples if the gradient is
        return B.expand_reduced(g, shape, axis, keepdims)
    turned = B.flip(x, (axis,))
    before = shifted(B, B.cumprod(x, axis), axis, 1, 1.0)
    after = B.flip(shifted(B, B.cumprod(turned, axis), axis, 1, 1.0), (axis,))
    whole = lambda: B.expand_reduced(out, shape, axis, keepdims)  # noqa: E731
    others = divided_or(B, whole, x, B.mul(before, after))
    return B.mul(B.expand_reduced(g, shape, axis, keepdims), B.conj(others))


def grad_mean(B: Any, g: Any, x_shape: tuple, axis: Any, keepdims: bool) -> Any:
    count = float(terms(x_shape, axis) or math.nan)
    return B.div(B.expand_reduced(g, x_shape, axis, keepdims), count)


def sum_of_given(B: Any, first: Any, second: Any) -> Any:
    """The sum of two gradients, or the one that there is: the other's may be infinite times 0."""
    if first is None or second is None:
        return second if first is None else first
    return B.add(first, second)


# A reduction has one node in torch for all elements and another for dimensions that are named.
_sum, _sum_along = [
    rule(
        "sum", node=node,
        x=lambda B, g, x_shape, axis, keepdims: B.expand_reduced(g, x_shape, axis, keepdims),
    )
    for node in ("SumBackward0", "SumBackward1")
]  # fmt: skip
rule(
    "expand_reduced",
    node="ExpandBackward0",
    x=lambda B, g, axis, keepdims: B.sum(g, axis, keepdims),
)
_sum_to = rule("sum_to", node="SumBackward1", x=lambda B, g, x_shape: B.expand(g, x_shape))
_mean, _mean_along = [
    rule("mean", node=node, alone="refused", x=grad_mean)
    for node in ("MeanBackward0", "MeanBackward1")
]
_prod, _prod_along = [
    rule("prod", node=node, also={"x": ("out",)}, x=_grad_prod)
    for node in ("ProdBackward0", "ProdBackward1")
]
_logsumexp = rule(
    "logsumexp",
    alone="refused",
    x=lambda B, g, x, out, axis, keepdims: B.mul(
        B.expand_reduced(g, tuple(x.shape), axis, keepdims),
        B.conj(B.exp(B.sub(x, B.expand_reduced(out, tuple(x.shape), axis, keepdims)))),
    ),
)


def axis_of(name: str, dim: Any, ndim: int) -> Any:
    """A checked dimension as an int, dimensions as a tuple; None for all (also for an empty tuple
    and for the only "dimension" of a 0-dim tensor)."""
    if dim is None or dim is ...:
        return None
    if dim.__class__ is int and -ndim <= dim < ndim:
        return dim + ndim if dim < 0 else dim
    axes = normalize_dims(dim, ndim, name)
    return axes if axes and ndim else None


def check_dim(name: str, dim: Any, keepdim: bool) -> None:
    """Hold a call to torch's two forms: without dimensions there is nothing to keep.

    Raises:
        TypeError: ``keepdim`` without ``dim``.
    """
    if keepdim and dim is ...:
        raise TypeError(f"{name}() missing 1 required positional argument: 'dim'")


def one_axis(name: str, dim: Any, ndim: int) -> int | None:
    """The axis of a function that takes a single dimension; None for a 0-dim tensor."""
    axis = normalize_dim(dim, ndim, name)
    return axis if ndim else None


def in_dtype(name: str, input: Any, dtype: Any) -> Tensor:
    """``input`` in the dtype that a function is asked to compute in, as a part of the function."""
    check_tensor(name, input)
    if dtype is None:
        return input
    d = dtype_of(name, dtype)
    return cast_inside(input, d) if d.category >= FLOATING else converted(input, d)


def needs_dim(name: str) -> Callable:
    """The check that ``out=`` comes with a dimension: sums and medians of everything go without."""

    def check(out: Any, arguments: tuple, options: dict) -> None:
        if not arguments[1:] and options.keys().isdisjoint(("dim", "axis")):
            raise TypeError(f"{name}(): argument 'out' goes with 'dim'")

    return check


@public(out=Out(is_computed_in=True, prepare=needs_dim("sum")))
def sum(
    input: Tensor,
    dim: int | Sequence[int] | None = ...,  # pyright: ignore[reportArgumentType]
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    """The sum of all elements, or along dimensions.

    Args:
        dim: an int or a tuple of ints; None (or an empty tuple) sums everything.
        keepdim: whether the summed dimensions stay, with size 1.
        dtype: what the input is converted to first. Integers and bools give int64 without it.

    Raises:
        IndexError: a dimension is out of range.
        RuntimeError: a dimension is named twice.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> x.sum(), x.sum(0)
        (tensor(10.), tensor([4., 6.]))
    """
    x = input if dtype is None and input.__class__ is Tensor else in_dtype("sum", input, dtype)
    check_dim("sum", dim, keepdim)
    op = _sum if dim is ... else _sum_along
    result = op(x, axis_of("sum", dim, x._array.ndim), keepdim)
    return result if dtype is None else converted(result, x.dtype)


@public(namespace=False)
def sum_to_size(input: Tensor, *sizes: Any, size: Sequence[int] | None = None) -> Tensor:
    """The sum over the dimensions that `expand` would repeat to get from ``size`` to its shape.

    Raises:
        RuntimeError: no tensor of that size can be expanded to the shape of ``input``.

    Example:
        >>> import nnkit
        >>> nnkit.ones(2, 3).sum_to_size(1, 3)
        tensor([[2., 2., 2.]])
    """
    shape = sizes_of("sum_to_size", sizes, size)
    check_integers("sum_to_size", "size", shape)
    expanded_shape("sum_to_size", shape, input._array.shape)
    if not shape:
        return sum(input)
    if shape == tuple(input._array.shape):
        return composite_operands(input)[0]
    summed = input if input.dtype.category >= FLOATING else converted(input, int64)
    kept = (1,) * (input._array.ndim - len(shape)) + shape
    if kept == tuple(input._array.shape):  # of which `_sum_to` would return the very memory
        total = sum(summed, tuple(range(len(kept) - len(shape))), keepdim=True)
    else:
        total = _sum_to(summed, kept)
    return total if kept == shape else OPS["view"](total, shape)


# By a product, as in torch: an infinite gradient of a NaN, as of a mean of no number, is NaN.
_without_nan = pointwise(
    "without_nan",
    lambda x: fn.where(fn.isnan(x), 0, x),
    function=False,
    x=lambda g, x: g * fn.where(fn.isnan(x), fn.zeros_like(x), 1),
)
_nansum = rule(
    "nansum",
    x=lambda B, g, x, axis, keepdims: B.without_nan_grad_x(
        B.expand_reduced(g, tuple(x.shape), axis, keepdims), x
    ),
)


def _sums_nan(name: str) -> Callable:
    """The check of ``out``, as which torch sums: integers have no NaN to be left out."""

    def check(out: Any, arguments: tuple, options: dict) -> None:
        if isinstance(out, Tensor) and "dtype" not in options:
            if arguments[0].is_floating_point() and out.dtype.category != FLOATING:
                raise NotImplementedError(f"{name}(): not implemented for '{out.dtype.name}' sums")

    return check


@public(out=Out(is_computed_in=True, prepare=_sums_nan("nansum")))
def nansum(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    """`sum` in which a NaN counts as 0.

    Example:
        >>> import nnkit
        >>> nnkit.nansum(nnkit.tensor([1.0, float("nan"), 3.0]))
        tensor(4.)
    """
    check_tensor("nansum", input)
    if input.is_complex():
        normalize_dims(dim, input.ndim, "nansum")
        raise RuntimeError("nansum does not support complex inputs")
    x = in_dtype("nansum", input, dtype)
    if input.is_floating_point() and x.dtype.category < FLOATING:
        x = in_dtype("nansum", _without_nan(input), dtype)
    if input.is_floating_point() and x.is_complex() and x._array.size:
        raise NotImplementedError(f"nansum(): not implemented for '{x.dtype.name}' tensors")
    if x.is_floating_point():
        return _nansum(x, axis_of("nansum", dim, x._array.ndim), keepdim)
    return sum(x, dim, keepdim, dtype=dtype)


def _compute_mean_in(out: Any, arguments: tuple, options: dict) -> None:
    """Ask for means along dimensions in the dtype of ``out``; that of all elements is cast."""
    x, *others = arguments
    dims = others[0] if others else options.get("dim", options.get("axis"))
    if isinstance(out, Tensor) and dims is not None and x.dtype.category >= FLOATING:
        compute_in("mean", out, options)


@public(out=Out(prepare=_compute_mean_in))
def mean(
    input: Tensor,
    dim: int | Sequence[int] | None = ...,  # pyright: ignore[reportArgumentType]
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    """The mean of all elements, or along dimensions; NaN where there are none.

    The arguments are those of `sum`.

    Raises:
        RuntimeError: the dtype is neither floating point nor complex.

    Example:
        >>> import nnkit
        >>> nnkit.tensor([[1.0, 2.0], [3.0, 4.0]]).mean(1)
        tensor([1.5000, 3.5000])
    """
    x = input if dtype is None and input.__class__ is Tensor else in_dtype("mean", input, dtype)
    if x.dtype.category < FLOATING:
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or "
            f"complex dtype. Got: {x.dtype.name}"
        )
    check_dim("mean", dim, keepdim)
    op = _mean if dim is ... else _mean_along
    return op(x, axis_of("mean", dim, x._array.ndim), keepdim)


@public(out=Out(is_computed_in=True, prepare=_sums_nan("nanmean")))
def nanmean(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    """The mean of the elements that are not NaN.

    Example:
        >>> import nnkit
        >>> nnkit.nanmean(nnkit.tensor([1.0, float("nan"), 3.0]))
        tensor(2.)
    """
    check_tensor("nanmean", input)
    if input.dtype.category < FLOATING:
        raise RuntimeError(
            "nanmean(): expected input to have floating point or complex dtype but got "
            f"{input.dtype.name}"
        )
    if dtype is not None and dtype_of("nanmean", dtype).category < FLOATING:
        raise RuntimeError(f"nanmean(): expected a floating point or complex dtype, got {dtype}")
    count = sum(input.isnan().logical_not(), dim, keepdim)
    return nansum(input, dim, keepdim, dtype=dtype) / count


@public(out=Out(is_computed_in=True, prepare=needs_dim("prod")))
def prod(
    input: Tensor,
    dim: int = ...,  # pyright: ignore[reportArgumentType]
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    """The product of all elements, or along one dimension.

    Raises:
        TypeError: ``dim`` is no int.
        IndexError: it is out of range.

    Example:
        >>> import nnkit
        >>> nnkit.tensor([2.0, 0.0, 3.0]).prod()
        tensor(0.)
    """
    x = in_dtype("prod", input, dtype)
    check_dim("prod", dim, keepdim)
    if dim is ...:
        result = _prod(x, None, keepdim)
    else:
        result = _prod_along(x, one_axis("prod", dim, x._array.ndim), keepdim)
    return result if dtype is None else converted(result, x.dtype)


@public(out=True)
@single(alone="refused")
def logsumexp(input: Tensor, dim: int | Sequence[int], keepdim: bool = False) -> Tensor:
    """``log(sum(exp(x)))`` along dimensions, without overflow; -inf where there are no elements.

    Raises:
        TypeError: ``dim`` is neither an int nor a tuple of ints.
        IndexError: a dimension is out of range.

    Example:
        >>> import nnkit
        >>> nnkit.tensor([1000.0, 0.0]).logsumexp(0)
        tensor(1000.)
    """
    check_tensor("logsumexp", input)
    if dim is None:
        raise TypeError("logsumexp(): argument 'dim' must be tuple of ints, not NoneType")
    x = converted(input, to_float(input.dtype))
    return _logsumexp(x, axis_of("logsumexp", dim, x._array.ndim), keepdim)
