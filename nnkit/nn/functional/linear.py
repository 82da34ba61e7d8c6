"""Linear and bilinear maps as functions."""

from __future__ import annotations

from nnkit.autograd.ops.linalg.linear import bilinear, linear

__all__ = ["bilinear", "linear"]
