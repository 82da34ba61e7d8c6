"""Helpers of the layers over several spatial axes."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any


def ntuple(value: Any, axes: int) -> tuple:
    """A number repeated for each axis; several numbers as they are.

    >>> ntuple(3, 2), ntuple([1, 2], 2)
    ((3, 3), (1, 2))
    """
    return tuple(value) if isinstance(value, Iterable) else (value,) * axes


def check_integers(name: str, **values: Any) -> None:
    """TypeError for sizes that are no integers; 0-dim tensors and arrays of integers are."""
    for what, value in values.items():
        try:
            if isinstance(value, bool):
                raise TypeError
            operator.index(value)
        except TypeError:
            raise TypeError(f"{name}: {what} must be an int, got {value!r}") from None


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take a prefix off the keys of a state dict, such as the ``module.`` of DataParallel.

    >>> state = {"module.weight": 1}
    >>> consume_prefix_in_state_dict_if_present(state, "module.")
    >>> state
    {'weight': 1}
    """
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[key.removeprefix(prefix)] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    for key in list(metadata or ()):
        if metadata is not None and (key + "." == prefix or key.startswith(prefix)):
            value = metadata.pop(key)
            metadata["" if key + "." == prefix else key.removeprefix(prefix)] = value
