"""The GPUs themselves, through CuPy: which there are, and their memory.

`nnkit.cuda` is torch.cuda's surface over this file. Nothing here is imported before somebody asks
for a GPU, and `problem()` never raises.
"""

from __future__ import annotations

import sys
from collections import defaultdict, deque
from collections.abc import Callable
from functools import cache, lru_cache, wraps
from typing import Any, NamedTuple

import numpy as np

from nnkit.backend.algebra import CATALOGUE, Backend
from nnkit.backend.cuda import compiled, failures, planning
from nnkit.backend.cuda.differences import as_bits
from nnkit.backend.cuda.philox import current_recording
from nnkit.backend.cuda.planning import planned
from nnkit.backend.cuda.printer import numbers_of, print_formula
from nnkit.backend.errors import NoCUDAError, OutOfMemoryError
from nnkit.backend.random import Generator, generator_of_gpu

UNBUILT = "Torch not compiled with CUDA enabled"  # by which programs know that there is none
INSTALL = "pip install 'nnkit[cuda12]' (or 'nnkit[cuda13]', as your driver has it)"


@lru_cache(maxsize=1)
def problem() -> str | None:
    """The reason why there is no GPU to compute on, and what to do; None if there is one."""
    try:
        import cupy
    except Exception as error:
        if isinstance(error, ModuleNotFoundError):
            words = f"{INSTALL}. In torch's words: {UNBUILT}"
            return f"CUDA needs CuPy, which is not installed: {words}"
        return f"CUDA needs CuPy, which cannot be imported ({error}): reinstall it, {INSTALL}"
    runtime = cupy.cuda.runtime
    try:
        count = runtime.getDeviceCount()
    except runtime.CUDARuntimeError as error:
        if "InsufficientDriver" in str(error) or "driver version" in str(error):
            return _driver_problem(runtime)
        return f"no CUDA GPU is available: {error}"
    if not count:
        return "no CUDA GPU is available: none is visible (see CUDA_VISIBLE_DEVICES)"
    try:
        from nnkit.backend.cuda import nvrtc

        nvrtc.load()
    except RuntimeError as error:
        return str(error)
    return None


def _driver_problem(runtime: Any) -> str:
    driver, needed = runtime.driverGetVersion(), runtime.runtimeGetVersion()
    if not driver:
        return "found no NVIDIA driver: install one from https://www.nvidia.com/drivers"
    return (
        f"the NVIDIA driver is too old (it knows CUDA {driver // 1000}.{driver % 1000 // 10}, CuPy "
        f"needs {needed // 1000}.{needed % 1000 // 10}): update the driver, or install CuPy for an "
        "older CUDA"
    )


def require() -> Any:
    """CuPy; NoCUDAError where there is no GPU."""
    reason = problem()
    if reason is not None:
        raise NoCUDAError(f"cuda: {reason}")
    import cupy

    return cupy


def device_count() -> int:
    return 0 if problem() is not None else require().cuda.runtime.getDeviceCount()


def current_device() -> int:
    return require().cuda.runtime.getDevice()


# The door


def guarded(index: int, several: bool, writes: bool, kernel: Callable) -> Callable:
    """A kernel on one GPU: run there even while another one is current, and once again, after the
    caches were emptied, if memory ran out.

    One that writes into its arguments is not run again: half of the writes may have been done.
    """
    runtime = require().cuda.runtime

    @wraps(kernel)
    def run(*arguments: Any) -> Any:
        if several and runtime.getDevice() != index:
            with require().cuda.Device(index):
                return run(*arguments)
        try:
            return kernel(*arguments)
        except MemoryError as error:
            empty_cache()
            if writes:
                raise OutOfMemoryError(_out_of_memory(index, error)) from None
        try:
            return kernel(*arguments)
        except MemoryError as error:
            raise OutOfMemoryError(_out_of_memory(index, error)) from None

    return run


def _out_of_memory(index: int, error: MemoryError) -> str:
    free, total = require().cuda.Device(index).mem_info
    held = memory_reserved(index)
    return (
        f"CUDA out of memory on GPU {index} ({error}): {free >> 20} MiB of {total >> 20} MiB are "
        f"free, nnkit holds {held >> 20} MiB; use smaller batches or free tensors"
    )


@cache
def connect(index: int | None) -> Backend:
    """The backend of one GPU, the current one for None.

    Raises:
        RuntimeError: there is no such GPU.
    """
    cupy = require()
    count = cupy.cuda.runtime.getDeviceCount()
    if index is None:
        return connect(current_device())
    if not 0 <= index < count:
        raise RuntimeError(
            f"cuda: invalid device ordinal {index}, there are {count} GPUs (numbered from 0)"
        )
    counts(index)
    plans = planning.connect(cupy)

    def guard(name: str, kernel: Callable, numbers: tuple[int, int] = (0, 0)) -> Callable:
        twin = guarded(index, count > 1, bool(CATALOGUE[name].writes), kernel)
        return planned(name, twin, index, count > 1, numbers) if plans else twin

    def formula(name: str, formula: Any) -> Callable:
        return guard(name, print_formula(name, formula), numbers_of(formula))

    return Backend("nnkit.backend.cuda", formula, guard)


# Waiting, memory


def synchronize(index: int | None = None) -> None:
    """Wait for a GPU, and raise what its kernels found wrong."""
    cupy = require()
    with cupy.cuda.Device(current_device() if index is None else index):
        cupy.cuda.runtime.deviceSynchronize()
    failures.check()


def empty_cache() -> None:
    cupy = require()
    compiled.release_memory()
    cupy.get_default_memory_pool().free_all_blocks()
    cupy.get_default_pinned_memory_pool().free_all_blocks()


class Counts(NamedTuple):
    """Bytes in use on one GPU, the most there were, and the most that were taken from it."""

    allocated: int
    most_allocated: int
    most_reserved: int


class _Counting:
    """Counts by a hook of CuPy's, for this thread, where nothing compiled counts."""

    def __init__(self) -> None:
        import cupy

        self.counts: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
        counts = self.counts  # at exit, when the last arrays go, this module's names are gone

        class Hook(cupy.cuda.memory_hook.MemoryHook):
            name = "nnkit"
            # At each allocation and release: `dict` takes the keywords without a call of Python.
            malloc_preprocess = free_preprocess = alloc_preprocess = dict

            def malloc_postprocess(self, device_id: int, mem_size: int, **_: Any) -> None:
                count = counts[device_id]
                count[0] += mem_size
                if count[0] > count[1]:
                    count[1] = count[0]

            def alloc_postprocess(self, device_id: int, **_: Any) -> None:
                count = counts[device_id]
                count[2] = max(count[2], memory_reserved(device_id))

            def free_postprocess(self, device_id: int, mem_size: int, **_: Any) -> None:
                counts[device_id][0] -= mem_size

        self.hook = Hook()
        self.hook.__enter__()

    def memory(self, index: int) -> list[int]:
        return self.counts[index]

    def reset(self, index: int, reserved: int) -> None:
        count = self.counts[index]
        count[1:] = count[0], reserved


@cache
def _counting() -> Any:
    """The counter of allocated memory; it starts with the first tensor on a GPU."""
    cupy = require()
    return compiled.Counting(cupy) if planning.connect(cupy) else _Counting()


def counts(index: int) -> Counts:
    """The counts of a GPU since the first tensor, or since `reset_peaks`."""
    return Counts(*_counting().memory(index))


def reset_peaks(index: int) -> None:
    """Count the most anew."""
    _counting().reset(index, memory_reserved(index))


def memory_allocated(index: int) -> int:
    return counts(index).allocated


def memory_reserved(index: int) -> int:
    cupy = require()
    with cupy.cuda.Device(index):
        return cupy.get_default_memory_pool().total_bytes()


def properties(index: int) -> dict[str, Any]:
    return require().cuda.runtime.getDeviceProperties(index)


def generator(index: int | None = None) -> Generator:
    """The default generator of a GPU, the current one unless given."""
    return generator_of_gpu(current_device() if index is None else index)


# Page-locked memory


def pinned(x: Any) -> Any:
    """A copy of a NumPy array in page-locked memory, from which a GPU copies while it computes."""
    import cupyx

    require()
    bits = as_bits(x)
    copy = cupyx.empty_pinned(bits.shape, bits.dtype)
    copy[...] = bits
    return copy.view(x.dtype)


def is_pinned(x: Any) -> bool:
    """Whether a NumPy array lies in memory that `pinned` made."""
    cupy = sys.modules.get("cupy")  # which made it
    while isinstance(x, np.ndarray):
        x = x.base
    owner = x.obj if isinstance(x, memoryview) else x
    return cupy is not None and isinstance(owner, cupy.cuda.PinnedMemoryPointer)


_read: deque[tuple[Any, Any]] = deque()  # page-locked arrays, and events after copies from them


def copy_from_host(out: Any, values: Any) -> None:
    """Copy a NumPy array to the GPU: from page-locked memory without waiting, and from there as
    well while a graph is recorded, each of whose replays copies it again."""
    if current_recording() is None:
        out.set(values)
    else:
        values = values if is_pinned(values) else pinned(values)
        # CuPy's own `set` refuses.
        cuda = require().cuda
        cuda.runtime.memcpyAsync(
            out.data.ptr, values.ctypes.data, values.nbytes,
            cuda.runtime.memcpyHostToDevice, cuda.get_current_stream().ptr,
        )  # fmt: skip
    if is_pinned(values):
        keep_while_read(values)


def keep_while_read(x: Any) -> None:
    """Keep page-locked memory until what the current stream was given so far is done: a copy reads
    it, and its pool would hand it out again as soon as the array is gone."""
    recording = current_recording()
    if recording is not None:
        recording.kept.append(x)  # each replay reads it
        return
    while _read and _read[0][0].done:
        _read.popleft()
    event = require().cuda.Event(disable_timing=True)
    event.record()
    _read.append((event, x))
