"""CUDA graphs: kernels that were recorded once and are launched together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from nnkit.backend.cuda.philox import Recording
from nnkit.backend.cuda.runtime import require


class Graph:
    """A recorded sequence of kernels, with the memory of the arrays that they make."""

    def __init__(self, pool: Any = None) -> None:
        self.cupy = require()
        self.pool = pool or self.cupy.cuda.MemoryPool()
        self.draws = Recording()
        self.graph: Any = None

    @contextmanager
    def captured(self, stream: Any) -> Iterator[None]:
        """Record what is launched within; its arrays come from the graph's pool.

        An error within ends the recording, and there is then nothing to replay.

        Raises:
            RuntimeError: something was recorded before.
        """
        if self.graph is not None:
            raise RuntimeError("CUDAGraph: something was captured already, use a new CUDAGraph")
        runtime = self.cupy.cuda.runtime
        with stream, self.cupy.cuda.using_allocator(self.pool.malloc), self.draws.current():
            # Relaxed: an allocation of the pool's must not end the recording.
            stream.begin_capture(runtime.streamCaptureModeRelaxed)
            try:
                yield
            except BaseException:
                with suppress(runtime.CUDARuntimeError):  # of a recording that failed already
                    stream.end_capture()
                self.draws = Recording()
                raise
            self.graph = stream.end_capture()

    def replay(self) -> None:
        """Launch all of it on the current stream; random numbers go on from where they stand.

        Raises:
            RuntimeError: nothing was recorded.
        """
        if self.graph is None:
            raise RuntimeError("CUDAGraph.replay(): nothing was captured")
        self.draws.advance()
        self.graph.launch(self.cupy.cuda.get_current_stream())
