"""torch.utils._traceback: where in a program a call was made, and errors told in one line."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any


class CapturedTraceback:
    """The lines of Python that were being run, without their variables.

    Example:
        >>> def where():
        ...     return CapturedTraceback.extract(skip=1)
        >>> where().summary()[-1].name
        '<module>'
    """

    def __init__(self, frames: traceback.StackSummary) -> None:
        self._frames = frames

    @classmethod
    def extract(
        cls, *, script: bool = False, cpp: bool = False, skip: int = 0
    ) -> CapturedTraceback:
        """Where this is called, or ``skip`` calls further out."""
        frames = traceback.extract_stack()
        return cls(traceback.StackSummary.from_list(frames[: len(frames) - 1 - skip]))

    def summary(self) -> traceback.StackSummary:
        """The calls, the outermost first."""
        return self._frames

    def format(self) -> list[str]:
        """The calls as lines of text."""
        return self._frames.format()

    def cleanup(self) -> None:
        """Do nothing: it keeps no variables."""


def format_traceback_short(tb: TracebackType) -> str:
    """The last place of a traceback: the file, the line and the function."""
    last = traceback.extract_tb(tb)[-1]
    return f"{os.path.basename(last.filename)}:{last.lineno} in {last.name}"


@contextmanager
def report_compile_source_on_error() -> Iterator[Any]:
    """A block whose errors show code as Python does: none is written for a compiler here."""
    yield
