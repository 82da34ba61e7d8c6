"""Apple's GPU, as ``torch.backends.mps``; nnkit has no backend for it."""

from __future__ import annotations


def is_available() -> bool:
    """Whether tensors can live there: False."""
    return False


def is_built() -> bool:
    """Whether this nnkit was built for it: False."""
    return False
