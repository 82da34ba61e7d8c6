"""cuDNN's switches, as ``torch.backends.cudnn``; the CPU's kernels are always deterministic."""

from __future__ import annotations

enabled = True
deterministic = False
benchmark = False
allow_tf32 = True


def is_available() -> bool:
    """Whether convolutions run on cuDNN: they never do here."""
    return False


def version() -> int | None:
    """The version of cuDNN: None, as there is none."""
    return None
