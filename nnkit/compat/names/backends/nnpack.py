"""torch.backends.nnpack: NNPACK, which nnkit does without."""

from __future__ import annotations

from nnkit.compat.passing import Inert, false

is_available = false
flags = Inert
