"""torch.signal.windows.windows: see `nnkit.signal.windows`."""

from __future__ import annotations

from nnkit.signal.windows import *  # noqa: F403
