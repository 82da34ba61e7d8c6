"""torch.nn.utils.weight_norm: see `nnkit.nn.utils.weight_hooks`."""

from __future__ import annotations

from nnkit.nn.utils.weight_hooks import WeightNorm as WeightNorm
from nnkit.nn.utils.weight_hooks import weight_norm as weight_norm
