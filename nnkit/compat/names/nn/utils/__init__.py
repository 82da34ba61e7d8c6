"""torch.nn.utils: see `nnkit.nn.utils`."""

from __future__ import annotations

from typing import Any

from nnkit.backend.warning import warn
from nnkit.nn.utils.clip_grad import clip_grad_norm_


def clip_grad_norm(*arguments: Any, **named: Any) -> Any:
    """The old name of `clip_grad_norm_`."""
    message = "clip_grad_norm is deprecated: use torch.nn.utils.clip_grad_norm_"
    warn(message, FutureWarning)
    return clip_grad_norm_(*arguments, **named)
