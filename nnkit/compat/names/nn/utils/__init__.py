"""torch.nn.utils: see `nnkit.nn.utils`."""

from __future__ import annotations

import warnings
from typing import Any

from nnkit.nn.utils.clip_grad import clip_grad_norm_


def clip_grad_norm(*arguments: Any, **named: Any) -> Any:
    """The old name of `clip_grad_norm_`."""
    message = "clip_grad_norm is deprecated: use torch.nn.utils.clip_grad_norm_"
    warnings.warn(message, FutureWarning, stacklevel=2)
    return clip_grad_norm_(*arguments, **named)
