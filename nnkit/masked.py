"""Reductions and normalizations of the elements that a mask lets through, as in ``torch.masked``.

Every function takes a ``mask``: True where an element counts. It is broadcast to the shape of the
input, of which it may not have more dimensions. What is masked out counts as the operation's
identity: 0 in a sum, 1 in a product, the lowest number of the dtype in a maximum. ``dim`` may be a
number or several, None or () for all; ``dtype`` is that of the result.

All raise IndexError for a mask of too many dimensions or a ``dim`` out of range, RuntimeError for a
mask that does not broadcast or a ``dim`` that is given twice, and where a dtype has no identity
NotImplementedError (bool in a maximum) or TypeError (complex). Tensors are taken, and no
``MaskedTensor``. `sum`, `prod`, `amax` and `amin` take sparse tensors of coordinates and of
compressed rows too, `mean` the latter; the others raise ValueError. A mask may have any of these
layouts; all but `sum` need one then.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

import nnkit
from nnkit import masked_sparse as sparse
from nnkit.autograd import Tensor
from nnkit.nn import functional as F

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp",
    "logsumexp", "mean", "median", "norm", "normalize", "prod", "softmax", "softmin", "std", "sum",
    "var",
]  # fmt: skip

Dims = int | Sequence[int] | None


def _mask_of(input: Tensor, mask: Tensor) -> Tensor:
    """The mask in the shape and the layout of the input, as booleans."""
    if mask.ndim > input.ndim:
        raise IndexError(
            f"masked: expected a mask of at most the input's {input.ndim} dimensions, "
            f"got {mask.ndim}"
        )
    return sparse.mask_of(input, mask)


def _filled(input: Tensor, mask: Tensor | None, identity: Any) -> Tensor:
    """The input with an identity where it is masked out."""
    if mask is None:
        return input
    fill = sparse.identity(input, identity)
    mask = _mask_of(input, mask)
    if input.layout is nnkit.strided:
        return nnkit.where(mask, input, fill)
    return sparse.filled(input, mask, fill)


def _strided(name: str, filled: Tensor) -> Tensor:
    """``filled``, for a function that is not defined for sparse tensors; ValueError if it is
    one."""
    if filled.layout is not nnkit.strided:
        raise ValueError(f"masked {name} expects strided tensor (got {filled.layout} tensor)")
    return filled


def _reduced_sparse(
    name: str, filled: Tensor, mask: Tensor | None, dims: tuple[int, ...], keepdim: Any, dtype: Any
) -> Tensor:
    """A reduction of a sparse tensor, of which just what is let through is stored."""
    if filled.layout not in sparse.LAYOUTS:
        raise ValueError(
            f"masked {name} expects strided, sparse_coo or sparse_csr tensor (got {filled.layout} "
            "tensor)"
        )
    if mask is None and name != "sum":
        layout = str(filled.layout).partition(".")[2]
        raise ValueError(f"masked {name} expects explicit mask for {layout} tensor input")
    return sparse.reduced(name, filled, dims, builtins.bool(keepdim), dtype)


def _canonical_dim(dim: Any, ndim: int) -> tuple[int, ...]:
    """The dimensions to reduce, in their order."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    ndim = max(ndim, 1)
    found: list[int] = []
    for d in (dim,) if isinstance(dim, int) else dim:
        if not -ndim <= d < ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], "
                f"but got {d})"
            )
        if d in found:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        found.append(d)
    return tuple(sorted(d % ndim for d in found))


def _dtype_of_total(input: Tensor, dtype: Any) -> Any:
    """The dtype of a sum or product: small integers become int64."""
    if dtype is not None:
        return dtype
    small = (nnkit.uint8, nnkit.bool, nnkit.int8, nnkit.int16, nnkit.int32)
    return nnkit.int64 if input.dtype in small else input.dtype


def sum(
    input: Tensor, dim: Dims = None, *, keepdim: bool | None = False, dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The sum of what the mask lets through.

    Example:
        >>> import nnkit
        >>> x, mask = nnkit.tensor([[1.0, 2.0], [3.0, 4.0]]), nnkit.tensor([True, False])
        >>> nnkit.masked.sum(x, 1, mask=mask)
        tensor([1., 3.])
    """
    dims = _canonical_dim(dim, input.ndim)
    kept = builtins.bool(keepdim)
    dtype = _dtype_of_total(input, dtype)
    filled = _filled(input, mask, 0)
    if filled.layout is not nnkit.strided:
        return _reduced_sparse("sum", filled, mask, dims, keepdim, dtype)
    return nnkit.sum(filled, dims, kept, dtype=dtype)


def prod(
    input: Tensor, dim: Dims = None, *, keepdim: bool | None = False, dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The product of what the mask lets through.

    Example:
        >>> import nnkit
        >>> nnkit.masked.prod(nnkit.tensor([2.0, 0.0, 3.0]), mask=nnkit.tensor([True, False, True]))
        tensor(6.)
    """
    dims, dtype = _canonical_dim(dim, input.ndim), _dtype_of_total(input, dtype)
    filled = _filled(input, mask, 1)
    if filled.layout is not nnkit.strided:
        return _reduced_sparse("prod", filled, mask, dims, keepdim, dtype)
    result = filled.to(dtype)
    for d in reversed(dims):
        result = result.prod(dim=d, keepdim=builtins.bool(keepdim))
    return result


def cumsum(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The running sums, to which what is masked out adds nothing.

    Example:
        >>> import nnkit
        >>> mask = nnkit.tensor([True, False, True])
        >>> nnkit.masked.cumsum(nnkit.tensor([1.0, 2.0, 3.0]), 0, mask=mask)
        tensor([1., 1., 4.])
    """
    dtype = dtype or input.dtype
    (axis,) = _canonical_dim(dim, input.ndim)
    return nnkit.cumsum(_strided("cumsum", _filled(input, mask, 0)), axis, dtype=dtype).to(dtype)


def cumprod(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The running products, which what is masked out leaves as they are.

    Example:
        >>> import nnkit
        >>> mask = nnkit.tensor([True, False, True])
        >>> nnkit.masked.cumprod(nnkit.tensor([1.0, 2.0, 3.0]), 0, mask=mask)
        tensor([1., 1., 3.])
    """
    dtype = dtype or input.dtype
    (axis,) = _canonical_dim(dim, input.ndim)
    return nnkit.cumprod(_strided("cumprod", _filled(input, mask, 1)), axis, dtype=dtype).to(dtype)


def amax(
    input: Tensor, dim: Dims = None, *, keepdim: bool | None = False, dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The highest of what the mask lets through.

    Example:
        >>> import nnkit
        >>> nnkit.masked.amax(nnkit.tensor([1.0, 5.0]), mask=nnkit.tensor([True, False]))
        tensor(1.)
    """
    filled = _filled(input, mask, -math.inf)
    dims = _canonical_dim(dim, input.ndim)
    if filled.layout is not nnkit.strided:
        return _reduced_sparse("amax", filled, mask, dims, keepdim, dtype)
    return nnkit.amax(filled, dims, builtins.bool(keepdim)).to(dtype or input.dtype)


def amin(
    input: Tensor, dim: Dims = None, *, keepdim: bool | None = False, dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The lowest of what the mask lets through.

    Example:
        >>> import nnkit
        >>> nnkit.masked.amin(nnkit.tensor([1.0, 5.0]), mask=nnkit.tensor([False, True]))
        tensor(5.)
    """
    filled = _filled(input, mask, math.inf)
    dims = _canonical_dim(dim, input.ndim)
    if filled.layout is not nnkit.strided:
        return _reduced_sparse("amin", filled, mask, dims, keepdim, dtype)
    return nnkit.amin(filled, dims, builtins.bool(keepdim)).to(dtype or input.dtype)


def argmax(
    input: Tensor, dim: int | None = None, *, keepdim: bool | None = False, dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The place of the highest of what the mask lets through, as in torch in the input's dtype.

    Example:
        >>> import nnkit
        >>> nnkit.masked.argmax(nnkit.tensor([3, 1, 2]), mask=nnkit.tensor([False, True, True]))
        tensor(2)
    """
    filled = _strided("argmax", _filled(input, mask, -math.inf))
    return nnkit.argmax(filled, dim, builtins.bool(keepdim)).to(dtype or input.dtype)


def argmin(
    input: Tensor, dim: int | None = None, *, keepdim: bool | None = False, dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The place of the lowest of what the mask lets through, as in torch in the input's dtype.

    Example:
        >>> import nnkit
        >>> nnkit.masked.argmin(nnkit.tensor([3, 1, 2]), mask=nnkit.tensor([True, False, True]))
        tensor(2)
    """
    filled = _strided("argmin", _filled(input, mask, math.inf))
    return nnkit.argmin(filled, dim, builtins.bool(keepdim)).to(dtype or input.dtype)


def _count(input: Tensor, mask: Tensor | None, dim: Dims, keepdim: bool) -> Tensor:
    """The number of elements that count."""
    if mask is None:
        mask = nnkit.ones(input.shape, dtype=nnkit.bool, device=input.device)
    return nnkit.sum(_mask_of(input, mask), _canonical_dim(dim, input.ndim), keepdim)


def mean(
    input: Tensor, dim: Dims = None, *, keepdim: bool | None = False, dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The mean of what the mask lets through; NaN where that is nothing.

    Raises:
        ValueError: the result's dtype would be neither floating nor complex.

    Example:
        >>> import nnkit
        >>> nnkit.masked.mean(nnkit.tensor([1.0, 5.0, 3.0]), mask=nnkit.tensor([True, False, True]))
        tensor(2.)
    """
    dtype = dtype or input.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(f"mean(): the dtype must be a floating point or complex one, got {dtype}")
    if input.layout is nnkit.sparse_csr:
        filled, dims = _filled(input, mask, 0), _canonical_dim(dim, input.ndim)
        return _reduced_sparse("mean", filled, mask, dims, keepdim, dtype)
    if input.layout is not nnkit.strided:
        raise ValueError(
            f"masked mean expects strided or sparse_csr tensor (got {input.layout} tensor)"
        )
    total = sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask)
    return total / _count(input, mask, dim, builtins.bool(keepdim))


def median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The median of what the mask lets through, the lower of two; NaN where that is nothing.

    Raises:
        ValueError: nothing is let through, and the dtype is not a floating one.

    Example:
        >>> import nnkit
        >>> x, mask = nnkit.tensor([1.0, 9.0, 2.0, 3.0]), nnkit.tensor([True, False, True, True])
        >>> nnkit.masked.median(x, mask=mask)
        tensor(2.)
    """
    (axis,) = _canonical_dim(dim, input.ndim)
    floating = input.is_floating_point()
    filled = _filled(input if floating else input.to(nnkit.float32), mask, math.nan)
    filled = _strided("median", filled)
    output = nnkit.nanmedian(filled, axis, keepdim).values
    if floating:
        return output
    if nnkit.isnan(output).any():
        raise ValueError(
            f"masked median expects no fully masked out rows if dtype is not floating point, "
            f"got {input.dtype}"
        )
    return output.to(dtype or input.dtype)


def logsumexp(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """``log(sum(exp(x)))`` of what the mask lets through.

    Example:
        >>> import nnkit
        >>> nnkit.masked.logsumexp(nnkit.tensor([1.0, 5.0]), mask=nnkit.tensor([True, False]))
        tensor(1.)
    """
    dims = _canonical_dim(dim, input.ndim)
    if mask is not None and input.is_complex():
        lowest = nnkit.tensor(-math.inf, dtype=input.dtype, device=input.device)
        filled = nnkit.where(_mask_of(input, mask), input, lowest)
    else:
        filled = _filled(input, mask, -math.inf)
    return nnkit.logsumexp(_strided("logsumexp", filled), dims, keepdim=keepdim).to(
        dtype or input.dtype
    )


def logaddexp(
    input: Tensor, other: Tensor, *, dtype: Any = None, input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """``log(exp(input) + exp(other))``, without what the mask of each leaves out.

    Example:
        >>> import nnkit
        >>> x, y = nnkit.tensor([1.0, 2.0]), nnkit.tensor([3.0, 4.0])
        >>> nnkit.masked.logaddexp(x, y, other_mask=nnkit.tensor([False, False]))
        tensor([1., 2.])
    """
    first, second = _filled(input, input_mask, -math.inf), _filled(other, other_mask, -math.inf)
    first, second = _strided("logaddexp", first), _strided("logaddexp", second)
    return nnkit.logaddexp(first, second).to(dtype or input.dtype)


def norm(
    input: Tensor, ord: Any = 2.0, dim: Dims = None, *, keepdim: bool | None = False,
    dtype: Any = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The norm of order ``ord`` of what the mask lets through.

    Raises:
        AssertionError: the order is -inf, and the dtype is not a floating one.

    Example:
        >>> import nnkit
        >>> nnkit.masked.norm(nnkit.tensor([3.0, 4.0, 9.0]), mask=nnkit.tensor([True, True, False]))
        tensor(5.)
    """
    least = ord == -math.inf
    if least and mask is not None and not input.is_floating_point():
        raise AssertionError(f"norm(): ord=-inf needs a floating dtype, got {input.dtype}")
    filled = _strided("norm", _filled(input, mask, math.inf if least else 0))
    dims = _canonical_dim(dim, input.ndim)
    kept = builtins.bool(keepdim)
    return nnkit.linalg.vector_norm(filled, ord, dims, kept, dtype=dtype or input.dtype)


def var(
    input: Tensor, dim: Dims = None, unbiased: bool | None = None, *,
    correction: float | None = None, keepdim: bool | None = False, dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The variance of what the mask lets through: the sum of squared distances from the mean,
    divided by their number less ``correction`` (1; 0 where ``unbiased`` is False).

    Raises:
        AssertionError: both ``unbiased`` and ``correction`` are given.

    Example:
        >>> import nnkit
        >>> nnkit.masked.var(nnkit.tensor([1.0, 5.0, 3.0]), mask=nnkit.tensor([True, False, True]))
        tensor(2.)
    """
    if unbiased is not None and correction is not None:
        raise AssertionError("var(): only one of unbiased and correction may be given")
    if correction is None:
        correction = 0.0 if unbiased is False else 1.0
    exact = input.dtype.is_floating_point or input.dtype.is_complex
    dtype = dtype or (input.dtype if exact else nnkit.float32)
    computed = dtype if dtype.is_floating_point or dtype.is_complex else nnkit.float32
    _strided("std/var", input)
    count = _count(input, mask, dim, True)
    center = sum(input, dim, keepdim=True, dtype=dtype, mask=mask) / count
    x = input - center
    total = sum(x * x.conj(), dim, keepdim=keepdim, dtype=computed, mask=mask)
    count = count.reshape(total.shape)
    if correction:
        count = count.to(total.real.dtype if computed.is_complex else computed) - correction
        count = nnkit.maximum(count, count.new_zeros([]))
    return (total / count).to(dtype)


def std(
    input: Tensor, dim: Dims = None, unbiased: bool | None = None, *,
    correction: int | None = None, keepdim: bool | None = False, dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The standard deviation, the square root of `var`.

    Example:
        >>> import nnkit
        >>> nnkit.masked.std(nnkit.tensor([1.0, 9.0, 5.0]), mask=nnkit.tensor([True, False, True]))
        tensor(2.8284)
    """
    options = {"correction": correction, "keepdim": keepdim, "dtype": dtype, "mask": mask}
    return nnkit.sqrt(var(input, dim, unbiased, **options))


def softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The softmax of what the mask lets through, 0 elsewhere; NaN where that is nothing.

    Example:
        >>> import nnkit
        >>> mask = nnkit.tensor([True, True, False])
        >>> nnkit.masked.softmax(nnkit.tensor([1.0, 1.0, 5.0]), 0, mask=mask)
        tensor([0.5000, 0.5000, 0.0000])
    """
    (axis,) = _canonical_dim(dim, input.ndim)
    return F.softmax(
        _strided("softmax", _filled(input, mask, -math.inf)), axis, dtype=dtype or input.dtype
    )


def log_softmax(
    input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The logarithm of `softmax`.

    Example:
        >>> import nnkit
        >>> mask = nnkit.tensor([True, True, False])
        >>> nnkit.masked.log_softmax(nnkit.tensor([1.0, 1.0, 5.0]), 0, mask=mask)
        tensor([-0.6931, -0.6931,    -inf])
    """
    (axis,) = _canonical_dim(dim, input.ndim)
    return F.log_softmax(
        _strided("log_softmax", _filled(input, mask, -math.inf)), axis, dtype=dtype or input.dtype
    )


def softmin(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The softmax of the negated input.

    Example:
        >>> import nnkit
        >>> mask = nnkit.tensor([True, True, False])
        >>> nnkit.masked.softmin(nnkit.tensor([1.0, 1.0, 5.0]), 0, mask=mask)
        tensor([0.5000, 0.5000, 0.0000])
    """
    (axis,) = _canonical_dim(dim, input.ndim)
    return F.softmin(
        _strided("softmin", _filled(input, mask, math.inf)), axis, dtype=dtype or input.dtype
    )


def normalize(
    input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """What the mask lets through, divided by its norm of order ``ord``, or by ``eps`` if that is
    greater; 0 elsewhere.

    Example:
        >>> import nnkit
        >>> mask = nnkit.tensor([True, True, False])
        >>> nnkit.masked.normalize(nnkit.tensor([3.0, 4.0, 9.0]), 2.0, 0, mask=mask)
        tensor([0.6000, 0.8000, 0.0000])
    """
    _strided("normalize", input)
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _filled(input, mask, 0) / nnkit.maximum(length, length.new_full([], eps))
