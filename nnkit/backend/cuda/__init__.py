"""The CUDA backend: kernels by subject, formulas printed as CUDA C++, arrays of CuPy.

A kernel's driver has the catalogue's very signature. It makes its arrays from those it is given and
launches a function of kernels/<subject>.cu; what only moves axes about is the CPU's function, since
CuPy's arrays have NumPy's methods. Reference bodies serve for the rest.
"""

from __future__ import annotations

from nnkit.backend.algebra import Backend
from nnkit.backend.cuda.printer import print_formula

BACKEND = Backend("nnkit.backend.cuda", print_formula, lambda name, kernel: kernel)
