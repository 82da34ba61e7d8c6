"""torch.utils.checkpoint: what libraries that have checkpoints of their own take from it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from nnkit import Tensor


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors without history, which require gradients where they did.

    Raises:
        RuntimeError: the argument is no tuple.
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got {type(inputs).__name__}")
    return tuple(
        [
            each.detach().requires_grad_(each.requires_grad) if isinstance(each, Tensor) else each
            for each in inputs
        ]
    )


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if none of the inputs requires a gradient."""
    if not any(each.requires_grad for each in inputs if isinstance(each, Tensor)):
        warnings.warn(
            "None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2
        )
