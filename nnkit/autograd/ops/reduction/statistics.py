"""Covariances, and integrals of samples by the trapezoidal rule."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.arguments.dims import check_tensor, normalize_dim, size_at
from nnkit.autograd.op.public import public
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.ops.creation.conversion import converted
from nnkit.autograd.ops.creation.factories import complex_
from nnkit.autograd.ops.elementwise.arithmetic import scaled
from nnkit.autograd.ops.linalg.products import matmul
from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import BOOL, FLOATING, INTEGER, to_float
from nnkit.backend.warning import warn


@public
def cov(
    input: Tensor,
    *,
    correction: int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    """The covariances of variables (rows) over observations (columns).

    Args:
        input: (variables, observations), or the observations of one variable.
        correction: what is subtracted from the number of observations.
        fweights: how often each observation counts, integers.
        aweights: how much each observation weighs, floating point.

    Returns:
        (variables, variables), or a 0-dim tensor for one variable.

    Raises:
        RuntimeError: ``input`` has more than two dimensions, or weights of a wrong dtype or length,
            or negative ones.

    Example:
        >>> import nnkit
        >>> nnkit.cov(nnkit.tensor([[0.0, 2.0], [1.0, 5.0]]))
        tensor([[2., 4.],
                [4., 8.]])
    """
    check_tensor("cov", input)
    if input.ndim > 2:
        raise RuntimeError(
            "cov(): expected input to have two or fewer dimensions but got an input with "
            f"{input.ndim} dimensions"
        )
    if input.dtype.category == BOOL:
        raise RuntimeError("cov(): not implemented for 'bool' tensors")
    x = converted(input, to_float(input.dtype))
    x = x.reshape(1, -1) if x.ndim < 2 else x
    count = x._array.shape[1]
    weights: Any = None
    for name, given, floating in (("fweights", fweights, False), ("aweights", aweights, True)):
        if given is None:
            continue
        if given.dtype.category != (FLOATING if floating else INTEGER):
            raise RuntimeError(
                f"cov(): expected {name} to have {'floating point' if floating else 'integral'} "
                f"dtype but got {given.dtype.name}"
            )
        if given.ndim > 1:
            raise RuntimeError(
                f"cov(): expected {name} to have one or fewer dimensions but got {given.ndim}"
            )
        if given.numel() != count:
            raise RuntimeError(
                f"cov(): expected {name} to have the same numel as there are observations in the "
                f"input but got {given.numel()} != {count}"
            )
        if (given < 0).any():
            raise RuntimeError(f"cov(): {name} cannot be negative")
        weights = given if weights is None else weights * given
    if weights is None:
        whole = count > 0 and input.dtype.category == INTEGER  # which are summed up as such
        mean = input.reshape(x.shape).sum(1, True) / count if whole else OPS["mean"](x, (1,), True)
        total, deviation = count, x - mean
        weighted = deviation
    else:
        total = weights.sum()
        deviation = x - (x * weights).sum(1, True) / total
        weighted = deviation * weights
    if aweights is not None and correction:
        repeated = aweights if fweights is None else aweights * aweights * fweights
        spread = (weights * aweights).sum() if fweights is None else repeated.sum()
        freedom = total - correction * spread / total
    else:
        freedom = total - correction
    if freedom <= 0:
        warn(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number "
            "of observations."
        )
    freedom = freedom.clamp(min=0) if isinstance(freedom, Tensor) else max(freedom, 0)
    product = matmul(weighted, deviation.mH) / freedom
    return product.squeeze()


@public
def corrcoef(input: Tensor) -> Tensor:
    """The correlation coefficients of variables (rows): `cov` over the standard deviations.

    Example:
        >>> import nnkit
        >>> nnkit.corrcoef(nnkit.tensor([[0.0, 2.0], [1.0, -5.0]]))
        tensor([[ 1., -1.],
                [-1.,  1.]])
    """
    c = cov(input)
    if not c.ndim:
        return c / c
    size = c.diagonal().real.sqrt() if c.is_complex() else c.diagonal().sqrt()
    c = c / size.unsqueeze(1) / size.unsqueeze(0)
    if c.is_complex():
        return complex_(c.real.clamp(-1, 1), c.imag.clamp(-1, 1))
    return c.clamp(-1, 1)


def _check_areas(name: str, y: Tensor, x: Any, dx: Any) -> None:
    check_tensor(name, y, "y")
    if x is not ... and dx is not ...:
        raise TypeError(
            f"{name}() received an invalid combination of arguments: takes 'x' or 'dx', got both"
        )
    for each in (y, x):
        if each is not ... and each.dtype.category == BOOL:
            raise RuntimeError(f"{name}(): not implemented for 'bool' tensors")
    if isinstance(dx, complex):
        raise RuntimeError(f"{name}: Currently, we only support dx as a real number, got {dx}")


def _weighted(name: str, y: Tensor, x: Tensor, axis: int) -> Tensor:
    """The sums of two samples side by side, times how far they lie apart."""
    count = size_at(name, y, axis, "y")
    if x.ndim == 1 and x._array.shape[0] != count:
        raise RuntimeError(
            f"{name}: There must be one `x` value for each sample point, got {x._array.shape[0]} "
            f"for {count}"
        )
    after = y.ndim - axis - 1 if x.ndim == 1 else 0
    before = max(y.ndim - x.ndim - after, 0)
    x = x.reshape((1,) * before + tuple(x.shape) + (1,) * after)
    axis_x = normalize_dim(axis, x.ndim, name)
    return _neighbours(y, axis) * x.diff(dim=axis_x)


def _neighbours(y: Tensor, axis: int) -> Tensor:
    """The sums of two samples side by side."""
    rest = max(y._array.shape[axis] - 1, 0)
    return y.narrow(axis, y._array.shape[axis] - rest, rest) + y.narrow(axis, 0, rest)


@public(method=False, aliases=("trapz",))
def trapezoid(
    y: Tensor,
    x: Tensor = ...,  # pyright: ignore[reportArgumentType]
    *,
    dx: complex = ...,  # pyright: ignore[reportArgumentType]
    dim: int = -1,
) -> Tensor:
    """The integral of samples along ``dim`` by the trapezoidal rule.

    Args:
        x: where the samples are, in one dimension or with the shape of ``y``; else they are ``dx``
            apart.

    Raises:
        RuntimeError: ``x`` has not as many values as there are samples.

    Example:
        >>> import nnkit
        >>> nnkit.trapezoid(nnkit.tensor([1.0, 2.0, 4.0]))
        tensor(4.5000)
    """
    check_tensor("trapezoid", y, "y")
    axis = normalize_dim(dim, y.ndim, "trapezoid")
    if not size_at("trapezoid", y, axis, "y"):
        return y.new_zeros([n for d, n in enumerate(y.shape) if d != axis])
    _check_areas("trapezoid", y, x, dx)
    if x is ...:
        ends = y.select(axis, 0) + y.select(axis, -1)
        return scaled(y.sum(axis) - scaled(ends, 0.5), 1 if dx is ... else dx)
    return _weighted("trapezoid", y, x, axis).sum(axis) / 2


@public(method=False)
def cumulative_trapezoid(
    y: Tensor,
    x: Tensor = ...,  # pyright: ignore[reportArgumentType]
    *,
    dx: complex = ...,  # pyright: ignore[reportArgumentType]
    dim: int = -1,
) -> Tensor:
    """The integrals up to each sample but the first; see `trapezoid`.

    Example:
        >>> import nnkit
        >>> nnkit.cumulative_trapezoid(nnkit.tensor([1.0, 2.0, 3.0]))
        tensor([1.5000, 4.0000])
    """
    if x is ...:
        _check_areas("cumulative_trapezoid", y, x, dx)
        axis = normalize_dim(dim, y.ndim, "cumulative_trapezoid")
        return scaled(_neighbours(y, axis), (1 if dx is ... else dx) / 2).cumsum(axis)
    axis = normalize_dim(dim, y.ndim, "cumulative_trapezoid")
    _check_areas("cumulative_trapezoid", y, x, dx)
    return _weighted("cumulative_trapezoid", y, x, axis).cumsum(axis) / 2
