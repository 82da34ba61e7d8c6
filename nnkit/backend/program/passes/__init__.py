"""Passes: functions from program to program, none of which changes a bit of what comes out."""

from __future__ import annotations

from typing import Any

from nnkit.backend.program.passes.common import share_common
from nnkit.backend.program.passes.constant import fold_constants
from nnkit.backend.program.passes.dead import drop_dead
from nnkit.backend.program.passes.delay import delay
from nnkit.backend.program.passes.fusion import fuse_formulas
from nnkit.backend.program.passes.recompute import recompute
from nnkit.backend.program.passes.reuse import reuse_memory
from nnkit.backend.program.program import Program

__all__ = [
    "delay", "drop_dead", "fold_constants", "fuse_formulas", "improved", "recompute",
    "reuse_memory", "share_common",
]  # fmt: skip


def improved(program: Program, backend: Any) -> Program:
    """The program after all passes."""
    program = drop_dead(share_common(fold_constants(program, backend)))
    program = delay(recompute(program))
    return reuse_memory(fuse_formulas(program, backend))
