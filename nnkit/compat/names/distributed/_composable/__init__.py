"""torch.distributed._composable: older places of modules of `torch.distributed`."""

from __future__ import annotations
