"""What the layers over several spatial axes share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def ntuple(value: Any, axes: int) -> tuple:
    """A number repeated for each axis; several numbers as they are.

    >>> ntuple(3, 2), ntuple([1, 2], 2)
    ((3, 3), (1, 2))
    """
    return tuple(value) if isinstance(value, Iterable) else (value,) * axes
