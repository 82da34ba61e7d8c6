"""The CPU backend: NumPy kernels by subject, and formulas printed as NumPy code."""

from __future__ import annotations

from nnkit.backend.algebra import Backend
from nnkit.backend.cpu.printer import print_formula

BACKEND = Backend("nnkit.backend.cpu", print_formula)
