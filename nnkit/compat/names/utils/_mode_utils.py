"""torch.utils._mode_utils: what is computed without asking the modes."""

from __future__ import annotations

from nnkit.autograd.arguments.overriding import DisableTorchFunction


def no_dispatch() -> DisableTorchFunction:
    """A block in which tensors and modes are not asked."""
    return DisableTorchFunction()
