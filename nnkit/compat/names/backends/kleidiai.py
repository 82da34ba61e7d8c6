"""torch.backends.kleidiai: KleidiAI, which nnkit does without."""

from __future__ import annotations

from nnkit.compat.passing import false

is_available = false
