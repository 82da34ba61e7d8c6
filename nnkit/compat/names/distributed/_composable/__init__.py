"""torch.distributed._composable: older places of what `torch.distributed` has elsewhere."""

from __future__ import annotations
