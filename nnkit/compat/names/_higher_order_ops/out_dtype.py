"""torch._higher_order_ops.out_dtype: an operator computed in a wider dtype."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import nnkit
from nnkit.utils._pytree import tree_leaves, tree_map


def out_dtype(op: Callable, output_dtype: nnkit.dtype, *args: Any) -> Any:
    """``op(*args)`` in ``output_dtype``, computed in the promoted dtype of this and all tensors.

    Example:
        >>> x = nnkit.tensor([[100, 100]], dtype=nnkit.int8)
        >>> out_dtype(nnkit.mm, nnkit.int32, x, x.T)
        tensor([[20000]], dtype=nnkit.int32)
    """
    dtypes = [each.dtype for each in tree_leaves(args) if isinstance(each, nnkit.Tensor)]
    common = functools.reduce(nnkit.promote_types, dtypes, output_dtype)
    return op(*tree_map(lambda x: x.to(common) if isinstance(x, nnkit.Tensor) else x, args)).to(
        output_dtype
    )
