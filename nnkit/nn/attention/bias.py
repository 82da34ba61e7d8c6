"""Masks of attention that are known by their kind, as ``torch.nn.attention.bias``."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.ops.creation.factories import ones
from nnkit.backend.dtype import bool_

__all__ = ["causal_lower_right", "causal_upper_left"]


def _check(size: tuple[Any, ...]) -> tuple[int, int]:
    if len(size) != 2:
        raise AssertionError("the mask of a causal attention has two dimensions")
    rows, columns = size
    return rows, columns


def causal_upper_left(*size: int) -> Tensor:
    """The mask in which the query at ``i`` sees the keys up to ``i``: for ``(L, S)``.

    Example:
        >>> from nnkit.nn.attention.bias import causal_upper_left
        >>> causal_upper_left(2, 3)
        tensor([[ True, False, False],
                [ True,  True, False]])
    """
    return ones(_check(size), dtype=bool_).tril()


def causal_lower_right(*size: int) -> Tensor:
    """The mask in which the last query sees all keys: for ``(L, S)``.

    Example:
        >>> from nnkit.nn.attention.bias import causal_lower_right
        >>> causal_lower_right(2, 3)
        tensor([[ True,  True, False],
                [ True,  True,  True]])
    """
    rows, columns = _check(size)
    return ones((rows, columns), dtype=bool_).tril(columns - rows)
