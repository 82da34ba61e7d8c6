"""torch._functorch.vmap: what `vmap` does with arguments and results, for libraries that do the
same with containers of their own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from nnkit import Tensor
from nnkit.compat.names._C._functorch import _add_batch_dim as _add_batch_dim
from nnkit.compat.names._C._functorch import _remove_batch_dim as _remove_batch_dim
from nnkit.func.vmap import _create_batched_inputs as _create_batched_inputs
from nnkit.func.vmap import _process_batched_inputs as _process_batched_inputs
from nnkit.func.vmap import _unwrap_batched as _unwrap_batched
from nnkit.utils._pytree import _broadcast_to_and_flatten as _broadcast_to_and_flatten
from nnkit.utils._pytree import tree_flatten as tree_flatten
from nnkit.utils._pytree import tree_unflatten as tree_unflatten


def _get_name(func: Callable) -> str:
    """The name of a function in messages."""
    return getattr(func, "__name__", repr(func))


def _maybe_remove_batch_dim(
    name: str, batched_output: Any, vmap_level: int, batch_size: int, out_dim: int | None
) -> Any:
    """The tensor of all examples of a result, or with ``out_dim`` None the value that all share.

    Raises:
        ValueError: the result is no tensor.
    """
    if out_dim is None:
        return batched_output
    if not isinstance(batched_output, Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(batched_output)}"
        )
    return _remove_batch_dim(batched_output, vmap_level, batch_size, out_dim)


# Here libraries replace the steps of `vmap` by their own.
own: Any = import_module("nnkit.func.vmap")
own.steps = sys.modules[__name__]
