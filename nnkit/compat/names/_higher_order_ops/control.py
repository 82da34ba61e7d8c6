"""torch.cond and torch.while_loop: Python's own, called with tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def cond(pred: Any, true_fn: Callable, false_fn: Callable, operands: tuple | list = ()) -> Any:
    """What one of two functions gives of the operands."""
    return true_fn(*operands) if bool(pred) else false_fn(*operands)


def while_loop(cond_fn: Callable, body_fn: Callable, carried_inputs: tuple | list) -> Any:
    """What is carried, once ``cond_fn`` of it no longer holds; ``body_fn`` gives the next."""
    carried = tuple(carried_inputs)
    while bool(cond_fn(*carried)):
        following = body_fn(*carried)
        carried = tuple(following) if isinstance(following, (tuple, list)) else (following,)
    return carried
