"""Dropout in one kernel that draws its own Philox words; kernels/random.cu.

Dropout of whole channels, and alpha dropout, are the bodies of backend/reference/dropout.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nnkit.backend.cuda.creation import copy_, empty_like
from nnkit.backend.cuda.launch import THREADS, blocks_for
from nnkit.backend.cuda.philox import drawn, stream_of_gpu
from nnkit.backend.cuda.source import current_machine, kernel
from nnkit.backend.philox import WORDS
from nnkit.backend.reference import dropout as body


def dropout(x: Any, p: float, feature: bool) -> tuple[Any, Any]:
    if feature or not 0 <= p < 1 or not x.size:
        from nnkit.backend.cuda import BACKEND as B

        return body.dropout(B, x, p, feature)
    # In the order of memory, as the CPU draws: an array whose memory has gaps is copied first.
    out, noise = empty_like(x), empty_like(x)
    source = x if x.strides == out.strides else copy_(empty_like(x), x)
    stream = drawn(stream_of_gpu(), x.size, WORDS)
    blocks = blocks_for(-(-x.size // WORDS), THREADS, current_machine().processors)
    run = kernel("random", "dropout", x.dtype)
    given = (source, out, noise, np.int64(x.size), stream, np.float64(p))
    run((blocks,), (THREADS,), given)
    return out, noise
