"""torch.optim.asgd: its step as a function."""

from __future__ import annotations

from nnkit.compat.names.optim import _functional

asgd = _functional.__dict__["asgd"]
