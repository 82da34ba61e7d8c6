"""Solutions and inverses that are made of other decompositions."""

from __future__ import annotations

import bisect
import functools
import math

from nnkit.backend.dtype import HALF, OF_ARRAY, complex128, float32, float64, int32, int64
from nnkit.backend.errors import LinAlgError

# Taylor's polynomials of the exponential in few products (Bader, Blanes and Casas, "Computing the
# matrix exponential with an optimized Taylor polynomial approximation", 2019): the largest 1-norm
# for which one of degree 1, 2, 4, 8, 12 or 18 is exact to rounding, by the bytes of a number, ...
_NORMS = {
    4: (
        1.192092800768788e-07, 5.978858893805233e-04, 5.116619363445086e-02, 5.800524627688768e-01,
        1.461661507209034, 3.010066362817634,
    ),
    8: (
        2.220446049250313e-16, 2.580956802971767e-08, 3.397168839976962e-04, 4.991228871115323e-02,
        2.996158913811580e-01, 1.090863719290036,
    ),
}  # fmt: skip
# ... and the factors of the powers 0 to 3 (and 6) in the parts of the two highest.
_DEGREE_12 = (
    (9.0198e-16, 0.46932117595418237389, -0.20099424927047284052, -0.04623946134063071740),
    (5.31597895759871264183, 1.19926790417132231573, 0.01179296240992997031,
     0.01108844528519167989),
    (0.18188869982170434744, 0.05502798439925399070, 0.09351590770535414968,
     0.00610700528898058230),
    (-2.0861320e-13, -0.13181061013830184015, -0.02027855540589259079, -0.00675951846863086359),
)  # fmt: skip
_DEGREE_18 = (
    (0, -1.00365581030144618291e-01, -8.02924648241156932449e-03, -8.92138498045729985177e-04, 0),
    (0, 3.97849749499645077844e-01, 1.36783778460411720168, 4.98289622525382669416e-01,
     -6.37898194594723280150e-04),
    (-1.09676396052962061844e01, 1.68015813878906206114, 5.71779846478865511061e-02,
     -6.98210122488052056106e-03, 3.34975017086070470649e-05),
    (-9.04316832390810593223e-02, -6.76404519071381882256e-02, 6.75961301770459654925e-02,
     2.95552570429315521194e-02, -1.39180257516060693404e-05),
    (0, 0, -9.23364619367118555360e-02, -1.69364939002081722752e-02, -1.40086798182036094347e-05),
)  # fmt: skip
_ROOT = math.sqrt(177)


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
    n, like = x.shape[-1], B.matmul(x, y)
    if not n:
        return like
    rows = [None] * n
    for i in reversed(range(n)) if upper else range(n):
        row = B.getitem(y, (..., i, slice(None)))
        for k in range(i + 1, n) if upper else range(i):
            factor = B.unsqueeze(B.getitem(x, (..., i, k)), -1)
            row = B.sub(row, B.mul(factor, rows[k]))
        if not unitriangular:
            row = B.div(row, B.unsqueeze(B.getitem(x, (..., i, i)), -1))
        rows[i] = row
    shape = (*like.shape[:-2], like.shape[-1])
    return B.stack([B.expand(row, shape) for row in rows], -2)


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
    scale = _reciprocals(B, values, B.gt(sizes, bound))
    return B.matmul(B.mul(left, B.unsqueeze(scale, -2)), right)


def _reciprocals(B, values, counts):
    """Those of the values that count, and 0 for the others."""
    return B.where(counts, B.reciprocal(B.where(counts, values, 1.0)), 0.0)


def lstsq(B, x, y, rtol, by_values):
    """The shortest solutions of least squares, from the singular values above ``rtol`` times the
    largest, and how many these are; y is a matrix or a vector for each x. As in LAPACK the
    solutions are the first rows of what y was copied to.

    ``by_values``: whether the rank must be this one. A kernel may estimate it otherwise.
    """
    for array in (x, y):
        B.check(B.eq(array, array), RuntimeError, "linalg.lstsq: expected numbers, got NaN")
    *lead, m, n = x.shape
    sides = B.unsqueeze(y, -1) if y.ndim < x.ndim else y
    if 0 in (*x.shape, *sides.shape):
        out, rank = B.matmul(B.mH(x), sides), B.full(lead, 0, int64.array)
    else:
        finite, finite_sides = (B.all(B.isfinite(t), (-2, -1), True) for t in (x, sides))
        wide = complex128 if OF_ARRAY[x.dtype].is_complex else float64
        u, s, vh = B.svd(B.where(finite, B.cast(x, wide.array), 0.0), False)
        counts = B.gt(s, B.mul(B.amax(s, (s.ndim - 1,), True), rtol))
        inner = B.matmul(B.mH(u), B.cast(sides, wide.array))
        scale = B.unsqueeze(_reciprocals(B, s, counts), -1)
        out = B.matmul(B.mH(vh), B.mul(scale, inner))
        finite_both = B.logical_and(finite, finite_sides)
        out = B.cast(B.where(finite_both, out, math.nan), x.dtype)
        rank = B.sum(B.cast(counts, int64.array), (-1,), False)
        rank = B.where(B.reshape(finite, lead), rank, 1)
    rest = B.full((*out.shape[:-2], out.shape[-1], max(m - n, 0)), 0, x.dtype)
    whole = B.mT(B.concat([B.mT(out), rest], out.ndim - 1))
    place = 0 if y.ndim < x.ndim else slice(None)
    return B.getitem(whole, (..., slice(0, n), place)), rank


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
    """The sizes that LAPACK compares: of a complex number the sum of its parts' sizes."""
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


def matrix_exp(B, x):
    """By scaling, a Taylor polynomial and squaring."""
    if x.dtype in HALF:
        return B.cast(B.matrix_exp(B.cast(x, float32.array)), x.dtype)
    x, n = B.contiguous(x), x.shape[-1]
    if n == 1 or not x.size:
        return B.exp(x)
    norms = B.amax(B.sum(B.abs(x), (-2,), False), (-1,), False)
    largest = B.item(B.amax(norms, tuple(range(norms.ndim)), False))
    if not math.isfinite(largest):
        finite = B.unsqueeze(B.unsqueeze(B.isfinite(norms), -1), -1)
        return B.where(finite, B.matrix_exp(B.where(finite, x, 0.0)), math.nan)
    one, limits = B.eye(n, n, x.dtype), _NORMS[norms.dtype.itemsize]
    degree = bisect.bisect_left(limits, largest)
    if norms.size == 1 and degree < len(_LOWER):  # torch takes the highest for several matrices
        return _LOWER[degree](B, one, x)
    halvings = max(0, math.ceil(math.log2(largest / limits[-1]))) if largest else 0
    if not halvings:
        return _degree_18(B, one, x)
    counts = B.maximum(B.ceil(B.log2(B.div(norms, limits[-1]))), 0.0)
    counts = B.unsqueeze(B.unsqueeze(counts, -1), -1)
    result = _degree_18(B, one, B.mul(x, B.exp2(B.neg(counts))))
    for done in range(halvings):
        result = B.where(B.gt(counts, done), B.matmul(result, result), result)
    return result


def _combined(B, powers, factors):
    """The sum of powers of a matrix, each times its factor."""
    terms = [B.mul(power, factor) for power, factor in zip(powers, factors) if factor]
    return functools.reduce(B.add, terms)


def _degree_1(B, one, x):
    return B.add(one, x)


def _degree_2(B, one, x):
    return B.add(B.add(one, x), B.mul(B.matmul(x, x), 0.5))


def _degree_4(B, one, x):
    square = B.matmul(x, x)
    rest = _combined(B, (one, x, square), (1 / 2, 1 / 6, 1 / 24))
    return B.add(B.add(one, x), B.matmul(square, rest))


def _degree_8(B, one, x):
    square = B.matmul(x, x)
    factors = (1 + _ROOT) / 88 * 2 / 3, (1 + _ROOT) / 352 * 2 / 3
    fourth = B.matmul(square, _combined(B, (x, square), factors))
    left = _combined(B, (square, fourth), (2 / 3, 1))
    # The last factor is 2/3 of what the paper has; so it is in torch.
    factors = (
        (-271 + 29 * _ROOT) / 210, (-11 + 11 * _ROOT) / 840, (-99 + 11 * _ROOT) / 3360,
        (89 - _ROOT) / 3360,
    )  # fmt: skip
    product = B.matmul(left, _combined(B, (one, x, square, fourth), factors))
    return B.add(B.add(B.add(one, x), B.mul(square, (857 - 58 * _ROOT) / 630)), product)


def _degree_12(B, one, x):
    square = B.matmul(x, x)
    powers = (one, x, square, B.matmul(square, x))
    a, b, c, d = [_combined(B, powers, factors) for factors in _DEGREE_12]
    sixth = B.add(c, B.matmul(d, d))
    return B.add(a, B.matmul(B.add(b, sixth), sixth))


def _degree_18(B, one, x):
    square = B.matmul(x, x)
    cube = B.matmul(square, x)
    powers = (one, x, square, cube, B.matmul(cube, cube))
    a, b, c, d, e = [_combined(B, powers, factors) for factors in _DEGREE_18]
    ninth = B.add(B.matmul(a, e), d)
    return B.add(b, B.matmul(B.add(c, ninth), ninth))


_LOWER = (_degree_1, _degree_2, _degree_4, _degree_8, _degree_12)
