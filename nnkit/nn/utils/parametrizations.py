"""Weights of a fixed norm, and orthogonal ones."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor, no_grad
from nnkit.autograd.arguments.annotations import is_int
from nnkit.autograd.arguments.dims import normalize_dim
from nnkit.autograd.arguments.sizes import integer
from nnkit.nn.functional.distance import normalize
from nnkit.nn.modules.module import Module
from nnkit.nn.utils.orthogonal import orthogonal
from nnkit.nn.utils.parametrize import register_parametrization

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def norm_except(v: Tensor, dim: int | None) -> Tensor:
    """The Euclidean norm over all dimensions but one (over all if ``dim`` is None or -1)."""
    if dim is not None and not is_int(dim):
        raise TypeError(f"weight_norm: dim must be int or None, not {type(dim).__name__}")
    if dim is None or dim == -1:
        return v.norm()
    if not -v.ndim <= integer("weight_norm", "dim", dim) < v.ndim:
        raise IndexError(
            f"weight_norm: dim must be between {-v.ndim} and {v.ndim - 1} for a weight of shape "
            f"{list(v.shape)}, got {dim}"
        )
    others = [d for d in range(v.ndim) if d != dim % v.ndim]
    return v.norm(2, others, keepdim=True) if others else v.abs()


class _WeightNorm(Module):
    """``g * v / |v|``: the length and the direction of a weight apart."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_v * (weight_g / norm_except(weight_v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Learn the length and the direction of a weight apart: ``w = g * v / |v|``.

    Args:
        module: what has the weight.
        name: the weight's name; ``parametrizations.<name>.original0`` is g, ``original1`` v.
        dim: the dimension along which each slice has a length; None for one length.

    Raises:
        TypeError: ``dim`` is no int.
        IndexError: the weight has no such dimension.

    Source: Salimans and Kingma 2016, "Weight normalization"; torch's function of this name.

    Example:
        >>> import nnkit
        >>> layer = nnkit.nn.utils.parametrizations.weight_norm(nnkit.nn.Linear(2, 3))
        >>> layer.parametrizations.weight.original0.shape
        nnkit.Size([3, 1])
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    module._register_load_state_dict_pre_hook(_from_old_keys(name))
    return module


def _from_old_keys(name: str) -> Any:
    """Let checkpoints of the older ``nn.utils.weight_norm`` be loaded."""

    def hook(state_dict: dict, prefix: str, *rest: Any) -> None:
        for old, new in ((f"{name}_g", "original0"), (f"{name}_v", "original1")):
            if prefix + old in state_dict:
                value = state_dict.pop(prefix + old)
                state_dict[f"{prefix}parametrizations.{name}.{new}"] = value

    return hook


class _SpectralNorm(Module):
    """A weight divided by its largest singular value, which power iterations follow."""

    _u: Tensor
    _v: Tensor

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        for name, number in (("n_power_iterations", n_power_iterations), ("dim", dim)):
            if not is_int(number):
                got = type(number).__name__
                raise TypeError(f"spectral_norm(): argument '{name}' must be int, not {got}")
        if n_power_iterations <= 0:
            raise ValueError(
                "spectral_norm: n_power_iterations must be positive, got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.dim = normalize_dim(dim, weight.ndim, "spectral_norm")
        self.eps = eps
        if weight.ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._matrix(weight.detach())
            rows, columns = matrix.shape
            self.register_buffer("_u", normalize(matrix.new_empty(rows).normal_(0, 1), 2, 0, eps))
            self.register_buffer(
                "_v", normalize(matrix.new_empty(columns).normal_(0, 1), 2, 0, eps)
            )
            self._iterate(matrix, 15)

    def _matrix(self, weight: Tensor) -> Tensor:
        if self.dim != 0:
            weight = weight.movedim(self.dim, 0)
        return weight.flatten(1)

    @no_grad()
    def _iterate(self, matrix: Tensor, times: int) -> None:
        for _ in range(times):
            normalize(matrix.mv(self._v), 2, 0, self.eps, out=self._u)
            normalize(matrix.mH.mv(self._u), 2, 0, self.eps, out=self._v)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return normalize(weight, 2, 0, self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix.detach(), self.n_power_iterations)
        sigma = self._u.clone().vdot(matrix.mv(self._v.clone()))
        return weight / sigma

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide a weight by its largest singular value.

    Args:
        module: what has the weight.
        name: the weight's name.
        n_power_iterations: iterations at each use in training mode.
        eps: keeps the vectors' lengths away from 0.
        dim: the dimension of the outputs; 0, or 1 for transposed convolutions, if None.

    Raises:
        ValueError: there is no such weight, or no iterations.

    Source: Miyato et al. 2018, "Spectral normalization for generative adversarial networks";
    torch's function of this name.

    Example:
        >>> import nnkit
        >>> layer = nnkit.nn.utils.parametrizations.spectral_norm(nnkit.nn.Linear(3, 3))
        >>> round(nnkit.linalg.svdvals(layer.weight.detach())[0].item(), 1)
        1.0
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{type(module).__name__}' has no parameter or buffer '{name}'")
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    made = _SpectralNorm(weight, n_power_iterations, dim, eps)
    register_parametrization(module, name, made)
    return module
