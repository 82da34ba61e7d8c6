"""torch.nn.modules.transformer: the choice of an activation, which libraries borrow."""

from __future__ import annotations

from nnkit.nn.modules.transformer_layers import _activation as _get_activation_fn

__all__ = ["_get_activation_fn"]
