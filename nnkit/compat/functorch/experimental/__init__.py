"""functorch.experimental: `chunk_vmap` and control flow, under their old names."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from nnkit.compat.functorch.experimental import control_flow as control_flow
from nnkit.compat.names._functorch.vmap import _process_batched_inputs
from nnkit.compat.names.func import functionalize as functionalize
from nnkit.func import hessian as hessian
from nnkit.func import jacfwd as jacfwd
from nnkit.func import jvp as jvp
from nnkit.func import replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_
from nnkit.func import vmap


def chunk_vmap(
    func: Callable, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", chunks: int = 2
) -> Callable:
    """`nnkit.func.vmap`, one after another for a number of parts of the batch."""

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        size = _process_batched_inputs(in_dims, args, func)[0]
        of_part = vmap(func, in_dims, out_dims, randomness, chunk_size=max(-(-size // chunks), 1))
        return of_part(*args, **kwargs)

    return mapped
