"""Indices that are checked on the GPU; kernels/indexing.cu."""

from __future__ import annotations

from typing import Any

import numpy as np

from nnkit.backend.cuda import failures
from nnkit.backend.cuda.differences import contiguous, empty
from nnkit.backend.cuda.launch import THREADS, blocks_for
from nnkit.backend.cuda.source import current_machine, kernel


def checked_index(index: Any, size: int, code: int, wraps: bool = False) -> Any:
    """An int64 copy of ``index`` with every element in [0, size); one that is not is reported as
    ``code`` (see `failures`) and becomes 0."""
    index = contiguous(index)
    out = empty(index.shape, np.dtype(np.int64), index)
    if index.size:
        run = kernel("indexing", "checked_index", index.dtype, wraps)
        arguments = (index, out, np.int64(index.size), np.int64(size), *failures.report(code))
        blocks = blocks_for(index.size, THREADS, current_machine().processors)
        run((blocks,), (THREADS,), arguments)
    return out
