"""Inverses, determinants and factorizations of matrices."""

from __future__ import annotations

import math
from typing import Any

from nnkit.autograd import return_types
from nnkit.autograd.dims import check_tensor, normalize_dims
from nnkit.autograd.op import rule
from nnkit.autograd.ops.comparison import where
from nnkit.autograd.ops.creation import zeros_like
from nnkit.autograd.ops.linalg import matmul
from nnkit.autograd.public import public
from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import FLOATING


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


def _lower_half(B: Any, x: Any) -> Any:
    """The lower triangle with half the diagonal."""
    return B.mul(B.add(B.tril(x, 0), B.tril(x, -1)), 0.5)


def _grad_adjugate(B: Any, g: Any, x: Any, out: Any) -> Any:
    inverse = B.inverse(x)
    weight = B.sum(B.mul(g, B.conj(inverse)), (-2, -1), True)
    turned = B.mH(out)
    return B.sub(B.mul(weight, turned), B.matmul(B.mH(inverse), B.matmul(g, turned)))


def _grad_cholesky(B: Any, g: Any, out: Any) -> Any:
    inner = _lower_half(B, B.matmul(B.mH(out), g))
    inverse = B.inverse(out)
    half = B.matmul(B.mH(inverse), B.matmul(inner, inverse))
    return B.mul(B.add(half, B.mH(half)), 0.5)


def _grad_qr(B: Any, g_q: Any, g_r: Any, q: Any, r: Any, mode: str) -> Any:
    rows, columns = q.shape[-2], r.shape[-1]
    if mode == "complete" and rows > columns:
        raise RuntimeError(
            "qr(): the derivative is not defined for mode='complete' with more rows than columns, "
            f"got {rows} and {columns}"
        )
    if columns > rows:
        # R = [U | V]: the right part only multiplies Q.
        left = (..., slice(0, rows))
        right = (..., slice(rows, None))
        beyond = B.matmul(q, B.getitem(g_r, right))
        g_q = B.add(g_q, B.matmul(B.matmul(q, B.getitem(r, right)), B.mH(B.getitem(g_r, right))))
        square = _grad_qr(B, g_q, B.getitem(g_r, left), q, B.getitem(r, left), "reduced")
        return B.concat([square, beyond], -1)
    m = B.sub(B.matmul(r, B.mH(g_r)), B.matmul(B.mH(g_q), q))
    below = B.tril(m, -1)
    diagonal = B.sub(B.tril(m, 0), below)
    symmetric = B.add(B.add(below, B.mH(below)), diagonal)
    return B.matmul(B.add(g_q, B.matmul(q, symmetric)), B.mH(B.inverse(r)))


def _grad_svd(
    B: Any, g_u: Any, g_s: Any, g_vh: Any, u: Any, s: Any, vh: Any, full_matrices: bool
) -> Any:
    rows, columns, k = u.shape[-2], vh.shape[-1], s.shape[-1]
    if full_matrices and rows != columns:
        raise RuntimeError(
            "svd(): the derivative needs full_matrices=False for matrices that are not square"
        )
    v, g_v = B.mH(vh), B.mH(g_vh)
    gap = _outer_difference(B, B.square(s))
    from_u = B.mul(gap, B.matmul(B.mH(u), g_u))
    from_v = B.mul(gap, B.matmul(vh, g_v))
    inner = B.add(
        _scaled_columns(B, B.add(from_u, B.mH(from_u)), s),
        B.mul(B.unsqueeze(s, -1), B.add(from_v, B.mH(from_v))),
    )
    inner = B.add(inner, _diagonal_matrix(B, g_s))
    out = B.matmul(u, B.matmul(inner, vh))
    inverse = B.div(B.ones_like(s), s)
    if rows > k:
        outside = B.sub(g_u, B.matmul(u, B.matmul(B.mH(u), g_u)))
        out = B.add(out, B.matmul(_scaled_columns(B, outside, inverse), vh))
    if columns > k:
        outside = B.sub(g_v, B.matmul(v, B.matmul(vh, g_v)))
        out = B.add(out, B.matmul(u, B.mH(_scaled_columns(B, outside, inverse))))
    return out


def _grad_eigh(B: Any, g_values: Any, g_vectors: Any, values: Any, vectors: Any) -> Any:
    inner = B.mul(_outer_difference(B, values), B.matmul(B.mH(vectors), g_vectors))
    inner = B.add(inner, _diagonal_matrix(B, g_values))
    return B.matmul(vectors, B.matmul(inner, B.mH(vectors)))


_inverse = rule(
    "inverse", node="LinalgInvExBackward0",
    x=lambda B, g, out: B.neg(B.matmul(B.mH(out), B.matmul(g, B.mH(out)))),
)  # fmt: skip
_solve = rule(
    "solve", node="LinalgSolveExBackward0", broadcasts=True,
    x=lambda B, g, x, out: B.neg(B.matmul(B.solve(B.mH(x), g), B.mH(out))),
    y=lambda B, g, x: B.solve(B.mH(x), g),
)  # fmt: skip
_det = rule(
    "det", node="LinalgDetBackward0",
    x=lambda B, g, x: B.mul(B.unsqueeze(B.unsqueeze(g, -1), -1), B.mH(B.adjugate(x))),
)  # fmt: skip
_adjugate = rule("adjugate", x=_grad_adjugate)
_slogdet = rule(
    "slogdet", node="LinalgSlogdetBackward0", nondifferentiable=("sign",),
    x=lambda B, g_logabsdet, x: B.mul(
        B.unsqueeze(B.unsqueeze(g_logabsdet, -1), -1), B.mH(B.inverse(x))
    ),
)  # fmt: skip
_cholesky = rule("cholesky", node="LinalgCholeskyExBackward0", x=_grad_cholesky)
_qr = rule("qr", node="LinalgQrBackward0", x=_grad_qr)
_svd = rule("svd", node="LinalgSvdBackward0", x=_grad_svd)
_eigh = rule("eigh", node="LinalgEighBackward0", x=_grad_eigh)


def _square(name: str, input: Any) -> tuple:
    """The shape of a batch of square floating-point matrices."""
    check_tensor(name, input, "A")
    shape = input._data.shape
    if len(shape) < 2:
        raise RuntimeError(
            f"{name}(): the input tensor A must have at least 2 dimensions, got shape {list(shape)}"
        )
    if input.dtype.category < FLOATING or input.dtype.itemsize == 2:
        raise RuntimeError(
            f"{name}(): expected a float32, float64 or complex tensor, got {input.dtype.name}"
        )
    if shape[-1] != shape[-2]:
        raise RuntimeError(
            f"{name}(): A must be batches of square matrices, but they are {shape[-2]} by "
            f"{shape[-1]} matrices"
        )
    return shape


def _matrices(name: str, input: Any) -> tuple:
    """The shape of a batch of floating-point matrices."""
    check_tensor(name, input, "A")
    shape = input._data.shape
    if len(shape) < 2:
        raise RuntimeError(
            f"{name}(): the input tensor A must have at least 2 dimensions, got shape {list(shape)}"
        )
    if input.dtype.category < FLOATING or input.dtype.itemsize == 2:
        raise RuntimeError(
            f"{name}(): expected a float32, float64 or complex tensor, got {input.dtype.name}"
        )
    return shape


@public(out=True)
def inverse(input: Tensor) -> Tensor:
    """The inverses of square matrices.

    Args:
        input: (*, n, n), float32, float64 or complex.

    Raises:
        RuntimeError: a matrix is singular or not square.

    Example:
        >>> import nnkit
        >>> nnkit.inverse(nnkit.tensor([[2.0, 0.0], [0.0, 4.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
    """
    _square("inverse", input)
    return _inverse(input)


@public(out=True)
def det(input: Tensor) -> Tensor:
    """The determinants of square matrices. Singular matrices have a gradient, too.

    Args:
        input: (*, n, n), float32, float64 or complex.
    """
    _square("det", input)
    return _det(input)


@public(out=True)
def slogdet(input: Tensor) -> Any:
    """The sign and the logarithm of the absolute value of determinants, without overflow.

    Returns:
        A named tuple (sign, logabsdet).
    """
    _square("slogdet", input)
    return return_types.slogdet(*_slogdet(input))


@public
def logdet(input: Tensor) -> Tensor:
    """The logarithms of determinants: NaN for negative ones, -inf for 0."""
    _square("logdet", input)
    sign, size = _slogdet(input)
    return sign.log() + size if input.is_complex() else where(sign < 0, math.nan, size)


@public(out=True)
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """The triangular L with a positive diagonal and ``L @ L.mH`` the input (its transpose with
    ``upper``), for positive definite matrices.

    Args:
        input: (*, n, n), of which only the lower triangles (the upper ones) are read.

    Raises:
        RuntimeError: a matrix is not positive definite, or not square.
    """
    _square("cholesky", input)
    # The derivative is that of the symmetric matrix that the triangle stands for.
    return _cholesky(input.mH).mH if upper else _cholesky(input)


@public
def qr(input: Tensor, some: bool = True) -> Any:
    """Orthonormal columns Q and a triangular R with ``Q @ R`` the input.

    Args:
        input: (*, m, n).
        some: Q of min(m, n) columns; else it is square.

    Returns:
        A named tuple (Q, R).
    """
    _matrices("qr", input)
    return return_types.qr(*_qr(input, "reduced" if some else "complete"))


@public
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """The singular value decomposition: ``U @ diag(S) @ V.mH`` is the input.

    Args:
        input: (*, m, n).
        some: U and V of min(m, n) columns; else they are square.
        compute_uv: whether U and V are wanted; else they are zeros.

    Returns:
        A named tuple (U, S, V), with S in falling order.
    """
    _matrices("svd", input)
    u, s, vh = _svd(input, not some)
    if not compute_uv:
        return return_types.svd(zeros_like(u), s, zeros_like(vh).mH)
    return return_types.svd(u, s, vh.mH)


@public
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The Moore-Penrose inverse, from the singular values above ``rcond`` times the largest.

    Args:
        input: (*, m, n).
    """
    _matrices("pinverse", input)
    return pseudo_inverse(input, rcond)


def pseudo_inverse(input: Tensor, rcond: float) -> Tensor:
    u, s, vh = _svd(input, False)
    large = s > rcond * s.amax(-1, True) if s._data.size else s > 0
    scale = where(large, where(large, s, 1.0).reciprocal(), 0.0)
    return matmul(vh.mH * scale.unsqueeze(-2), u.mH)


def nuclear_norm(input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """The sum of the singular values of the matrices that two dimensions span."""
    axes = normalize_dims(dim, input.ndim, "norm") or tuple(range(input.ndim))
    if len(axes) != 2:
        raise RuntimeError(f"norm(): order 'nuc' needs two dimensions, got dim={dim}")
    _, s, _ = _svd(input.movedim(axes, (-2, -1)), False)
    total = s.sum(-1)
    return total.unsqueeze(min(axes)).unsqueeze(max(axes)) if keepdim else total
