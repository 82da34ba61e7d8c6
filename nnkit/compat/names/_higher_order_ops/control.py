"""torch.cond, torch.while_loop and map, as Python's own control flow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nnkit
from nnkit.utils._pytree import tree_flatten, tree_map, tree_unflatten


def cond(pred: Any, true_fn: Callable, false_fn: Callable, operands: tuple | list = ()) -> Any:
    """The result of one of two functions of the operands."""
    return true_fn(*operands) if bool(pred) else false_fn(*operands)


def while_loop(cond_fn: Callable, body_fn: Callable, carried_inputs: tuple | list) -> Any:
    """The carried values, updated by ``body_fn`` as long as ``cond_fn`` of them holds."""
    carried = tuple(carried_inputs)
    while bool(cond_fn(*carried)):
        following = body_fn(*carried)
        carried = tuple(following) if isinstance(following, (tuple, list)) else (following,)
    return carried


def map(f: Callable, xs: Any, *args: Any) -> Any:
    """What ``f`` gives of each part of the tensors of ``xs`` along their first dimension, and of
    ``args``; stacked.

    Raises:
        RuntimeError: there are no tensors, no parts, or not as many of each.
    """
    leaves, structure = tree_flatten(xs)
    sizes = {leaf.shape[0] if leaf.ndim else 0 for leaf in leaves}
    if len(sizes) != 1 or 0 in sizes:
        raise RuntimeError(
            f"map(): leading dimensions of mapped xs must be consistent and not 0, got "
            f"{[list(leaf.shape) for leaf in leaves]}"
        )
    parts = [f(tree_unflatten(list(row), structure), *args) for row in zip(*leaves)]
    return tree_map(lambda *rows: nnkit.stack(rows), *parts)
