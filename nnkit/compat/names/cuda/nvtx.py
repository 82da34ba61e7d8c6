"""torch.cuda.nvtx: marks in the timeline of NVIDIA's profiler, which nothing here writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nnkit.compat.passing import nothing

mark = range_push = range_pop = range_start = range_end = nothing


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A block that is to have a name in the timeline."""
    yield
