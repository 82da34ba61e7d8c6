"""Weights with orthonormal rows or columns."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor, no_grad
from nnkit.autograd.ops.creation.factories import eye
from nnkit.autograd.ops.decomposition.householder import geqrf
from nnkit.autograd.ops.decomposition.householder import orgqr as householder_product
from nnkit.autograd.ops.decomposition.matrix_functions import matrix_exp
from nnkit.autograd.ops.decomposition.rules import solve
from nnkit.autograd.ops.shape.joining import cat
from nnkit.autograd.surface.limits import finfo
from nnkit.nn.modules.module import Module
from nnkit.nn.utils.parametrize import register_parametrization

__all__ = ["orthogonal"]

MAPS = ("matrix_exp", "cayley", "householder")


def _is_orthogonal(q: Tensor) -> bool:
    identity = eye(q.shape[-1], dtype=q.dtype, device=q.device)
    return (q.mH @ q).allclose(identity, atol=10 * q.shape[-2] * finfo(q.dtype).eps)


def _orthogonalized(x: Tensor) -> Tensor:
    """The Q of a QR decomposition of which R has a positive diagonal."""
    reflections, tau = geqrf(x)
    turns = reflections.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)
    return householder_product(reflections, tau) * turns


class _Orthogonal(Module):
    """The map from all matrices to those of orthonormal columns (rows, where they are wide).

    With a ``base``, what it maps to is multiplied by it: so any orthogonal matrix can be assigned.
    """

    base: Tensor | None

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Tensor) -> Tensor:
        wide = x.shape[-2] < x.shape[-1]
        q = self._tall(x.mT if wide else x)
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if wide else q

    def _tall(self, x: Tensor) -> Tensor:
        n, k = x.shape[-2:]
        if self.orthogonal_map == "householder":
            below = x.tril(-1)
            tau = 2.0 / (1.0 + (below * below).sum(-2))
            return householder_product(below, tau) * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(
                -2
            )
        x = x.tril()
        if n != k:
            x = cat([x, x.new_zeros(n, n - k).expand(*x.shape[:-2], -1, -1)], -1)
        skew = x - x.mH
        if self.orthogonal_map == "matrix_exp":
            q = matrix_exp(skew)
        else:
            identity = eye(n, dtype=x.dtype, device=x.device)
            q = solve(identity.add(skew, alpha=-0.5), identity.add(skew, alpha=0.5))
        return q if n == k else q[..., :k]

    @no_grad()
    def right_inverse(self, q: Tensor) -> Tensor:
        if q.shape != self.shape:
            raise ValueError(
                f"orthogonal: expected a matrix or batch of matrices of shape {self.shape}, "
                f"got a tensor of shape {q.shape}"
            )
        wide = q.shape[-2] < q.shape[-1]
        tall = q.mT if wide else q
        n, k = tall.shape[-2:]
        if not hasattr(self, "base"):
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    "orthogonal: It is not possible to assign to the matrix exponential or the "
                    "Cayley parametrization with use_trivialization=False"
                )
            reflections, tau = geqrf(tall)
            signs = reflections.diagonal(dim1=-2, dim2=-1)
            signs.sign_()
            signs[tau == 0.0] *= -1
            return reflections.mT if wide else reflections
        if n != k:
            others = tall.new_empty(*tall.shape[:-2], n, n - k).normal_()
            tall = _orthogonalized(cat([tall, others], -1))
        elif _is_orthogonal(tall):
            tall = tall.clone()
        else:
            tall = _orthogonalized(tall)
        self.base = tall
        start = q.new_zeros(q.shape)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """Keep a weight's columns orthonormal (its rows, where it has more columns than rows).

    Args:
        module: what has the weight.
        name: the weight's name; a matrix, or a batch of matrices.
        orthogonal_map: how: "matrix_exp" or "cayley" of a skew-symmetric matrix, or the product of
            "householder" reflections. By default "matrix_exp" for square and for complex matrices,
            else "householder".
        use_trivialization: multiply by a fixed orthogonal matrix, so that the weight starts as the
            nearest one to what it was, and others can be assigned (Lezcano-Casado 2019).

    Raises:
        ValueError: there is no such weight, it is no matrix, or an unknown ``orthogonal_map``.
        NotImplementedError: an assignment without ``use_trivialization``, except to "householder".

    Source: ``torch.nn.utils.parametrizations.orthogonal``.

    Example:
        >>> import nnkit
        >>> layer = nnkit.nn.utils.parametrizations.orthogonal(nnkit.nn.Linear(4, 2))
        >>> nnkit.allclose(layer.weight @ layer.weight.T, nnkit.eye(2), atol=1e-6)
        True
    """
    weight: Any = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions."
        )
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1] or weight.is_complex()
        orthogonal_map = "matrix_exp" if square else "householder"
    if orthogonal_map not in MAPS:
        raise ValueError(f"orthogonal_map has to be one of {MAPS}, got {orthogonal_map!r}")
    map_ = _Orthogonal(weight, orthogonal_map, use_trivialization)
    register_parametrization(module, name, map_, unsafe=True)
    return module
