"""torch.backends.mkl: Intel's library of linear algebra, which nnkit does without."""

from __future__ import annotations

from nnkit.compat.passing import false

is_available = false
