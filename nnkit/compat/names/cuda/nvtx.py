"""torch.cuda.nvtx: marks in the timeline of NVIDIA's profiler, without effect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nnkit.compat.passing import nothing

mark = range_push = range_pop = range_start = range_end = nothing


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A context manager for a named range in the timeline, without effect."""
    yield
