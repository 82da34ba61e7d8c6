"""torch.fx._compatibility: marks of functions whose signatures are stable or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_Marked = TypeVar("_Marked")


def compatibility(is_backward_compatible: bool) -> Callable[[_Marked], _Marked]:
    """A decorator that marks whether the signature of a function or class is stable."""

    def mark(fn: _Marked) -> _Marked:
        noted: Any = fn
        noted._backward_compatible = is_backward_compatible
        return fn

    return mark
