"""torch.distributed: what `nnkit.distributed` has; process groups are those of MPI."""

from __future__ import annotations
