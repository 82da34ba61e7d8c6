"""torch.backends.cpu: the processor."""

from __future__ import annotations


def get_cpu_capability() -> str:
    """The instructions that programs may count on: the least, since nnkit's kernels choose."""
    return "DEFAULT"
