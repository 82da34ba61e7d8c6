"""torch.mps: Apple's GPUs, of which there are none."""

from nnkit.compat.names.xpu import *  # noqa: F403
