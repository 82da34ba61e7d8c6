"""Functions of functions: derivatives and batches, under the names of ``torch.func``."""

from __future__ import annotations

from nnkit.func.batch_norm import replace_all_batch_norm_modules_
from nnkit.func.rearranging import rearrange
from nnkit.func.transforms import (
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
)
from nnkit.func.vmap import vmap
from nnkit.nn.utils.stateless import functional_call, stack_module_state

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "rearrange",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
