"""Copies in another order of memory."""

from __future__ import annotations


def ordered(B, x, axes):
    """A copy whose dimension ``axes[0]`` is the slowest in memory, and so on."""
    copied = B.contiguous(B.permute(x, axes))
    return B.permute(copied, tuple(axes.index(axis) for axis in range(len(axes))))
