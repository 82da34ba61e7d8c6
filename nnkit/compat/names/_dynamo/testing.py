"""torch._dynamo.testing: backends that count the programs that they get."""

from __future__ import annotations

from typing import Any


class CompileCounter:
    """A backend that counts the programs that it gets, and runs them as they are."""

    def __init__(self) -> None:
        self.frame_count = 0

    def __call__(self, gm: Any, example_inputs: Any) -> Any:
        self.frame_count += 1
        return gm


class CompileCounterWithBackend(CompileCounter):
    """A counter of the programs for another backend, whose name it has."""

    def __init__(self, backend: str) -> None:
        super().__init__()
        self.backend = backend
