"""Solutions and inverses that are made of other decompositions."""

from __future__ import annotations

from nnkit.backend.dtype import OF_ARRAY, int32, int64
from nnkit.backend.errors import LinAlgError


def inverse(B, x):
    n = x.shape[-1]
    return B.solve(x, B.expand(B.eye(n, n, x.dtype), x.shape))


def adjugate(B, x):
    """The transposed matrix of cofactors: ``det(x) inverse(x)`` where x has an inverse."""
    u, s, vh = B.svd(x, False)
    n = s.shape[-1]
    # For each singular value the product of all others.
    diagonal = B.eq(B.eye(n, n, s.dtype), 1)
    others = B.prod(B.where(diagonal, B.ones_like(s), B.unsqueeze(s, -2)), -1, False)
    phase = B.unsqueeze(B.unsqueeze(B.mul(B.det(u), B.det(vh)), -1), -1)
    return B.mul(phase, B.matmul(B.mul(B.mH(vh), B.unsqueeze(others, -2)), B.mH(u)))


def solve_triangular(B, x, y, upper, unitriangular):
    """Substitution, a row at a time for the whole batch."""
    n = x.shape[-1]
    rows = [None] * n
    for i in reversed(range(n)) if upper else range(n):
        row = B.getitem(y, (..., i, slice(None)))
        for k in range(i + 1, n) if upper else range(i):
            factor = B.unsqueeze(B.getitem(x, (..., i, k)), -1)
            row = B.sub(row, B.mul(factor, rows[k]))
        if not unitriangular:
            row = B.div(row, B.unsqueeze(B.getitem(x, (..., i, i)), -1))
        rows[i] = row
    shape = B.matmul(x, y).shape
    return B.stack([B.expand(row, (*shape[:-2], shape[-1])) for row in rows], -2)


def cholesky_solve(B, x, y, upper):
    """The solution of ``y y* out = x`` for a triangular y (``y* y`` with ``upper``)."""
    lower = B.mH(y) if upper else y
    return B.solve_triangular(B.mH(lower), B.solve_triangular(lower, x, False, False), True, False)


def svdvals(B, x):
    return B.svd(x, False)[1]


def eigvalsh(B, x, uplo):
    return B.eigh(x, uplo)[0]


def eigvals(B, x):
    return B.eig(x)[0]


def pinv(B, x, atol, rtol, hermitian):
    """The Moore-Penrose inverse, from what exceeds ``max(atol, rtol * largest)`` of the singular
    values, or of the eigenvalues' sizes; the bounds have a last dimension of size 1."""
    if 0 in x.shape:
        return B.copy(B.mH(x))
    if hermitian:
        values, left = B.eigh(x, "L")
        right, sizes = B.mH(left), B.abs(values)
    else:
        u, values, vh = B.svd(x, False)
        left, right, sizes = B.mH(vh), B.mH(u), values
    bound = B.maximum(atol, B.mul(rtol, B.amax(sizes, (len(sizes.shape) - 1,), True)))
    large = B.gt(sizes, bound)
    scale = B.where(large, B.reciprocal(B.where(large, values, 1.0)), 0.0)
    return B.matmul(B.mul(left, B.unsqueeze(scale, -2)), right)


def lu_factor(B, x):
    """L below the diagonal and U above it, by Gauss with partial pivots, a column at a time for the
    whole batch; which row each was exchanged with, counted from 1; and the first pivot of 0."""
    rows, columns = x.shape[-2:]
    out, counted = B.copy(x), B.arange(0, rows, 1, int64.array)
    info, pivots = B.full(x.shape[:-2], 0, int64.array), []
    for k in range(min(rows, columns)):
        chosen = B.add(B.argmax(_size(B, B.getitem(out, (..., slice(k, None), k))), -1, True), k)
        moved = B.where(B.eq(counted, chosen), k, B.where(B.eq(counted, k), chosen, counted))
        out = B.gather(out, B.expand(B.unsqueeze(moved, -1), x.shape), x.ndim - 2)
        pivots.append(B.add(chosen, 1))
        pivot = B.getitem(out, (..., slice(k, k + 1), slice(k, k + 1)))
        is_zero = B.eq(pivot, 0)
        is_first = B.logical_and(B.reshape(is_zero, info.shape), B.eq(info, 0))
        info = B.where(is_first, k + 1, info)
        lower = B.getitem(out, (..., slice(k + 1, None), slice(k, k + 1)))
        B.copy_(lower, B.div(lower, B.where(is_zero, B.ones_like(pivot), pivot)))
        upper = B.getitem(out, (..., slice(k, k + 1), slice(k + 1, None)))
        rest = B.getitem(out, (..., slice(k + 1, None), slice(k + 1, None)))
        B.copy_(rest, B.sub(rest, B.mul(lower, upper)))
    none = B.full((*x.shape[:-2], 0), 0, int64.array)
    return out, B.cast(B.concat((none, *pivots), -1), int32.array), B.cast(info, int32.array)


def _size(B, x):
    """What LAPACK compares: of a complex number the sum of its parts' sizes."""
    if not OF_ARRAY[x.dtype].is_complex:
        return B.abs(x)
    return B.add(B.abs(B.real(x)), B.abs(B.imag(x)))


def pivot_order(B, pivots, size):
    """The row of the matrix that each row of the factors comes from."""
    counted = B.arange(0, size, 1, int64.array)
    order = B.expand(counted, (*pivots.shape[:-1], size))
    for k, other in enumerate(B.unbind(B.cast(pivots, int64.array), pivots.ndim - 1)):
        other = B.unsqueeze(B.add(other, -1), -1)
        moved = B.where(B.eq(counted, other), k, B.where(B.eq(counted, k), other, counted))
        order = B.gather(order, moved, order.ndim - 1)
    return B.contiguous(order)


def solve(B, x, y):
    factors, pivots, info = B.lu_factor(x)
    B.check(B.eq(info, 0), LinAlgError, "linalg.solve: Singular matrix")
    out = B.matmul(x, y)
    if not out.size:
        return out
    order = B.unsqueeze(B.pivot_order(pivots, x.shape[-1]), -1)
    order = B.expand(order, (*out.shape[:-2], *y.shape[-2:]))
    y = B.gather(B.expand(y, order.shape), order, order.ndim - 2)
    return B.solve_triangular(factors, B.solve_triangular(factors, y, False, True), True, False)


def _pivots(B, x):
    """The pivots of elimination, and the sign that the exchanges of rows give their product."""
    factors, exchanged, _ = B.lu_factor(x)
    kept = B.eq(exchanged, B.arange(1, x.shape[-1] + 1, 1, int32.array))
    sign = B.prod(B.where(kept, 1, B.full((), -1, int64.array)), (-1,), False)
    return B.diagonal(factors, 0, x.ndim - 2, x.ndim - 1), B.cast(sign, x.dtype)


def det(B, x):
    pivots, sign = _pivots(B, x)
    return B.mul(sign, B.prod(pivots, (-1,), False))


def slogdet(B, x):
    pivots, sign = _pivots(B, x)
    size = B.sum(B.log(B.abs(pivots)), (-1,), False)
    return B.mul(sign, B.prod(B.sgn(pivots), (-1,), False)), size
