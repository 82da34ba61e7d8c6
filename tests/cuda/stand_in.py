"""A GPU's stand-in: ``cuda`` as a device whose arrays and functions are played
(`tests/cuda/arrays.py`) and whose kernels are emulated.

``with stand_in():`` lets a program with ``.to("cuda")`` run on the CPU through the CUDA backend's
drivers and kernels. `FakeCuPy` answers what the host's side asks CuPy for: one GPU, streams that do
everything at once, events, and captures, in which launches of kernels and products are kept and run
when replayed. So it finds what is wrong in nnkit; nothing is said about CuPy, the driver or a GPU.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any

import nnkit
from nnkit.backend.cuda import graph, runtime, source
from nnkit.backend.door import Doorkeeper, standing
from tests.cuda import arrays
from tests.cuda.emulation import Emulator, emulated

MEMORY = 8 << 30  # bytes of the GPU


class CUDARuntimeError(RuntimeError):
    """As CuPy's."""


class FakeStream:
    """Does everything at once, or keeps it while it captures."""

    ptr = 0
    done = True

    def __init__(self, cupy: FakeCuPy) -> None:
        self.cupy = cupy
        self.tape: list[Callable[[], object]] | None = None
        self.is_broken = False

    def __enter__(self) -> FakeStream:
        self.cupy.streams.append(self)
        return self

    def __exit__(self, *error: Any) -> None:
        self.cupy.streams.pop()

    def synchronize(self) -> None:
        if self.tape is not None:
            raise CUDARuntimeError("cudaErrorStreamCaptureUnsupported")

    def wait_event(self, event: Any) -> None:
        pass

    def is_capturing(self) -> bool:
        return self.tape is not None

    def begin_capture(self, mode: int) -> None:
        self.tape = []

    def end_capture(self) -> Any:
        tape, self.tape = self.tape, None
        if self.is_broken:
            raise CUDARuntimeError("cudaErrorStreamCaptureInvalidated")
        assert tape is not None
        return SimpleNamespace(launch=lambda stream: [run() for run in tape])


class FakeEvent:
    done = True

    def __init__(self, block: bool = False, disable_timing: bool = False) -> None:
        self.time = 0.0

    def record(self, stream: Any = None) -> None:
        self.time = time.perf_counter()

    def synchronize(self) -> None:
        pass


class FakeDevice:
    mem_info = (MEMORY // 2, MEMORY)

    def __init__(self, index: int) -> None:
        assert index == 0

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: Any) -> None:
        pass

    def use(self) -> None:
        pass


class Pool(Doorkeeper):
    """Keeps every result."""

    def __init__(self, backend: Any) -> None:
        super().__init__(backend)
        self.kept: list[Any] = []

    def called(self, name: str, arguments: tuple, result: Any) -> None:
        self.kept.append(result)


class FakeCuPy:
    """`tests/cuda/arrays.py` with all that CuPy tells and does of a GPU."""

    def __init__(self) -> None:
        self.streams = [FakeStream(self)]
        self.emptied = 0
        self.kept: list[Any] = []
        pool = SimpleNamespace(
            free_all_blocks=self._emptied, used_bytes=lambda: 3 << 20, total_bytes=lambda: 5 << 20
        )
        self.get_default_memory_pool = self.get_default_pinned_memory_pool = lambda: pool
        properties = {
            "name": b"stand-in", "major": 8, "minor": 0, "totalGlobalMem": MEMORY,
            "multiProcessorCount": Emulator.processors, "warpSize": 32, "l2CacheSize": 0,
            "maxThreadsPerMultiProcessor": 2048, "sharedMemPerBlock": 48 << 10,
        }  # fmt: skip
        self.cuda = SimpleNamespace(
            runtime=SimpleNamespace(
                streamCaptureModeRelaxed=2, CUDARuntimeError=CUDARuntimeError,
                getDeviceCount=lambda: 1, getDevice=lambda: 0, deviceSynchronize=self._wait,
                getDeviceProperties=lambda index: properties, driverGetVersion=lambda: 0,
                memcpyHostToDevice=1, memcpyAsync=self._copy,
            ),
            Device=FakeDevice, Event=FakeEvent, MemoryPool=lambda: SimpleNamespace(malloc=None),
            Stream=lambda non_blocking, priority: FakeStream(self),
            using_allocator=self._using_allocator,
            get_current_stream=lambda index=0: self.streams[-1],
            get_elapsed_time=lambda start, stop: (stop.time - start.time) * 1e3,
        )  # fmt: skip

    @contextmanager
    def _using_allocator(self, malloc: Any) -> Iterator[None]:
        """All that is made within stays, as in the pool of a graph: replays write to it."""
        with standing(Pool, nnkit.device("cuda", 0)) as pool:
            yield
        self.kept += pool.kept

    def __getattr__(self, name: str) -> Any:
        return getattr(arrays, name)

    def run(self, work: Callable[[], object]) -> None:
        """At once, or put on the tape of a stream that captures."""
        tape = self.streams[-1].tape
        work() if tape is None else tape.append(work)

    def _copy(self, target: int, source: int, size: int, *rest: Any) -> None:
        self.run(lambda: ctypes.memmove(target, source, size))

    def _emptied(self) -> None:
        self.emptied += 1

    def _wait(self) -> None:
        self.streams[-1].synchronize()


class Capturing(Emulator):
    """Runs kernels and products at once, or puts them on the tape of a stream that captures.

    Arguments are kept as they are at the launch: numbers by value, arrays by address.
    """

    def __init__(self, cupy: FakeCuPy) -> None:
        super().__init__()
        self.cupy = cupy

    def load(self, kernel: source.Kernel) -> source.Launch:
        launch = super().load(kernel)
        return lambda *arguments: self.cupy.run(lambda: launch(*arguments))

    def gemm(self, *arguments: Any) -> None:
        multiply = super().gemm
        self.cupy.run(lambda: multiply(*arguments))


@contextmanager
def stand_in(machine: Callable[[FakeCuPy], Emulator] = Capturing) -> Iterator[FakeCuPy]:
    """Within it there is one GPU, ``cuda:0``, and this CPU in its place."""
    cupy, counts = FakeCuPy(), runtime.Counts(0, 0, 0)
    replaced = {
        (runtime, "problem"): lambda: None, (runtime, "require"): lambda: cupy,
        (graph, "require"): lambda: cupy, (runtime, "counts"): lambda index: counts,
        (runtime, "reset_peaks"): lambda index: None, (runtime, "pinned"): lambda x: x.copy(),
    }  # fmt: skip
    before = {place: getattr(*place) for place in replaced}
    for place, value in replaced.items():
        setattr(*place, value)
    try:
        with emulated(machine(cupy)), nnkit.random.fork_rng():
            yield cupy
    finally:
        for place, value in before.items():
            setattr(*place, value)
        runtime.connect.cache_clear()
        for name in ("cuda", "cuda:0"):
            with suppress(AttributeError):  # nothing was computed there
                del nnkit.device(name).backend
