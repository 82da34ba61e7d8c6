"""Programs: the primitive calls of a step, written down at the door, improved and run again.

`recording` writes them down, `program` is what is written, `passes` are functions from program to
program, `loop` makes of one a function of arrays, to which `planning` gives its memory;
`freezing` keeps what is made of its constants. What the calls mean for Tensors is the matter of
`nnkit.compiler`.
"""

from __future__ import annotations

from nnkit.backend.program.freezing import frozen
from nnkit.backend.program.loop import loop_of, looped
from nnkit.backend.program.planning import runnable
from nnkit.backend.program.program import Call, Outside, Program, difference
from nnkit.backend.program.recording import Recording, bits, geometry

__all__ = [
    "Call", "Outside", "Program", "Recording", "bits", "difference", "frozen", "geometry",
    "loop_of", "looped", "runnable",
]  # fmt: skip
