"""torch.optim.sgd: its step as a function."""

from __future__ import annotations

from nnkit.compat.names.optim import _functional

sgd = _functional.__dict__["sgd"]
