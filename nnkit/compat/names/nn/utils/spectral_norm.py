"""torch.nn.utils.spectral_norm: see `nnkit.nn.utils.weight_hooks`."""

from __future__ import annotations

from nnkit.nn.utils.weight_hooks import SpectralNorm as SpectralNorm
from nnkit.nn.utils.weight_hooks import spectral_norm as spectral_norm
