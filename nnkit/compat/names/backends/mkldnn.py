"""torch.backends.mkldnn: oneDNN, which nnkit does without."""

from __future__ import annotations

from nnkit.compat.passing import Inert, false

is_available = false
enabled = False
flags = Inert
