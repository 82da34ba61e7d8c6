"""torch.optim.adadelta: its step as a function."""

from __future__ import annotations

from nnkit.compat.names.optim import _functional

adadelta = _functional.__dict__["adadelta"]
