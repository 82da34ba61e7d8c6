"""torch.nn.utils: see `nnkit.nn.utils`."""

from __future__ import annotations

from typing import Any

from nnkit.backend.warning import warn
from nnkit.compat.names.nn.utils.spectral_norm import spectral_norm as spectral_norm
from nnkit.compat.names.nn.utils.weight_norm import weight_norm as weight_norm
from nnkit.nn.utils.clip_grad import clip_grad_norm_


def clip_grad_norm(*arguments: Any, **named: Any) -> Any:
    """The old name of `clip_grad_norm_`."""
    message = "clip_grad_norm is deprecated: use torch.nn.utils.clip_grad_norm_"
    warn(message, FutureWarning)
    return clip_grad_norm_(*arguments, **named)
