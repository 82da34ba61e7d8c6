"""A CUDA graph without a GPU: launches of emulated kernels that are kept, and run when replayed.

`FakeCuPy` answers what `nnkit.backend.cuda.graph` asks CuPy for. So the host's side of a capture is
tested, with what the kernels of a replay read from memory; not what CUDA itself makes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

from nnkit.backend.cuda import graph, source
from tests.cuda.emulation import Emulator, emulated


class CUDARuntimeError(RuntimeError):
    """As CuPy's."""


class FakeStream:
    """A stream that keeps launches while it captures."""

    def __init__(self) -> None:
        self.tape: list[Callable[[], None]] | None = None
        self.is_broken = False

    def __enter__(self) -> FakeStream:
        return self

    def __exit__(self, *error: Any) -> None:
        pass

    def begin_capture(self, mode: int) -> None:
        self.tape = []

    def end_capture(self) -> Any:
        tape, self.tape = self.tape, None
        if self.is_broken:
            raise CUDARuntimeError("cudaErrorStreamCaptureInvalidated")
        assert tape is not None
        return SimpleNamespace(launch=lambda stream: [run() for run in tape])


class FakeCuPy:
    def __init__(self) -> None:
        runtime = SimpleNamespace(streamCaptureModeRelaxed=2, CUDARuntimeError=CUDARuntimeError)
        self.cuda = SimpleNamespace(
            runtime=runtime, MemoryPool=lambda: SimpleNamespace(malloc=None),
            using_allocator=lambda malloc: nullcontext(), get_current_stream=lambda: None,
        )  # fmt: skip


class Capturing(Emulator):
    """Runs kernels at once, or puts them on the tape of a stream that captures.

    Arguments are kept as they are at the launch: numbers by value, arrays by address.
    """

    def __init__(self, stream: FakeStream) -> None:
        super().__init__()
        self.stream = stream

    def load(self, kernel: source.Kernel) -> source.Launch:
        launch = super().load(kernel)

        def run(*arguments: Any) -> None:
            tape = self.stream.tape
            launch(*arguments) if tape is None else tape.append(lambda: launch(*arguments))

        return run


@contextmanager
def capturing(monkeypatch: Any) -> Iterator[FakeStream]:
    """Within it, kernels are emulated, and `Graph.captured` of the stream records them."""
    monkeypatch.setattr(graph, "require", FakeCuPy)
    stream = FakeStream()
    with emulated(Capturing(stream)):
        yield stream
