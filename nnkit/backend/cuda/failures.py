"""Errors found by kernels: kept in a flag, raised at the next call that waits for the GPU.

A kernel cannot raise. It keeps the first failure (`report` in kernels/common.cuh), goes on with a
harmless value, and the next synchronising call on the host raises it, so the context lives on.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

# The number that a kernel reports -> the exception and its text.
CODES: dict[int, tuple[type[Exception], str]] = {
    1: (IndexError, "embedding(): index out of range in self: {value} in a table of {limit} rows"),
    2: (IndexError, "cross_entropy(): Target {value} is out of bounds for {limit} classes"),
    3: (IndexError, "index {value} is out of bounds for a dimension of size {limit}"),
    4: (RuntimeError, "index {value} is out of bounds for a dimension of size {limit}"),
    5: (RuntimeError, "one_hot(): Class values must be non-negative and smaller than num_classes, "
                      "got {value} with {limit} classes"),
    6: (RuntimeError, "ZeroDivisionError: division by zero on integers"),
    7: (RuntimeError, "bernoulli expects every p to be in [0, 1]"),
    8: (RuntimeError, "multinomial(): the weights of row {value} are all zero, or one of them is "
                      "inf, NaN or negative"),
    9: (IndexError, "nll_loss(): Target {value} is out of bounds for {limit} classes"),
    10: (RuntimeError, "max_unpool(): Found an invalid max index: {value} (output planes have "
                       "{limit} elements)"),
}  # fmt: skip
(
    EMBEDDING, TARGET, INDEX, POSITION, CLASS, ZERO_DIVISION, PROBABILITY, WEIGHTS, LABEL, UNPOOLED,
) = CODES  # fmt: skip


_worded: dict[tuple[type[Exception], str], int] = {}


def code_of(kind: type[Exception], message: str) -> int:
    """The number to report for an error whose text the caller knows."""
    entry = kind, message.replace("{", "{{").replace("}", "}}")
    code = _worded.setdefault(entry, len(CODES) + 1)
    CODES[code] = entry
    return code


class Failure(ctypes.Structure):
    """`nnkit::Failure` of kernels/common.cuh."""

    _fields_ = [
        ("code", ctypes.c_int), ("unused", ctypes.c_int),
        ("value", ctypes.c_int64), ("limit", ctypes.c_int64),
    ]  # fmt: skip


_flag: Any = None
_memory: Any = None  # keeps the flag's memory alive


def _flag_in_memory() -> Failure:
    """The flag, in host memory that kernels reach at the same address: no copy to look at it."""
    global _flag, _memory
    if _flag is None:
        size = ctypes.sizeof(Failure)
        from nnkit.backend.cuda.source import current_machine

        _memory = current_machine().host_memory(size)
        _flag = Failure.from_address(_memory.ptr)
        _flag.code = 0
    return _flag


def report(code: int) -> tuple[np.uint64, np.int32]:
    """The arguments with which a kernel reports a failure: its `Failure*`, and the number."""
    return np.uint64(ctypes.addressof(_flag_in_memory())), np.int32(code)


def check() -> None:
    """Raise what a kernel reported since the last check; the GPU must be waited for before.

    Raises:
        IndexError, RuntimeError: what `CODES` says.
    """
    if _flag is None or not _flag.code:
        return
    code, value, limit = _flag.code, _flag.value, _flag.limit
    _flag.code = 0
    kind, text = CODES[code]
    raise kind(text.format(value=value, limit=limit))
