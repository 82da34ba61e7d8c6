"""torch.backends.openmp: the threads of nnkit's kernels are its own."""

from __future__ import annotations

from nnkit.compat.passing import false

is_available = false
