"""nnkit: PyTorch's API on NumPy, with its own kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nnkit import autograd as autograd
from nnkit.autograd import (
    Size as Size,
    Tensor as Tensor,
    enable_grad as enable_grad,
    inference_mode as inference_mode,
    is_grad_enabled as is_grad_enabled,
    is_inference_mode_enabled as is_inference_mode_enabled,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)
from nnkit.autograd.public import PUBLIC
from nnkit.backend.device import device as device
from nnkit.backend.dtype import (
    ALIASES,
    DTYPES,
    dtype as dtype,
    promote_types as promote_types,
    set_default_dtype as set_default_dtype,
    default_dtype as get_default_dtype,
)

__version__ = "0.1.0"

globals().update(DTYPES)
globals().update(ALIASES)
globals().update(PUBLIC)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
