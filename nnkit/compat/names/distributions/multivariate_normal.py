"""torch.distributions.multivariate_normal: the names that libraries use."""

from __future__ import annotations

import nnkit
from nnkit.autograd import Tensor


def _precision_to_scale_tril(P: Tensor) -> Tensor:
    """The lower triangle L with L L' = P^-1."""
    flipped = nnkit.linalg.cholesky(P.flip(-2, -1))
    inverse = flipped.flip(-2, -1).mT
    one = nnkit.eye(P.shape[-1], dtype=P.dtype, device=P.device)
    return nnkit.linalg.solve_triangular(inverse, one, upper=False)
