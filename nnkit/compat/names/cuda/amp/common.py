"""torch.cuda.amp.common: whether there is a device for the older casts."""

from __future__ import annotations

from importlib.util import find_spec

from nnkit import cuda


def amp_definitely_not_available() -> bool:
    """Whether there is neither a GPU nor the package ``torch_xla``."""
    return not (cuda.is_available() or find_spec("torch_xla"))
