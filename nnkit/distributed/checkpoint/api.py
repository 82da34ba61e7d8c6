"""`CheckpointException`, which is raised where a save or a load has failed."""

from __future__ import annotations

import traceback
from traceback import StackSummary

__all__ = ["CheckpointException"]

Failure = tuple[BaseException, StackSummary]


class CheckpointException(BaseException):
    """A save or a load has failed; raised on every rank.

    Args:
        msg: the step that has failed.
        failures: by rank, the error that was raised there and its stack.
    """

    def __init__(self, msg: str, failures: dict[int, Failure]) -> None:
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self) -> dict[int, Failure]:
        """The errors and their stacks, by rank."""
        return self._failures

    def __str__(self) -> str:
        lines = [f"CheckpointException ranks:{self._failures.keys()}\n"]
        for rank, (error, stack) in self._failures.items():
            lines.append(f"Traceback (most recent call last): (RANK {rank})\n")
            lines += traceback.format_list(stack)
            lines += traceback.format_exception_only(type(error), error)
        return "".join(lines)
