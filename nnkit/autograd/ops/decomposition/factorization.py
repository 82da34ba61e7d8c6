"""Inverses, determinants and factorizations of matrices."""

from __future__ import annotations

import math
from typing import Any

from nnkit.autograd.arguments.dims import check_tensor, normalize_dims
from nnkit.autograd.op.out import Out, by_rows
from nnkit.autograd.op.public import public
from nnkit.autograd.op.rule import guarded
from nnkit.autograd.ops.creation.memory_format import column_major
from nnkit.autograd.ops.decomposition import rules as rules
from nnkit.autograd.ops.elementwise.comparison import where
from nnkit.autograd.surface import return_types
from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import FLOATING
from nnkit.backend.warning import warn_once

# The kinds of dtypes that functions refuse: most of them half precision too.
WHOLE = ("bool", "integer")
COARSE = (*WHOLE, "half")


def check_square(name: str, input: Any, refuses: tuple[str, ...] = COARSE) -> tuple:
    """The shape of a batch of square matrices."""
    shape = check_matrices(name, input, refuses)
    if shape[-1] != shape[-2]:
        raise RuntimeError(
            f"{name}(): A must be batches of square matrices, but they are {shape[-2]} by "
            f"{shape[-1]} matrices"
        )
    return shape


def check_matrices(name: str, input: Any, refuses: tuple[str, ...] = COARSE) -> tuple:
    """The shape of a batch of matrices, none of a kind that the function itself refuses; others
    its kernel refuses."""
    check_tensor(name, input, "A")
    shape = input._array.shape
    if len(shape) < 2:
        raise RuntimeError(
            f"{name}: The input tensor A must have at least 2 dimensions, got shape {list(shape)}"
        )
    if not input.dtype.kinds.isdisjoint(refuses):
        reason = "Expected a floating point or complex tensor as input"
        if input.dtype.category >= FLOATING:
            reason = "Low precision dtypes not supported"
        raise RuntimeError(f"{name}: {reason}. Got {input.dtype.scalar_type}")
    return shape


def check_map(name: str, A: Tensor, place: str, at: int, rows: int) -> None:
    """RuntimeError unless a tensor that is split before dimension ``at``, which messages call
    ``place``, is a square matrix of so many rows."""
    if at > A.ndim:
        raise RuntimeError(f"{name}: {place} is {at}, but self has {A.ndim} dimensions")
    columns = math.prod(A.shape[at:])
    if columns != rows:
        raise RuntimeError(
            f"{name}: Expected self to satisfy the requirement prod(self.shape[{place}:]) == "
            f"prod(self.shape[:{place}]), but got {columns} != {rows}"
        )


@public(out=Out(dtype="same"))
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
    check_square("inverse", input)
    return rules.inverse(input)


@public
def det(input: Tensor) -> Tensor:
    """The determinants of square matrices. Singular matrices have a gradient, too.

    Args:
        input: (*, n, n), float32, float64 or complex.

    Example:
        >>> import nnkit
        >>> nnkit.det(nnkit.tensor([[2.0, 0.0], [0.0, 3.0]]))
        tensor(6.)
    """
    check_square("det", input, WHOLE)
    return rules.det(input)


@public(out=True)
def slogdet(input: Tensor) -> Any:
    """The sign and the logarithm of the absolute value of determinants, without overflow.

    Returns:
        A named tuple (sign, logabsdet).

    Example:
        >>> import nnkit
        >>> sign, logabsdet = nnkit.slogdet(nnkit.tensor([[0.0, 1.0], [1.0, 0.0]]))
        >>> sign, logabsdet
        (tensor(-1.), tensor(0.))
    """
    check_square("slogdet", input)
    return return_types.slogdet(rules.slogdet(input))


@public
def logdet(input: Tensor) -> Tensor:
    """The logarithms of determinants: NaN for negative ones, -inf for 0.

    Example:
        >>> import nnkit
        >>> nnkit.logdet(nnkit.eye(3))
        tensor(0.)
    """
    check_square("logdet", input)
    sign, size = rules.slogdet(input)
    return sign.log() + size if input.is_complex() else where(sign < 0, math.nan, size)


@public(out=Out(called="result", axes=by_rows))
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """The triangular L with a positive diagonal and ``L @ L.mH`` the input (its transpose with
    ``upper``), for positive definite matrices.

    Args:
        input: (*, n, n), of which only the lower triangles (the upper ones) are read.

    Raises:
        RuntimeError: a matrix is not positive definite, or not square.

    Example:
        >>> import nnkit
        >>> nnkit.cholesky(nnkit.tensor([[4.0, 2.0], [2.0, 5.0]]))
        tensor([[2., 0.],
                [1., 2.]])
    """
    warn_once("cholesky() is deprecated in favor of linalg.cholesky()")
    if not input._array.size:  # of any shape, as in torch
        return input.clone()
    check_square("cholesky", input, ())
    # The derivative is that of the symmetric matrix that the triangle stands for.
    if upper:
        out = column_major(rules.cholesky(input.mH).mH)
        return guarded("cholesky", out, out)
    return rules.cholesky(input)


@public(out=True)
def qr(input: Tensor, some: bool = True) -> Any:
    """Orthonormal columns Q and a triangular R with ``Q @ R`` the input.

    Args:
        input: (*, m, n).
        some: Q of min(m, n) columns; else it is square.

    Returns:
        A named tuple (Q, R).

    Example:
        >>> import nnkit
        >>> q, r = nnkit.qr(nnkit.tensor([[3.0, 1.0], [4.0, 2.0]]))
        >>> nnkit.allclose(q @ r, nnkit.tensor([[3.0, 1.0], [4.0, 2.0]]))
        True
    """
    warn_once(
        "qr() is deprecated in favor of linalg.qr(), whose `some` is mode='reduced' or 'complete'"
    )
    check_matrices("qr", input, WHOLE)
    return return_types.qr(rules.qr(input, "reduced" if some else "complete"))


@public(out=True)
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """The singular value decomposition: ``U @ diag(S) @ V.mH`` is the input.

    Args:
        input: (*, m, n).
        some: U and V of min(m, n) columns; else they are square.
        compute_uv: whether U and V are wanted; else they are square matrices of zeros.

    Returns:
        A named tuple (U, S, V), with S in falling order.

    Example:
        >>> import nnkit
        >>> u, s, v = nnkit.svd(nnkit.tensor([[3.0, 0.0], [0.0, 2.0]]))
        >>> s
        tensor([3., 2.])
    """
    m, n = check_matrices("svd", input, WHOLE)[-2:]
    u, s, vh = rules.svd(input, not some)
    if not compute_uv:
        batch = s._array.shape[:-1]
        return return_types.svd(
            (input.new_zeros(*batch, m, m), s, input.new_zeros(*batch, n, n).mH)
        )
    return return_types.svd((u, s, vh.mH))


def nuclear_norm(input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """The sum of the singular values of the matrices that two dimensions span."""
    if input.ndim < 2:
        raise RuntimeError(
            f"norm(): order 'nuc' needs an input of at least 2 dimensions, got {input.ndim}"
        )
    axes = normalize_dims(dim, input.ndim, "norm") or tuple(range(input.ndim))
    if len(axes) != 2:
        raise RuntimeError(f"norm(): order 'nuc' needs two dimensions, got dim={dim}")
    matrices = input.movedim(axes, (-2, -1))
    check_matrices("norm", matrices)
    _, s, _ = rules.svd(matrices, False)
    total = s.sum(-1)
    return total.unsqueeze(min(axes)).unsqueeze(max(axes)) if keepdim else total
