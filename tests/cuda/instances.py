"""Every kernel of backend/cuda/kernels with the template arguments that its driver may ask for.

A row is a subject: kernel name -> a tuple of choices for each template argument. All combinations
are compiled (tools/nvrtc.py); `test_compile.py` fails for a ``__global__`` function without a row.
"""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np

from nnkit.backend.cuda.source import FOLDER, expression

FLOATING = tuple(np.dtype(d) for d in (np.float32, np.float64, np.float16, ml_dtypes.bfloat16))
INTEGERS = tuple(np.dtype(d) for d in (np.uint8, np.int8, np.int16, np.int32, np.int64))
BOTH = (False, True)

KERNELS: dict[str, dict[str, tuple[tuple[Any, ...], ...]]] = {
    "indexing": {
        "checked_index": (INTEGERS, BOTH),
        "add_segments": ((*FLOATING, *INTEGERS, np.dtype(np.bool_)),),
    },
    "softmax": {
        "softmax_rows": (FLOATING, BOTH, BOTH, (0, 8)),
        "softmax_rows_grad": (FLOATING, BOTH, BOTH, (0, 8)),
        "softmax_slices": (FLOATING, BOTH),
        "softmax_slices_grad": (FLOATING, BOTH),
    },
}


def names(subject: str) -> tuple[str, ...]:
    """The C++ names of all instances of a subject."""
    return tuple(
        expression(name, *arguments)
        for name, choices in KERNELS[subject].items()
        for arguments in product(*choices)
    )


def defined(subject: str) -> set[str]:
    """The names of the ``__global__`` functions in a source."""
    text = (FOLDER / f"{subject}.cu").read_text()
    return set(re.findall(r"__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s+)?(\w+)\(", text))
