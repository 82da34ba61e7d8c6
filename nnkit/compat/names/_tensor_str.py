"""torch._tensor_str: how tensors are printed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from nnkit.autograd.surface.printing import OPTIONS as PRINT_OPTS
from nnkit.autograd.surface.printing import noted
from nnkit.autograd.surface.printing import set_printoptions as set_printoptions

__all__ = ["PRINT_OPTS", "get_printoptions", "printoptions", "set_printoptions"]


def get_printoptions() -> dict[str, Any]:
    """The settings of `set_printoptions` by their names."""
    names = "precision", "threshold", "edgeitems", "linewidth", "sci_mode"
    return {name: getattr(PRINT_OPTS, name) for name in names}


@contextlib.contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """`set_printoptions` as a context manager."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


def _tensor_str(self: Any, indent: int) -> str:
    """The text of a tensor's elements, without ``tensor(...)`` around them."""
    text = repr(self.detach())
    return text[text.index("[") : text.rindex("]") + 1].replace("\n" + " " * 7, "\n" + " " * indent)


def _add_suffixes(tensor_str: str, suffixes: list[str], indent: int, force_newline: bool) -> str:
    """A text of a tensor with notes after it, and the bracket that closes it."""
    return noted(tensor_str, suffixes, indent, force_newline)
