"""torch.optim.rmsprop: its step as a function."""

from __future__ import annotations

from nnkit.compat.names.optim import _functional

rmsprop = _functional.__dict__["rmsprop"]
