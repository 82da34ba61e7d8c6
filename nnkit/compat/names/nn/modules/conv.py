"""torch.nn.modules.conv: the older name of the base of transposed convolutions."""

from __future__ import annotations

from nnkit.nn.modules.conv import _ConvTransposeNd as _ConvTransposeMixin

__all__ = ["_ConvTransposeMixin"]
