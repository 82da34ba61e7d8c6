"""torch.fx._compatibility: the mark of functions whose signatures will, or may not, stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_Marked = TypeVar("_Marked")


def compatibility(is_backward_compatible: bool) -> Callable[[_Marked], _Marked]:
    """A decorator that notes on a function or class whether its signature stays as it is."""

    def mark(fn: _Marked) -> _Marked:
        noted: Any = fn
        noted._backward_compatible = is_backward_compatible
        return fn

    return mark
