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

from nnkit.backend.cuda.source import FOLDER, TYPES, expression

FLOATING = tuple(np.dtype(d) for d in (np.float32, np.float64, np.float16, ml_dtypes.bfloat16))
INTEGERS = tuple(np.dtype(d) for d in (np.uint8, np.int8, np.int16, np.int32, np.int64))
BOTH = (False, True)

NUMBERS = (*FLOATING, *INTEGERS, np.dtype(np.bool_))
TEAMS = (0, 1, 2)  # TeamKind of kernels/team.cuh
KEPT = (0, 8, 32)  # elements of a row that a thread keeps, of float64 at most 8


def operations(names: dict[str, tuple[str, ...]], dtypes: tuple) -> tuple[str, ...]:
    """Structures of kernels/reduction.cuh or scan.cu with what follows the dtype."""
    return tuple(
        f"nnkit::{name}<{TYPES[dtype]}{more}>"
        for name, options in names.items()
        for more in options
        for dtype in dtypes
    )


REDUCED = operations(
    {"SumOf": (", false",), "ProductOf": ("",), "TruthOf": (", true", ", false"),
     "ExtremeOf": (", true", ", false")}, NUMBERS,
) + operations(
    {"SumOf": (", true",), "LogSumExpOf": ("",),
     "NormOf": (", 0", ", 1", ", 2", ", 3", ", 4", ", 5"),
     "VarianceOf": (", false, false", ", true, false", ", false, true")}, FLOATING,
)  # fmt: skip
SCANNED = operations(
    dict.fromkeys(("RunningSum", "RunningProduct", "RunningMaximum", "RunningMinimum"), ("",)),
    NUMBERS,
) + operations(dict.fromkeys(("RunningLogSumExp", "Recurrence"), ("",)), FLOATING)

# An element, or as many as fill four bytes.
TRANSPOSED = tuple(
    f"{TYPES[dtype]}, {width}" for dtype in NUMBERS for width in (1, 2, 4)
    if width * dtype.itemsize <= 4 or width == 1
)  # fmt: skip
# An element, or as many as fill sixteen bytes; of columns at most eight, for their accumulators.
PACKED = tuple(f"{TYPES[d]}, {width}" for d in FLOATING for width in (1, 16 // d.itemsize))
COLUMNS = tuple(
    f"{operation}, {width}"
    for operation in REDUCED
    for dtype in NUMBERS
    if f"<{TYPES[dtype]}" in operation
    for width in (1, min(16 // dtype.itemsize, 8))
)

KERNELS: dict[str, dict[str, tuple[tuple[Any, ...], ...]]] = {
    "indexing": {
        "checked_index": (INTEGERS, BOTH),
    },
    "accumulation": {"add_runs": (NUMBERS,), "join_runs": (NUMBERS,)},
    "attention": dict.fromkeys(
        ("attention", "attention_grad_q", "attention_grad_kv"),
        ((FLOATING[0], *FLOATING[2:]), (64, 128)),
    ),
    "attention_tensor": dict.fromkeys(
        ("attention", "attention_grad_q", "attention_grad_kv"), (FLOATING[2:], (64, 128))
    ),
    "conv": {
        **dict.fromkeys(
            "im2col col2im add_bias depthwise depthwise_grad_input depthwise_grad_weight".split(),
            (FLOATING,),
        ),
        "swap_batch": (PACKED,),
    },
    "conv_tensor": dict.fromkeys(
        ("conv", "conv_grad_weight"), ((FLOATING[0], *FLOATING[2:]), (64, 128))
    ),
    "copy": {"transposed": (TRANSPOSED,), "copy_rows": (NUMBERS, (0, 1))},
    "ctc": dict.fromkeys(("ctc_loss", "ctc_loss_grad"), (FLOATING[:2],)),
    "embedding": {
        "embedding_rows": (FLOATING,),
        "mark_rows": (),
        "renormalize_rows": (FLOATING,),
        "bag_maxima": (FLOATING,),
        "one_hot_rows": (),
    },
    "loss": {
        "cross_entropy": (FLOATING, TEAMS),
        "nll_loss": (FLOATING,),
        "reduce_losses": (FLOATING, BOTH),
        "round_losses": (FLOATING,),
        "weight_totals": (FLOATING,),
        "cross_entropy_grad": (FLOATING, TEAMS),
        "nll_loss_grad": (FLOATING, TEAMS),
    },
    "norm": {
        "norm_rows": (FLOATING, (0, 1), KEPT, BOTH, BOTH),
        "norm_rows_grad": (FLOATING, (0, 1), KEPT, BOTH, BOTH),
        "norm_columns_grad_weight": (PACKED,),
        "norm_channel_sums": (PACKED,),
        "norm_channels": (FLOATING, TEAMS),
        "norm_channels_grad": (FLOATING, TEAMS, BOTH),
        "update_running": (FLOATING, FLOATING),
    },
    "pooling": {
        **dict.fromkeys(
            "max_pool adaptive_max_pool max_pool_gather max_unpool avg_pool avg_pool_grad".split(),
            ((*FLOATING, *INTEGERS),),
        ),
        **dict.fromkeys(
            "fractional_max_pool max_pool_grad adaptive_avg_pool adaptive_avg_pool_grad".split(),
            (FLOATING,),
        ),
        "unpool_owners": (),
    },
    "random": {
        **dict.fromkeys(
            "uniform dropout exponential cauchy rrelu_noise check_weights".split(), (FLOATING,)
        ),
        "normal": (FLOATING, BOTH),
        "integers": (NUMBERS, BOTH),
        "geometric": ((*FLOATING, *INTEGERS),),
        "bernoulli": ((*FLOATING, np.dtype(np.bool_)),),
        "bernoulli_from": (FLOATING[:2],),
        "draw_classes": (FLOATING[:2],),
        "write_place": (),
    },
    "recurrent": dict.fromkeys(
        ("lstm_cell", "lstm_cell_grad", "gru_cell", "gru_cell_grad"), (FLOATING[:2],)
    ),
    "reduction": {
        "reduce_rows": (REDUCED, (0, 1)),
        "reduce_columns": (COLUMNS,),
        "reduce_parts": (REDUCED,),
    },
    "scan": {"scan_rows": (SCANNED, BOTH), "scan_slices": (SCANNED,)},
    "softmax": {
        "softmax_rows": (FLOATING, BOTH, (0, 1), KEPT, BOTH),
        "softmax_rows_grad": (FLOATING, BOTH, (0, 1), KEPT, BOTH),
        "softmax_slices": (FLOATING, BOTH),
        "softmax_slices_grad": (FLOATING, BOTH),
    },
}

LEAST = {"attention_tensor": 80, "conv_tensor": 80}  # compute capabilities that sources need


def targets(subject: str, given: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the targets (``sm_80``) that a source can be compiled for."""
    return tuple(t for t in given if int(t.removeprefix("sm_")) >= LEAST.get(subject, 0))


def names(subject: str) -> tuple[str, ...]:
    """The C++ names of all instances of a subject."""
    return tuple(
        expression(name, *arguments)
        for name, choices in KERNELS[subject].items()
        for arguments in product(*choices)
        if FLOATING[1] not in arguments[:1] or 32 not in arguments[1:]
    )


def defined(subject: str) -> set[str]:
    """The names of the ``__global__`` functions in a source."""
    text = (FOLDER / f"{subject}.cu").read_text()
    return set(re.findall(r"__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s+)?(\w+)\(", text))
