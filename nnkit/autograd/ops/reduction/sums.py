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
from nnkit.backend.warning import warn


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


def _grad_var(B: Any, g: Any, x: Any, axis: Any, correction: float, keepdims: bool) -> Any:
    shape = tuple(x.shape)
    freedom = terms(shape, axis) - correction
    mean = B.mean(x, axis, True)
    if freedom <= 0 and (axis is None or not shape):
        spread = B.expand_reduced(g, shape, axis, keepdims)
        out = B.where(B.eq(x, mean), B.mul(spread, math.nan), B.mul(spread, math.inf))
        return B.add(out, B.zeros_like(x))  # which may be complex
    scaled = B.mul(g, 2 / freedom if freedom else math.inf)
    return B.mul(B.expand_reduced(scaled, shape, axis, keepdims), B.sub(x, mean))


def _grad_mean(B: Any, g: Any, x_shape: tuple, axis: Any, keepdims: bool) -> Any:
    count = float(terms(x_shape, axis) or math.nan)
    return B.div(B.expand_reduced(g, x_shape, axis, keepdims), count)


def _grad_var_mean(
    B: Any, g_var: Any, g_mean: Any, x: Any, axis: Any, correction: float, keepdims: bool
) -> Any:
    """The sum of both, or the one that there is: the other's may be infinite times 0."""
    of_mean = None if g_mean is None else _grad_mean(B, g_mean, tuple(x.shape), axis, keepdims)
    if g_var is None:
        return of_mean
    of_var = _grad_var(B, g_var, x, axis, correction, keepdims)
    return of_var if of_mean is None else B.add(of_var, of_mean)


def ratio(B: Any, g: Any, divisor: Any) -> Any:
    """``g / divisor``, and 0 where the divisor is 0, with a derivative that is NaN, as torch's."""
    return B.where(B.eq(divisor, 0), B.zeros_like(g), B.div(g, divisor))


def _grad_std(
    B: Any, g: Any, x: Any, out: Any, axis: Any, correction: float, keepdims: bool
) -> Any:
    return _grad_var(B, B.mul(ratio(B, g, out), 0.5), x, axis, correction, keepdims)


def _mean_of_all(x: Any, axis: Any, correction: float, keepdims: bool) -> str | None:
    """``alone`` of variances: torch computes a single one by `mean`, which refuses it."""
    shape = x._array.shape
    count = 1 if axis is None else math.prod(shape) // max(terms(shape, axis), 1)
    double = x.dtype.itemsize > 2 and x.is_floating_point()
    return "refused" if count == 1 and x._array.size and double else None


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
_mean, _mean_along, _mean_beside = [
    rule("mean", node=node, alone=alone, x=_grad_mean)
    for node, alone in (
        ("MeanBackward0", "refused"), ("MeanBackward1", "refused"), ("StdMeanBackward0", None),
    )
]  # fmt: skip
_prod, _prod_along = [
    rule("prod", node=node, also={"x": ("out",)}, x=_grad_prod)
    for node in ("ProdBackward0", "ProdBackward1")
]
_var = rule("var", alone=_mean_of_all, x=_grad_var)
_std, _std_beside = [
    rule("std", node=node, alone=_mean_of_all, x=_grad_std)
    for node in ("StdBackward0", "StdMeanBackward0")
]
_var_mean = rule(
    "var_mean",
    materializes=False,
    x=_grad_var_mean,
)
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


def _spread(
    name: str, input: Any, dim: Any, unbiased: Any, keepdim: bool, correction: Any
) -> tuple[Any, float]:
    """The axis and the correction of a variance, from both of torch's ways to say them."""
    check_tensor(name, input)
    if input.dtype.category < FLOATING:
        raise RuntimeError(
            f"{name}(): std and var only support floating point and complex dtypes, "
            f"got {input.dtype.name}"
        )
    if dim.__class__ is bool and unbiased is not ...:
        raise TypeError(f"{name}(): argument 'dim' must be int or tuple of ints, not bool")
    if dim.__class__ is bool:
        dim, unbiased = ..., dim
    if unbiased is not ...:
        check_dim(name, dim, keepdim)
        if correction is not None:
            raise TypeError(f"{name}(): takes 'unbiased' or 'correction', got both")
        correction = int(unbiased)
    correction = 1 if correction is None else correction
    axis = axis_of(name, dim, input._array.ndim)
    if terms(input._array.shape, axis) <= correction:
        warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the "
            "reduction factor (input numel divided by output numel)."
        )
    return axis, correction


def _needs_dim_of_flag(name: str) -> Callable:
    """The check that ``out=`` comes with a dimension where ``unbiased`` is given."""

    def check(out: Any, arguments: tuple, options: dict) -> None:
        first = arguments[1] if len(arguments) > 1 else None
        by_name = "unbiased" in options and first is options.get("dim") is None
        if isinstance(first, bool) or by_name:
            raise TypeError(f"{name}(): argument 'out' goes with 'dim' where 'unbiased' is given")

    return check


def _out_of_variance(name: str) -> Out:
    """The ``out=`` of variances: those of complex numbers are a sum of two variances, as in
    torch."""
    return Out(
        prepare=_needs_dim_of_flag(name),
        checks_first=lambda arguments: arguments[0].is_complex(),
        overload=lambda arguments: "add" if arguments[0].is_complex() else name,
    )


@public(out=_out_of_variance("var"))
def var(
    input: Tensor,
    dim: int | tuple | bool | None = ...,  # pyright: ignore[reportArgumentType]
    unbiased: bool = ...,  # pyright: ignore[reportArgumentType]
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Tensor:
    """The variance of all elements, or along dimensions:
    ``sum((x - mean)**2) / (n - correction)``.

    Args:
        dim: an int or a tuple of ints; a bool here is ``unbiased``.
        unbiased: True for ``correction=1`` (which is the default), False for ``correction=0``.

    Raises:
        RuntimeError: the dtype is neither floating point nor complex.
        TypeError: both ``unbiased`` and ``correction`` are given.

    Example:
        >>> import nnkit
        >>> nnkit.tensor([1.0, 2.0, 3.0]).var()
        tensor(1.)
    """
    axis, correction = _spread("var", input, dim, unbiased, keepdim, correction)
    return _var(input, axis, correction, keepdim)


@public(out=_out_of_variance("std"))
def std(
    input: Tensor,
    dim: int | tuple | bool | None = ...,  # pyright: ignore[reportArgumentType]
    unbiased: bool = ...,  # pyright: ignore[reportArgumentType]
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Tensor:
    """The standard deviation, the square root of `var`. Its gradient is 0 where it is 0.

    Example:
        >>> import nnkit
        >>> nnkit.std(nnkit.tensor([1.0, 2.0, 3.0]))
        tensor(1.)
    """
    axis, correction = _spread("std", input, dim, unbiased, keepdim, correction)
    return _std(input, axis, correction, keepdim)


@public(method=False)
def var_mean(
    input: Tensor,
    dim: int | tuple | bool | None = ...,  # pyright: ignore[reportArgumentType]
    unbiased: bool = ...,  # pyright: ignore[reportArgumentType]
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]:
    """`var` and `mean` in one pass.

    Example:
        >>> import nnkit
        >>> nnkit.var_mean(nnkit.tensor([1.0, 2.0, 3.0]))
        (tensor(1.), tensor(2.))
    """
    axis, correction = _spread("var_mean", input, dim, unbiased, keepdim, correction)
    return _var_mean(input, axis, correction, keepdim)


@public(method=False)
def std_mean(
    input: Tensor,
    dim: int | tuple | bool | None = ...,  # pyright: ignore[reportArgumentType]
    unbiased: bool = ...,  # pyright: ignore[reportArgumentType]
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]:
    """`std` and `mean`.

    Example:
        >>> import nnkit
        >>> nnkit.std_mean(nnkit.tensor([1.0, 2.0, 3.0]))
        (tensor(1.), tensor(2.))
    """
    axis, correction = _spread("std_mean", input, dim, unbiased, keepdim, correction)
    mean = _mean_beside(input, axis, keepdim)  # before, so that its gradient is added after
    return _std_beside(input, axis, correction, keepdim), mean


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
