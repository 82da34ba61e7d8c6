"""Compiled functions: a whole step as one program; ``torch.compile`` and ``torch.compiler``."""

from __future__ import annotations

from nnkit.compiler.compile import (
    allow_in_graph,
    compile,
    disable,
    is_compiling,
    is_exporting,
    reset,
)
from nnkit.compiler.module import OptimizedModule

__all__ = [
    "OptimizedModule", "allow_in_graph", "compile", "disable", "is_compiling", "is_exporting",
    "reset",
]  # fmt: skip
