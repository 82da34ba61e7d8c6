"""Windows as columns and back, and rearrangements between channels and space, as functions."""

from __future__ import annotations

from nnkit.autograd.ops.folding import channel_shuffle, fold, pixel_shuffle, pixel_unshuffle, unfold

__all__ = ["channel_shuffle", "fold", "pixel_shuffle", "pixel_unshuffle", "unfold"]
