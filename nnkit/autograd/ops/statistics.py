"""Covariances, and integrals of samples by the trapezoidal rule."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.dims import check_tensor, normalize_dim
from nnkit.autograd.op import OPS
from nnkit.autograd.ops.arithmetic import scaled
from nnkit.autograd.ops.conversion import converted
from nnkit.autograd.ops.creation import complex_
from nnkit.autograd.ops.linalg import matmul
from nnkit.autograd.public import public
from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import BOOL, FLOATING, INTEGER, to_float


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
    count = x._data.shape[1]
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
        total, deviation = count, x - OPS["mean"](x, (1,), True)
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


def _areas(name: str, y: Tensor, x: Any, dx: Any, dim: int) -> tuple[Tensor, int, float]:
    """The areas between neighbouring samples, and their dimension."""
    check_tensor(name, y, "y")
    axis = normalize_dim(dim, y.ndim, name)
    count = y._data.shape[axis]
    if isinstance(dx, complex):
        raise RuntimeError(f"{name}(): argument 'dx' must be a real number, got {dx}")
    if count == 0 and (x is ... or name == "trapezoid"):
        return y, axis, 1
    for each in (y, x):
        if each is not ... and each.dtype.category == BOOL:
            raise RuntimeError(f"{name}(): not implemented for 'bool' tensors")
    if x is ...:
        return _neighbours(y, axis), axis, (1 if dx is ... else dx) / 2
    if dx is not ...:
        raise TypeError(f"{name}(): takes 'x' or 'dx', got both")
    if not x.ndim:  # as in torch no sample point lies between two
        raise RuntimeError(f"{name}(): argument 'x' must have a dimension, got shape []")
    if x._data.shape[-1] != count:
        raise RuntimeError(
            f"{name}(): there must be one `x` value for each sample point, got {x._data.shape[-1]} "
            f"for {count}"
        )
    if 1 < x.ndim < y.ndim:
        x = x.reshape((1,) * (y.ndim - x.ndim) + tuple(x.shape))
    width = x.diff(dim=-1) if x.ndim == 1 else x.diff(dim=axis)
    if x.ndim == 1:
        width = width.reshape(-1, *[1] * (y.ndim - axis - 1))
    return _neighbours(y, axis) * width, axis, 0.5


def _neighbours(y: Tensor, axis: int) -> Tensor:
    """The sums of two samples side by side."""
    rest = max(y._data.shape[axis] - 1, 0)
    return y.narrow(axis, y._data.shape[axis] - rest, rest) + y.narrow(axis, 0, rest)


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
    areas, axis, factor = _areas("trapezoid", y, x, dx, dim)
    if areas is y:  # there are no samples
        return areas.sum(axis, dtype=y.dtype)
    if x is ...:
        ends = y.select(axis, 0) + y.select(axis, -1)
        return scaled(y.sum(axis) - scaled(ends, 0.5), 1 if dx is ... else dx)
    return scaled(areas.sum(axis), factor)


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
    areas, axis, factor = _areas("cumulative_trapezoid", y, x, dx, dim)
    return scaled(areas.cumsum(axis), factor)
