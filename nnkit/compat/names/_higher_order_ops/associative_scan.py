"""torch._higher_order_ops.associative_scan: prefix scans of any associative function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nnkit
from nnkit.utils._pytree import tree_flatten, tree_unflatten


def associative_scan(
    combine_fn: Callable, xs: Any, dim: int, reverse: bool = False, combine_mode: str = "pointwise"
) -> Any:
    """For each index along ``dim``, all elements up to it, combined by ``combine_fn(left, right)``.

    Each of log2(n) rounds combines every place with that as far before it as rounds have reached.

    Example:
        >>> associative_scan(lambda a, b: a * b, nnkit.arange(1, 5), 0)
        tensor([ 1,  2,  6, 24])
    """
    leaves, shape = tree_flatten(xs)
    dim %= leaves[0].ndim
    if reverse:
        leaves = [x.flip(dim) for x in leaves]
    size, reach = leaves[0].shape[dim], 1
    while reach < size:
        left = [x.narrow(dim, 0, size - reach) for x in leaves]
        right = [x.narrow(dim, reach, size - reach) for x in leaves]
        both = combine_fn(tree_unflatten(left, shape), tree_unflatten(right, shape))
        leaves = [
            nnkit.cat([x.narrow(dim, 0, reach), y], dim)
            for x, y in zip(leaves, tree_flatten(both)[0], strict=True)
        ]
        reach *= 2
    if reverse:
        leaves = [x.flip(dim) for x in leaves]
    return tree_unflatten(leaves, shape)
