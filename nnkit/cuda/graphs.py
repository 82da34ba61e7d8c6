"""CUDA graphs: a training step recorded once and launched as one."""

from __future__ import annotations

import gc
from typing import Any

from nnkit.autograd.surface.generator import Generator
from nnkit.cuda.device import runtime
from nnkit.cuda.streams import Stream, current_stream


class CUDAGraph:
    """A recorded sequence of kernels; ``replay()`` launches all of them at once.

    Inputs are changed by writing into the tensors that were read while recording; results are in
    the tensors that were made. Their memory belongs to the graph. Nothing within may wait for the
    GPU (`item`, printing, copies to the CPU). Each replay draws new random numbers.

    Raises:
        RuntimeError: there is no GPU.

    Source: ``torch.cuda.CUDAGraph``.
    """

    def __init__(self) -> None:
        self.reset()

    def register_generator_state(self, generator: Generator) -> None:
        """Let replays move a generator on; those that are drawn from while recording need no call.

        Raises:
            RuntimeError: it is no GPU's generator.
        """
        philox = generator._source.philox
        if philox is None or generator.device.type != "cuda":
            raise RuntimeError(
                "register_generator_state(): expected a 'cuda' device type for generator, "
                f"but found '{generator.device.type}'"
            )
        self._graph.draws.place_of(philox)

    def replay(self) -> None:
        """Launch what was recorded, on the current stream.

        Raises:
            RuntimeError: nothing was recorded.
        """
        self._graph.replay()

    def reset(self) -> None:
        """Forget what was recorded."""
        runtime("CUDAGraph")
        from nnkit.backend.cuda.graph import Graph

        self._graph = Graph()

    def pool(self) -> Any:
        """The graph's memory, to share with another one by ``graph(..., pool=...)``."""
        return self._graph.pool


class graph:
    """Record what runs within into a `CUDAGraph`.

    ::

        graph = nnkit.cuda.CUDAGraph()
        with nnkit.cuda.graph(graph):
            loss = step(static_input)
        static_input.copy_(batch)
        graph.replay()

    Run the step a few times before, so that kernels are compiled and optimizer states exist.

    Args:
        cuda_graph: where to record.
        pool: memory of another graph (`CUDAGraph.pool`) that is not replayed at the same time.
        stream: where to record; a new stream unless given.

    Source: ``torch.cuda.graph``.
    """

    def __init__(self, cuda_graph: CUDAGraph, pool: Any = None, stream: Stream | None = None,
                 capture_error_mode: str = "global") -> None:  # fmt: skip
        self.cuda_graph = cuda_graph
        self.stream = stream or Stream()
        if pool is not None:
            cuda_graph._graph.pool = pool
        self._recording: Any = None

    def __enter__(self) -> None:
        runtime().synchronize()
        gc.collect()
        self.stream.wait_stream(current_stream())
        self._recording = self.cuda_graph._graph.captured(self.stream.backend)
        self._recording.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._recording.__exit__(*error)


def is_current_stream_capturing() -> bool:
    """Whether a `graph` is being recorded on the current stream; False without a GPU."""
    from nnkit.cuda.device import is_available

    return is_available() and bool(current_stream().backend.is_capturing())
