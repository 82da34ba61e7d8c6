"""Variances and standard deviations along dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from nnkit.autograd.arguments.dims import check_tensor
from nnkit.autograd.op.out import Out
from nnkit.autograd.op.public import public
from nnkit.autograd.op.registry import LIFTED, OPS
from nnkit.autograd.op.rule import rule
from nnkit.autograd.ops.reduction.sums import axis_of, check_dim, grad_mean, sum_of_given
from nnkit.autograd.tensor import Tensor
from nnkit.backend.axes import terms
from nnkit.backend.dtype import FLOATING
from nnkit.backend.warning import warn


def _times_deviations(
    B: Any, g: Any, x: Any, axis: Any, correction: float, expanded: Callable
) -> Any:
    """``2 g (x - mean) / (n - correction)``, where ``expanded`` brings ``g`` to the shape of
    ``x``."""
    freedom = terms(tuple(x.shape), axis) - correction
    mean = B.mean(x, axis, True)
    if freedom <= 0 and (axis is None or not len(x.shape)):
        spread = expanded(g)
        out = B.where(B.eq(x, mean), B.mul(spread, math.nan), B.mul(spread, math.inf))
        return B.add(out, B.zeros_like(x))  # which may be complex
    scaled = B.mul(g, 2 / freedom if freedom else math.inf)
    return B.mul(expanded(scaled), B.sub(x, mean))


def _grad_var(B: Any, g: Any, x: Any, axis: Any, correction: float, keepdims: bool) -> Any:
    shape = tuple(x.shape)
    return _times_deviations(
        B, g, x, axis, correction, lambda g: B.expand_reduced(g, shape, axis, keepdims)
    )


def _along_var(primals: tuple, tangents: list, statics: tuple, outputs: tuple) -> Tensor:
    """The tangent of a variance, as torch sums it: the elements' shares, one by one."""
    axis, correction, keepdims = statics
    conjugate = LIFTED.conj(tangents[0])
    shares = _times_deviations(LIFTED, conjugate, primals[0], axis, correction, lambda g: g)
    return OPS["real"](LIFTED.sum(shares, axis, keepdims))


def _grad_var_mean(
    B: Any, g_var: Any, g_mean: Any, x: Any, axis: Any, correction: float, keepdims: bool
) -> Any:
    of_var = None if g_var is None else _grad_var(B, g_var, x, axis, correction, keepdims)
    of_mean = None if g_mean is None else grad_mean(B, g_mean, tuple(x.shape), axis, keepdims)
    return sum_of_given(B, of_var, of_mean)


def _ratio(B: Any, g: Any, divisor: Any) -> Any:
    """``g / divisor``, and 0 where the divisor is 0, with a derivative that is NaN, as torch's."""
    return B.where(B.eq(divisor, 0), B.zeros_like(g), B.div(g, divisor))


def _grad_std(
    B: Any, g: Any, x: Any, out: Any, axis: Any, correction: float, keepdims: bool
) -> Any:
    return _grad_var(B, B.mul(_ratio(B, g, out), 0.5), x, axis, correction, keepdims)


def _grad_std_mean(
    B: Any, g_std: Any, g_mean: Any, x: Any, std: Any, axis: Any, correction: float, keepdims: bool
) -> Any:
    of_std = None if g_std is None else _grad_std(B, g_std, x, std, axis, correction, keepdims)
    of_mean = None if g_mean is None else grad_mean(B, g_mean, tuple(x.shape), axis, keepdims)
    return sum_of_given(B, of_std, of_mean)


def _along_std(primals: tuple, tangents: list, statics: tuple, outputs: tuple) -> Tensor:
    """The tangent of a standard deviation: 0 where that is 0, whatever the elements do."""
    of_var = _along_var(primals, tangents, statics, outputs)
    return _ratio(LIFTED, of_var, LIFTED.mul(outputs[0], 2.0))


def _with_mean(along: Callable) -> Callable:
    """The tangents of what ``along`` is for, and of the mean."""

    def of_both(primals: tuple, tangents: list, statics: tuple, outputs: tuple) -> tuple:
        axis, _, keepdims = statics
        return along(primals, tangents, statics, outputs), LIFTED.mean(tangents[0], axis, keepdims)

    return of_both


def _mean_of_all(x: Any, axis: Any, correction: float, keepdims: bool) -> str | None:
    """``alone`` of variances: torch computes a single one by `mean`, which refuses it."""
    shape = x._array.shape
    count = 1 if axis is None else math.prod(shape) // max(terms(shape, axis), 1)
    double = x.dtype.itemsize > 2 and x.is_floating_point()
    return "refused" if count == 1 and x._array.size and double else None


_var = rule("var", alone=_mean_of_all, along=_along_var, x=_grad_var)
_std = rule("std", alone=_mean_of_all, along=_along_std, x=_grad_std)
_var_mean = rule("var_mean", materializes=False, along=_with_mean(_along_var), x=_grad_var_mean)
_std_mean = rule("std_mean", materializes=False, along=_with_mean(_along_std), x=_grad_std_mean)


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
    return _std_mean(input, axis, correction, keepdim)
