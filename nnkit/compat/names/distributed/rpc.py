"""torch.distributed.rpc: calls in other processes, as in a build of torch without them."""

from __future__ import annotations

from nnkit.compat.passing import false

is_available = false
