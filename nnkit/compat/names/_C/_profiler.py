"""torch._C._profiler: where in a program a call was made."""

from __future__ import annotations

import traceback
from typing import Any


class CapturedTraceback:
    """The lines of Python that are being run."""

    def __init__(self) -> None:
        self.frames = traceback.extract_stack()[:-2]


def gather_traceback(python: bool, script: bool, cpp: bool) -> CapturedTraceback:
    """Where a call was made."""
    return CapturedTraceback()


def symbolize_tracebacks(to_symbolize: list) -> list[list[dict[str, Any]]]:
    """The name of the function, the file and the line of each call, the innermost first."""
    return [
        [
            {"name": frame.name, "filename": frame.filename, "line": frame.lineno}
            for frame in reversed(captured.frames)
        ]
        for captured in to_symbolize
    ]
