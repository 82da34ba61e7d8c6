"""The CPU backend: NumPy kernels by subject, and formulas printed as NumPy code."""

from __future__ import annotations

import warnings

from nnkit.backend.algebra import Backend
from nnkit.backend.cpu.printer import print_formula

BACKEND = Backend("nnkit.backend.cpu", print_formula)

# As in torch, a division by zero or an overflow gives inf or NaN without a word. NumPy's errstate
# would cost 1 us an operation and does not reach new threads; a filter on our own frames does.
warnings.filterwarnings(
    "ignore",
    r"(divide by zero|overflow|underflow|invalid value) encountered",
    RuntimeWarning,
    r"nnkit\.backend\.cpu",
)
