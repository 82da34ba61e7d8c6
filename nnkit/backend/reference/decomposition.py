"""Solutions and inverses that are made of other decompositions."""

from __future__ import annotations


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
