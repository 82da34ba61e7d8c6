"""Helpers of distributions that other libraries use as well."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.ops.creation.factories import ones, zeros
from nnkit.autograd.ops.random.factories import normal
from nnkit.autograd.surface.limits import finfo
from nnkit.distributions.distribution import parameters
from nnkit.distributions.lazy import lazy_property

__all__ = [
    "broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits",
    "tril_matrix_to_vec", "vec_to_tril_matrix",
]  # fmt: skip
euler_constant = 0.57721566490153286060


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Numbers and tensors as tensors of one shape.

    Raises:
        ValueError: one is neither.
    """
    return tuple(parameters(*values))


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    options = {"dtype": dtype, "device": device}
    return normal(zeros(shape, **options), ones(shape, **options))


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities kept away from 0 and 1."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(eps, 1 - eps)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities of logits: of each by itself, or of one of the last dimension."""
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Logits of probabilities: of each by itself, or of one of the last dimension."""
    clamped = clamp_probs(probs)
    return clamped.log() - (-clamped).log1p() if is_binary else clamped.log()


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements below a diagonal, row by row.

    Raises:
        ValueError: there is no such diagonal.
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    mask = ones(n, n, device=mat.device).tril(diag).bool()
    return mat[..., mask]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """A matrix with these elements below a diagonal, row by row.

    Raises:
        ValueError: their number does not fit.
    """
    size = vec.shape[-1]
    n = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * size + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if not round(n) - n == 0:
        raise ValueError(
            f"The size of last dimension is {size} which cannot be expressed as the lower "
            "triangular part of a square D x D matrix."
        )
    count = round(n)
    mat = vec.new_zeros(vec.shape[:-1] + (count, count))
    mask = ones(count, count, device=vec.device).tril(diag).bool()
    mat[..., mask] = vec
    return mat
