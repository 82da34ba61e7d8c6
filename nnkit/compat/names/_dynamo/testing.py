"""torch._dynamo.testing: backends that count what they are given."""

from __future__ import annotations

from typing import Any


class CompileCounter:
    """A backend that counts the programs that it is given, and runs them as they are."""

    def __init__(self) -> None:
        self.frame_count = 0

    def __call__(self, gm: Any, example_inputs: Any) -> Any:
        self.frame_count += 1
        return gm


class CompileCounterWithBackend(CompileCounter):
    """The same for another backend, whose name it keeps."""

    def __init__(self, backend: str) -> None:
        super().__init__()
        self.backend = backend
