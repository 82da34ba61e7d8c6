"""Arguments of the ops on (N, C, *spatial): numbers for each spatial axis, and the batch axis."""

from __future__ import annotations

import operator
from typing import Any

from nnkit.autograd.op import OPS
from nnkit.autograd.tensor import Tensor

Ints = tuple[int, ...]


def ints(name: str, parameter: str, value: Any, axes: int) -> Ints:
    """An int, or a sequence of one int or of one for each axis, as a tuple of ``axes`` ints.

    Raises:
        TypeError: it is neither.
        RuntimeError: a sequence of another length.
    """
    try:
        if not isinstance(value, (tuple, list)):
            return (operator.index(value),) * axes
        numbers = tuple(operator.index(v) for v in value)
    except TypeError:
        wanted = f"int or tuple of {axes} ints" if axes > 1 else "int or tuple of one int"
        raise TypeError(
            f"{name}(): argument '{parameter}' must be {wanted}, got {value!r}"
        ) from None
    if len(numbers) == 1:
        return numbers * axes
    if len(numbers) != axes:
        raise RuntimeError(
            f"{name}(): argument '{parameter}' must be an int or a tuple of {axes} ints, "
            f"got {len(numbers)}: {value!r}"
        )
    return numbers


def at_least(name: str, parameter: str, numbers: Ints, least: int) -> Ints:
    """The numbers; RuntimeError where one is below ``least``."""
    if min(numbers) < least:
        raise RuntimeError(
            f"{name}(): argument '{parameter}' must be at least {least}, got {list(numbers)}"
        )
    return numbers


def batched(name: str, input: Tensor, axes: int) -> Tensor:
    """``input`` as (N, C, *spatial), with N = 1 where it came without a batch axis.

    Raises:
        RuntimeError: neither one nor two dimensions more than spatial axes.
    """
    ndim = input.ndim - axes
    if ndim not in (1, 2):
        raise RuntimeError(
            f"{name}(): expected {axes + 1}D (unbatched) or {axes + 2}D (batched) input, "
            f"got input of shape {list(input.shape)}"
        )
    return input if ndim == 2 else OPS["unsqueeze"](input, 0)


def like_input(result: Tensor, input: Tensor) -> Tensor:
    """``result`` without its batch axis where ``input`` had none."""
    return result if result.ndim == input.ndim else OPS["squeeze"](result, (0,))
