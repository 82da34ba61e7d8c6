"""torch.optim.rprop: its step as a function."""

from __future__ import annotations

from nnkit.compat.names.optim import _functional

rprop = _functional.__dict__["rprop"]
