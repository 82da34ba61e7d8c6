"""Solutions and inverses that are made of other decompositions."""

from __future__ import annotations


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
