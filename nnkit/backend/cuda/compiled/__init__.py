"""The compiled side of launches: programs of primitives, and memory without a call of Python.

These sources are compiled in the CPU backend's extension (`nnkit.backend.cpu.native`) and use no
header or library of NVIDIA's: they get the functions' addresses. Without the extension, or with a
CuPy whose objects look otherwise, the drivers launch each kernel themselves.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from nnkit.backend.cpu.native import MODULE
from nnkit.backend.switches import matmul


class Counting:
    """Counts memory by an allocator of our own on CuPy's, which keeps small blocks for reuse;
    after `connect`."""

    def __init__(self, cupy: Any) -> None:
        def begin() -> None:
            cuda, pool = cupy.cuda, cupy.get_default_memory_pool()
            cuda.set_allocator(MODULE.gpu_allocator(cuda.get_allocator(), pool.total_bytes))

        # This thread may be using another allocator for a while, that of a graph.
        thread = threading.Thread(target=begin)
        thread.start()
        thread.join()
        self.memory = MODULE.gpu_memory
        self.reset = MODULE.reset_gpu_peaks


def release_memory() -> None:
    """Give what is kept for reuse back to CuPy's pool."""
    if MODULE is not None:
        MODULE.release_gpu_memory()


def forget_handle() -> None:
    """Tell programs that cuBLAS' handle of this thread was set to another stream or memory."""
    if MODULE is not None:
        MODULE.forget_handle()


@cache
def connect(cupy: Any, failed: Callable, handle: Callable) -> bool:
    """Whether programs can be run here: tells the extension of CuPy and of the driver.

    Args:
        failed: raises what a status means, of cuBLAS' or of the driver's functions.
        handle: gives the handle of cuBLAS for the current stream.
    """
    if MODULE is None or cupy is not sys.modules.get("cupy"):  # but another in its place
        return False
    try:
        from cupy_backends.cuda.api.runtime import memGetInfo

        driver = ctypes.CDLL("libcuda.so.1")  # CuPy has loaded it
        if not knows(cupy):
            return False
    except (AttributeError, ImportError, OSError):  # of another CuPy
        return False
    launch = ctypes.cast(driver.cuLaunchKernel, ctypes.c_void_p).value
    # A thread has a context after any call of the runtime's.
    MODULE.connect_launches(launch, failed, memGetInfo, handle)
    return True


def knows(cupy: Any) -> bool:
    """Whether the extension can read and make CuPy's arrays: shows it some."""
    from cupy.cuda import memory
    from cupy_backends.cuda import stream
    from cupy_backends.cuda.api import runtime

    cuda, f4 = cupy.cuda, np.dtype(np.float32)
    block = cuda.UnownedMemory(0x7E57_0000, 0x7E58, None, 0)
    place = cuda.MemoryPointer(block, 0)
    first = cupy.ndarray((7, 11, 13), f4, place)
    examples = [
        first, first.transpose(2, 0, 1)[1:], cupy.ndarray((), np.int64, place),
        cupy.ndarray((0, 3), bool, place), cupy.ndarray((1, 5, 1), np.float16, place, (8, 4, 2)),
    ]  # fmt: skip
    functions = (
        (memory, "get_allocator"), (stream, "get_current_stream_ptr"), (runtime, "getDevice"),
    )  # fmt: skip
    capsules = [m.__pyx_capi__.get(name) for m, name in functions]
    per_thread = 2  # the default stream that each thread has of its own
    if stream.get_default_stream_ptr() == per_thread or None in capsules:
        return False
    return MODULE.connect_gpu(cupy.ndarray, cuda.MemoryPointer, first, block, examples, *capsules)


def bind(
    name: str, twin: Callable, planner: Callable, index: int, several: bool,
    numbers: tuple[int, int],
) -> Any:  # fmt: skip
    """The compiled form of a primitive of the GPU ``index``; after `connect`.

    Args:
        twin: gets the arguments for which there is no program.
        planner: gives a program for a driver (the twin) and its arguments, or None.
        several: whether another GPU may be current.
        numbers: the arguments from the first to (without) the second are numbers that vary.
    """
    switches = matmul.__dict__
    return MODULE.bind_planned(name, twin, planner, index, several, *numbers, switches)
