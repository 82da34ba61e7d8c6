"""Padding as a function."""

from __future__ import annotations

from nnkit.autograd.ops.padding import pad

__all__ = ["pad"]
