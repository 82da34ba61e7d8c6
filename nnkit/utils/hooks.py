"""Handles and hooks under the names of ``torch.utils.hooks``."""

from __future__ import annotations

from nnkit.autograd.engine.node import RemovableHandle
from nnkit.autograd.surface.copying import unserializable_hook, warn_if_has_hooks
from nnkit.nn.modules.module_backward import BackwardHook

__all__ = ["BackwardHook", "RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]
