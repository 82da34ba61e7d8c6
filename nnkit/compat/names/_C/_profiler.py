"""torch._C._profiler: the stack of the program's calls."""

from __future__ import annotations

from typing import Any

from nnkit.compat.names.utils._traceback import CapturedTraceback


def gather_traceback(python: bool, script: bool, cpp: bool) -> CapturedTraceback:
    """The stack at the call of this function."""
    return CapturedTraceback.extract(skip=1)


def symbolize_tracebacks(to_symbolize: list) -> list[list[dict[str, Any]]]:
    """The name of the function, the file and the line of each call, the innermost first."""
    return [
        [
            {"name": frame.name, "filename": frame.filename, "line": frame.lineno}
            for frame in reversed(captured.summary())
        ]
        for captured in to_symbolize
    ]
