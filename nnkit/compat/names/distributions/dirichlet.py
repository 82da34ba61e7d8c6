"""torch.distributions.dirichlet: the names that libraries use."""

from __future__ import annotations

from nnkit import Tensor
from nnkit.distributions.reparameterization import dirichlet_grad


def _Dirichlet_backward(x: Tensor, concentration: Tensor, grad_output: Tensor) -> Tensor:
    """The gradient of a draw ``x`` by the concentration."""
    total = concentration.sum(-1, True).expand_as(concentration)
    slope = dirichlet_grad(x, concentration, total)
    return slope * (grad_output - (x * grad_output).sum(-1, True))
