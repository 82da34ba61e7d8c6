"""torch.optim.adamw: its step as a function."""

from __future__ import annotations

from nnkit.compat.names.optim import _functional

adamw = _functional.__dict__["adamw"]
