"""torch.optim.nadam: its step as a function."""

from __future__ import annotations

from nnkit.compat.names.optim import _functional

nadam = _functional.__dict__["nadam"]
