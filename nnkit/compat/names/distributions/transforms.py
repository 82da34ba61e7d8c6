"""torch.distributions.transforms: see `nnkit.distributions.transforms`."""

from __future__ import annotations

import nnkit
from nnkit.autograd import Tensor


def _clipped_sigmoid(x: Tensor) -> Tensor:
    finfo = nnkit.finfo(x.dtype)
    return x.sigmoid().clamp(min=finfo.tiny, max=1.0 - finfo.eps)
