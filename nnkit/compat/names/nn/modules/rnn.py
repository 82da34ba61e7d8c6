"""torch.nn.modules.rnn: an old name."""

from __future__ import annotations

from nnkit import Tensor
from nnkit.backend.warning import warn


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """The slices of a tensor in another order."""
    message = "apply_permutation is deprecated: use tensor.index_select(dim, permutation)"
    warn(message, FutureWarning)
    return tensor.index_select(dim, permutation)
