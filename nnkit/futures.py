"""Values that are there later, as ``torch.futures``."""

from __future__ import annotations

from nnkit.backend.futures import Future, collect_all, wait_all

__all__ = ["Future", "collect_all", "wait_all"]
