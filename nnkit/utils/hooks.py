"""Handles and hooks under the names of ``torch.utils.hooks``."""

from __future__ import annotations

from nnkit.autograd.engine.node import RemovableHandle
from nnkit.nn.modules.module_backward import BackwardHook

__all__ = ["BackwardHook", "RemovableHandle"]
