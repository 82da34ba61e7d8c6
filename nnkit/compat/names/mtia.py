"""torch.mtia: devices of Meta, of which there are none."""

from nnkit.compat.names.xpu import *  # noqa: F403
