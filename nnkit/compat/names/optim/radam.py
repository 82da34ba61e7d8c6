"""torch.optim.radam: its step as a function."""

from __future__ import annotations

from nnkit.compat.names.optim import _functional

radam = _functional.__dict__["radam"]
