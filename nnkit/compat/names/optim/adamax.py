"""torch.optim.adamax: its step as a function."""

from __future__ import annotations

from nnkit.compat.names.optim import _functional

adamax = _functional.__dict__["adamax"]
