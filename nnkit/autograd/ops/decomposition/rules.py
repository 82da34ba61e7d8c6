"""The derivatives of inverses, determinants and factorizations of matrices."""

from __future__ import annotations

import math
from typing import Any

from nnkit.autograd.op.registry import LIFTED, Lifted
from nnkit.autograd.op.rule import rule
from nnkit.autograd.op.single import single
from nnkit.autograd.tensor import Tensor


def _outer_difference(B: Any, values: Any) -> Any:
    """``1 / (w[j] - w[i])``, and 0 on the diagonal."""
    difference = B.sub(B.unsqueeze(values, -2), B.unsqueeze(values, -1))
    zero = B.eq(difference, 0)
    ones = B.ones_like(difference)
    return B.where(zero, 0.0, B.div(ones, B.where(zero, ones, difference)))


def _diagonal_matrix(B: Any, values: Any) -> Any:
    shape = tuple(values.shape)
    return B.diagonal_adjoint(values, (*shape, shape[-1]), 0, len(shape) - 1, len(shape))


def _scaled_columns(B: Any, x: Any, scale: Any) -> Any:
    return B.mul(x, B.unsqueeze(scale, -2))


def _divided(B: Any, x: Any, y: Any) -> Any:
    """``x / y``, where 0 / 0 is 0: a singular value of 0 spoils no vectors that nobody reads."""
    nothing = B.logical_and(B.eq(x, 0), B.eq(y, 0))
    return B.div(x, B.where(nothing, 1.0, y))


def _check_phases(B: Any, name: str, turns: Any) -> None:
    """Complex vectors are free to turn; ``turns`` says by how much that would change a loss."""
    if not B.item(B.all(B.le(B.abs(turns), 1e-2), None, False)):
        raise RuntimeError(
            f"{name}(): the vectors of complex matrices are only defined up to a phase, on which "
            "the loss that is differentiated depends"
        )


def _grad_adjugate(B: Any, g: Any, x: Any, out: Any) -> Any:
    inverse = B.inverse(x)
    weight = B.sum(B.mul(g, B.conj(inverse)), (-2, -1), True)
    turned = B.mH(out)
    return B.sub(B.mul(weight, turned), B.matmul(B.mH(inverse), B.matmul(g, turned)))


def _grad_cholesky(B: Any, g: Any, out: Any) -> Any:
    inner = B.matmul(B.mH(out), g)
    symmetric = B.mul(B.add(B.tril(inner, 0), B.mH(B.tril(inner, -1))), 0.5)
    inverse = B.inverse(out)
    return B.matmul(B.mH(inverse), B.matmul(symmetric, inverse))


def _along_cholesky(primals: tuple, tangents: list, statics: tuple, outputs: tuple) -> Tensor:
    """The tangent of a factor; as in torch, that of the matrix is not made Hermitian before."""
    (factor,) = outputs
    inner = LIFTED.solve_triangular(factor, tangents[0], False, False)
    inner = LIFTED.mH(LIFTED.solve_triangular(factor, LIFTED.mH(inner), False, False))
    both = LIFTED.add(LIFTED.tril(inner, 0), LIFTED.tril(inner, -1))
    return LIFTED.matmul(factor, LIFTED.mul(both, 0.5))


def _grad_qr(B: Any, g_q: Any, g_r: Any, q: Any, r: Any, mode: str) -> Any:
    rows, columns = q.shape[-2], r.shape[-1]
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please "
            "use linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr."
        )
    if mode == "complete" and rows > columns:
        raise RuntimeError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols: "
            f"got {rows} and {columns}"
        )
    if columns > rows:
        # R = [U | V]: the right part only multiplies Q.
        left = (..., slice(0, rows))
        right = (..., slice(rows, None))
        beyond = B.matmul(q, B.getitem(g_r, right))
        g_q = B.add(g_q, B.matmul(B.matmul(q, B.getitem(r, right)), B.mH(B.getitem(g_r, right))))
        square = _grad_qr(B, g_q, B.getitem(g_r, left), q, B.getitem(r, left), "reduced")
        return B.concat([square, beyond], len(q.shape) - 1)
    m = B.sub(B.matmul(r, B.mH(g_r)), B.matmul(B.mH(g_q), q))
    below = B.tril(m, -1)
    diagonal = B.sub(B.tril(m, 0), below)  # of which only the real part counts
    diagonal = B.mul(B.add(diagonal, B.mH(diagonal)), 0.5)
    symmetric = B.add(B.add(below, B.mH(below)), diagonal)
    pulled = B.add(g_q, B.matmul(q, symmetric))
    by_rows = B.mH(B.solve_triangular(r, B.mH(pulled), True, False))
    return B.mT(B.contiguous(B.mT(by_rows)))  # by columns, as LAPACK's would lie


def _grad_svd(
    B: Any, g_u: Any, g_s: Any, g_vh: Any, u: Any, s: Any, vh: Any, full_matrices: bool
) -> Any:
    rows, columns, k = u.shape[-2], vh.shape[-1], s.shape[-1]
    if (
        full_matrices
    ):  # what completes the bases is arbitrary: its gradient is left out, as in torch
        u, g_u = (B.getitem(x, (..., slice(k))) for x in (u, g_u))
        vh, g_vh = (B.getitem(x, (..., slice(k), slice(None))) for x in (vh, g_vh))
    if not k:
        return B.matmul(u, vh)
    v, g_v = B.mH(vh), B.mH(g_vh)
    gap = _outer_difference(B, B.square(s))
    from_u = B.mul(gap, B.matmul(B.mH(u), g_u))
    from_v = B.mul(gap, B.matmul(vh, g_v))
    inner = B.add(
        _scaled_columns(B, B.add(from_u, B.mH(from_u)), s),
        B.mul(B.unsqueeze(s, -1), B.add(from_v, B.mH(from_v))),
    )
    if u.dtype != s.dtype:
        # Complex vectors are free to turn: only the difference of the two phases has an influence.
        turn, other = (
            B.diagonal(B.matmul(B.mH(x), g), 0, len(s.shape) - 1, len(s.shape))
            for x, g in ((u, g_u), (v, g_v))
        )
        _check_phases(B, "svd", B.imag(B.add(turn, other)))
        g_s = B.add(_divided(B, B.mul(B.sub(turn, B.conj(turn)), 0.5), s), g_s)
    inner = B.add(inner, _diagonal_matrix(B, g_s))
    out = B.matmul(u, B.matmul(inner, vh))
    if rows > k:
        outside = B.sub(g_u, B.matmul(u, B.matmul(B.mH(u), g_u)))
        out = B.add(out, B.matmul(_divided(B, outside, B.unsqueeze(s, -2)), vh))
    if columns > k:
        outside = B.sub(g_v, B.matmul(v, B.matmul(vh, g_v)))
        out = B.add(out, B.matmul(u, B.mH(_divided(B, outside, B.unsqueeze(s, -2)))))
    return out


def _grad_eig(B: Any, g_values: Any, g_vectors: Any, values: Any, vectors: Any) -> Any:
    turned = B.mH(vectors)
    inner = B.matmul(turned, g_vectors)
    # LAPACK's vectors have length 1: what would change their length has no influence.
    turns = B.diagonal(inner, 0, len(inner.shape) - 2, len(inner.shape) - 1)
    _check_phases(B, "eig", B.imag(turns))
    own = B.real(turns)
    inner = B.sub(inner, _scaled_columns(B, B.matmul(turned, vectors), own))
    inner = B.mul(inner, B.conj(_outer_difference(B, values)))
    inner = B.add(inner, _diagonal_matrix(B, g_values))
    return B.solve(turned, B.matmul(inner, turned))


def _grad_solve_triangular(
    B: Any, g: Any, x: Any, out: Any, upper: bool, unitriangular: bool, needs: tuple
) -> tuple:
    g_y = B.solve_triangular(B.mH(x), g, not upper, unitriangular)
    if not needs[0]:
        return None, g_y
    product = B.neg(B.matmul(g_y, B.mH(out)))
    beyond = int(unitriangular)
    return (B.triu(product, beyond) if upper else B.tril(product, -beyond)), g_y


def _grad_slogdet(B: Any, g_sign: Any, g_logabsdet: Any, x: Any, sign: Any) -> Any:
    g = g_logabsdet
    if sign.dtype != g.dtype:  # complex: the sign turns with the imaginary part of the logarithm
        g = B.make_complex(g, B.neg(B.imag(B.mul(B.conj(g_sign), sign))))
    g = B.unsqueeze(B.unsqueeze(g, -1), -1)
    if isinstance(B, Lifted):
        return B.mul(g, B.inverse(B.mH(x)))  # which refuses singular matrices
    singular = B.unsqueeze(B.unsqueeze(B.eq(sign, 0), -1), -1)
    return B.mul(g, B.inverse(B.mH(B.masked_fill(x, singular, math.nan))))


def _grad_cholesky_solve(
    B: Any, g: Any, y: Any, out: Any, upper: bool, needs: tuple
) -> tuple[Any, Any]:
    """The gradients of `cholesky_solve`, as if all of ``y`` were in its product with itself."""
    g_x = B.cholesky_solve(g, y, upper)
    if not needs[1]:
        return g_x, None
    half = B.matmul(g_x, B.mH(out))
    both = B.neg(B.add(half, B.mH(half)))
    return g_x, B.matmul(y, both) if upper else B.matmul(both, y)


def _grad_pinv(B: Any, g: Any, x: Any, out: Any) -> Any:
    """Golub and Pereyra, "The differentiation of pseudo-inverses", 1973; where the rank changes
    there is no derivative, and this is the one at constant rank."""
    turned, transposed = B.mH(g), B.mH(out)
    left, right = B.matmul(turned, out), B.matmul(out, turned)
    inside = B.neg(B.matmul(transposed, B.matmul(g, transposed)))
    rows = B.matmul(B.sub(left, B.matmul(x, B.matmul(out, left))), transposed)
    columns = B.matmul(transposed, B.sub(right, B.matmul(B.matmul(right, out), x)))
    return B.add(inside, B.add(rows, columns))


def _grad_lstsq(
    B: Any, g: Any, x: Any, y: Any, out: Any, rtol: float, by_values: bool, needs: tuple
) -> tuple[Any, Any]:
    """That of ``pinv(x) @ y``, by the formula of `_grad_pinv`; it lies by columns."""
    if y.ndim < x.ndim:
        g, y, out = (B.unsqueeze(t, -1) for t in (g, y, out))
        g_x, g_y = _grad_lstsq(B, g, x, y, out, rtol, by_values, needs)
        return g_x, B.squeeze(g_y, -1)
    zero = B.zeros_like(B.unsqueeze(B.sum(B.abs(x), (-2, -1), False), -1))
    inverse = B.pinv(x, zero, B.add(zero, rtol), False)
    g_y = B.matmul(B.mH(inverse), g)
    if not needs[0]:
        return None, g_y
    turned = B.neg(B.matmul(out, B.mH(g_y)))
    errors = B.sub(y, B.matmul(x, out))
    turned = B.add(turned, B.matmul(B.matmul(inverse, g_y), B.mH(errors)))
    beyond = B.sub(g, B.matmul(B.mH(x), g_y))
    turned = B.add(turned, B.matmul(beyond, B.mH(B.matmul(B.mH(inverse), out))))
    return B.mH(turned), g_y


def _grad_eigh(B: Any, g_values: Any, g_vectors: Any, values: Any, vectors: Any) -> Any:
    turned = B.matmul(B.mH(vectors), g_vectors)
    if vectors.dtype != values.dtype:
        turns = B.diagonal(turned, 0, len(values.shape) - 1, len(values.shape))
        _check_phases(B, "eigh", B.imag(turns))
    skew = B.mul(B.sub(turned, B.mH(turned)), 0.5)  # what keeps the matrix symmetric
    inner = B.mul(_outer_difference(B, values), skew)
    inner = B.add(inner, _diagonal_matrix(B, g_values))
    return B.matmul(vectors, B.matmul(inner, B.mH(vectors)))


def _grad_det(B: Any, g: Any, x: Any) -> Any:
    each = B.unsqueeze(B.unsqueeze(g, -1), -1)
    if x.shape[-1] < 2:
        return B.expand(each, tuple(x.shape))  # of a number, which is its own determinant
    return B.mul(each, B.mH(B.adjugate(x)))


inverse = rule(
    "inverse", alone="refused", node="LinalgInvExBackward0",
    x=lambda B, g, out: B.neg(B.matmul(B.mH(out), B.matmul(g, B.mH(out)))),
)  # fmt: skip
solve = rule(
    "solve", alone="refused", node="LinalgSolveExBackward0", broadcasts=True,
    x=lambda B, g, x, out: B.neg(B.matmul(B.solve(B.mH(x), g), B.mH(out))),
    y=lambda B, g, x: B.solve(B.mH(x), g),
)  # fmt: skip


@single(alone="refused", name="linalg.solve", node="LinalgSolveExBackward0")
def solve_turned(A: Tensor, B: Tensor, vectors: bool) -> Tensor:
    """The x with ``A @ x = B`` of ``vectors``, else the X with ``X @ A = B``."""
    if vectors:
        return solve(A, B.unsqueeze(-1)).squeeze(-1)
    return solve(A.mT, B.mT).mT


det = rule("det", node="LinalgDetBackward0", also={"x": ("out",)}, x=_grad_det)
adjugate = rule("adjugate", x=_grad_adjugate)
slogdet = rule("slogdet", node="LinalgSlogdetBackward0", x=_grad_slogdet)
cholesky = rule(
    "cholesky", node="LinalgCholeskyExBackward0", along=_along_cholesky, x=_grad_cholesky
)
qr = rule("qr", node="LinalgQrBackward0", x=_grad_qr)
svd = rule("svd", node="LinalgSvdBackward0", x=_grad_svd)
eigh = rule("eigh", node="LinalgEighBackward0", x=_grad_eigh)
# Eigenvalues and singular values without a derivative, which would need the vectors.
svdvals, eigvalsh, eigvals = map(rule, ("svdvals", "eigvalsh", "eigvals"))
eig = rule("eig", node="LinalgEigBackward0", broadcasts=True, x=_grad_eig)
solve_triangular = rule(
    "solve_triangular",
    node="LinalgSolveTriangularBackward0",
    broadcasts=True,
    joint=_grad_solve_triangular,
)
cholesky_solve = rule(
    "cholesky_solve", node="CholeskySolveBackward0", broadcasts=True, joint=_grad_cholesky_solve
)
pinv = rule("pinv", node="LinalgPinvBackward0", x=_grad_pinv)
lstsq = rule(
    "lstsq",
    node="LinalgLstsqBackward0",
    nondifferentiable=("rank",),
    broadcasts=True,
    joint=_grad_lstsq,
)
