"""torch.optim.adagrad: its step as a function."""

from __future__ import annotations

from nnkit.compat.names.optim import _functional

adagrad = _functional.__dict__["adagrad"]
