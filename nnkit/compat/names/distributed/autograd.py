"""torch.distributed.autograd: gradients over calls in other processes, of which there are none."""

from __future__ import annotations

from nnkit.compat.passing import false

is_available = false
