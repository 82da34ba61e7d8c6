"""torch.optim.adam: its step as a function."""

from __future__ import annotations

from nnkit.compat.names.optim import _functional

adam = _functional.__dict__["adam"]
