"""torch._tensor_str: how tensors are printed."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.surface.printing import OPTIONS as PRINT_OPTS
from nnkit.autograd.surface.printing import set_printoptions as set_printoptions

__all__ = ["PRINT_OPTS", "set_printoptions"]


def _tensor_str(self: Any, indent: int) -> str:
    """The numbers of a tensor as a text, without ``tensor(...)`` around them."""
    text = repr(self.detach())
    return text[text.index("[") : text.rindex("]") + 1].replace("\n" + " " * 7, "\n" + " " * indent)
