"""The source of kernels: files by subject, printed text, NVRTC, and a cache on disk.

``kernel("softmax", "softmax_rows", dtype, False)`` is the function template of that name in
``kernels/softmax.cu`` for these template arguments. It is compiled when it is first launched, for
the GPU that is current then, and the machine code is kept in ``NNKIT_CUDA_CACHE`` (a folder;
``~/.cache/nnkit/cuda`` unless set).
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

FOLDER = Path(__file__).parent / "kernels"
# Lambdas that take values of any type have no place for ``__device__``.
OPTIONS = ("-std=c++17", "-default-device")
TYPES = {
    np.dtype(np.bool_): "bool", np.dtype(np.uint8): "nnkit::uint8",
    np.dtype(np.int8): "nnkit::int8", np.dtype(np.int16): "nnkit::int16",
    np.dtype(np.int32): "int", np.dtype(np.int64): "nnkit::int64",
    np.dtype(np.float16): "nnkit::float16", np.dtype(ml_dtypes.bfloat16): "nnkit::bfloat16",
    np.dtype(np.float32): "float", np.dtype(np.float64): "double",
}  # fmt: skip


@cache
def expanded(name: str) -> str:
    """A source with what it includes in place: each file once, where it is first asked for."""
    seen: set[str] = set()

    def expand(file: str) -> str:
        if file in seen:
            return ""
        seen.add(file)
        text = (FOLDER / file).read_text().replace("#pragma once\n", "")
        return re.sub(r'^#include "(.*)"$', lambda m: expand(m[1]), text, flags=re.MULTILINE)

    return expand(name)


def expression(name: str, *arguments: Any) -> str:
    """The C++ name of a function template with its arguments: dtypes, bools, ints or C++ text."""
    if not arguments:
        return f"nnkit::{name}"
    return f"nnkit::{name}<{', '.join(map(_argument, arguments))}>"


def _argument(value: Any) -> str:
    if isinstance(value, np.dtype):
        if value not in TYPES:
            raise NotImplementedError(
                f"no CUDA kernel computes with dtype {value}: cast the tensor first"
            )
        return TYPES[value]
    return str(value).lower() if isinstance(value, bool) else str(value)


Launch = Callable[..., None]  # (grid, block, arguments, shared)


class Kernel:
    """A kernel by its source and C++ name: ``kernel(grid, block, arguments, shared=0)``.

    ``grid`` and ``block`` are tuples of one to three numbers, ``shared`` bytes of shared memory.
    An argument is an array (the address of its first element), None (a null pointer), a number of
    NumPy's (a parameter of the same size), or a `ctypes.Structure` that is passed by value.
    """

    __slots__ = ("_launches", "file", "name", "options", "text")

    def __init__(self, text: str, name: str, file: str, options: tuple[str, ...] = ()) -> None:
        self.text = text
        self.name = name
        self.file = file
        self.options = OPTIONS + options
        self._launches: dict[Any, Launch] = {}

    def __call__(self, grid: tuple, block: tuple, arguments: tuple, shared: int = 0) -> None:
        machine = current_machine()
        launch = self._launches.get(machine)
        if launch is None:
            launch = self._launches[machine] = machine.load(self)
        launch(grid, block, arguments, shared)


_kernels: dict[tuple, Kernel] = {}


def kernel(subject: str, name: str, *arguments: Any) -> Kernel:
    """The kernel ``name<arguments>`` of ``kernels/<subject>.cu``."""
    key = (subject, name, arguments)
    found = _kernels.get(key)
    if found is None:
        text = expanded(f"{subject}.cu")
        name = expression(name, *arguments)
        found = _kernels[key] = Kernel(text, name, f"{subject}.cu")
    return found


class GPU:
    """One NVIDIA GPU as the machine that runs kernels."""

    def __init__(self, index: int) -> None:
        import cupy

        from nnkit.backend.cuda import nvrtc

        self.cupy = cupy
        device = cupy.cuda.Device(index)
        self.index = index
        self.capability = device.compute_capability  # "90"
        self.processors = device.attributes["MultiProcessorCount"]
        driver = cupy.cuda.runtime.driverGetVersion()
        # Since CUDA 12.1 a kernel takes 32764 bytes of parameters instead of 4096.
        modern = driver >= 12010 and nvrtc.version() >= (12, 1) and int(self.capability) >= 70
        self.parameter_bytes = 32764 if modern else 4096
        self._functions: dict[Kernel, Any] = {}

    def host_memory(self, size: int) -> Any:
        """Host memory (with its address as ``ptr``) that kernels reach at the same address."""
        return self.cupy.cuda.alloc_pinned_memory(size)

    @cached_property
    def cudnn(self) -> Any:
        """cuDNN on this GPU, None where it is not installed."""
        from nnkit.backend.cuda.cudnn import connect

        return connect(self)

    def linalg_errors(self) -> Any:
        """Within it, CuPy asks whether a factorization failed, and raises."""
        import cupyx

        return cupyx.errstate(linalg="raise")

    @property
    def stream(self) -> int:
        """The stream that this thread launches on."""
        return self.cupy.cuda.get_current_stream().ptr

    def seconds(self, run: Callable[[], None]) -> float:
        """The time the GPU takes for what ``run`` launches, after one run to warm up."""
        cuda = self.cupy.cuda
        start, stop = cuda.Event(), cuda.Event()
        run()
        start.record()
        run()
        stop.record()
        stop.synchronize()
        return cuda.get_elapsed_time(start, stop) * 1e-3

    @property
    def gemm(self) -> Callable[..., None]:
        from nnkit.backend.cuda.blas import gemm

        return gemm

    def function(self, kernel: Kernel) -> Any:
        """The kernel on this GPU, compiled (or found compiled) and loaded."""
        found = self._functions.get(kernel)
        if found is None:
            path, mangled = compiled(kernel, self.capability)
            module = self.cupy.RawModule(path=str(path))
            found = self._functions[kernel] = module.get_function(mangled)
        return found

    def load(self, kernel: Kernel) -> Launch:
        """The function that launches a kernel."""
        from cupy.cuda.function import CPointer

        function = self.function(kernel)
        run = function.kernel  # without the question for which GPU
        as_they_are = frozenset((self.cupy.ndarray, np.int32, np.int64, np.uint64, np.float64))

        def passed(argument: Any) -> Any:
            if isinstance(argument, ctypes.Structure):
                return CPointer(ctypes.addressof(argument))
            if isinstance(argument, np.ndarray):
                refuse_host_memory(argument, kernel.name)
            return 0 if argument is None else argument

        def launch(grid: tuple, block: tuple, arguments: tuple, shared: int) -> None:
            allow_shared(function, shared)
            values = [a if a.__class__ in as_they_are else passed(a) for a in arguments]
            run(grid, block, values, shared)

        return launch

    def layout_only(self, shape: tuple, dtype: np.dtype, strides: tuple) -> Any:
        """An array that has no memory and must not be read."""
        cuda = self.cupy.cuda
        nowhere = cuda.MemoryPointer(cuda.UnownedMemory(0, 0, None, self.index), 0)
        return self.cupy.ndarray(shape, dtype, nowhere, strides)


USUAL_SHARED = 48 << 10  # bytes of shared memory that a block has without asking


def allow_shared(function: Any, size: int) -> None:
    """Let a kernel have ``size`` bytes of shared memory beside the arrays in its source, where both
    are more than usual."""
    # Few kernels come near: the others are not asked what their arrays take.
    if size > USUAL_SHARED // 2 and size + function.shared_size_bytes > USUAL_SHARED:
        function.max_dynamic_shared_size_bytes = size


def refuse_host_memory(x: np.ndarray, kernel: str) -> Any:
    """TypeError: CuPy would take the value of an array of one element for an address."""
    raise TypeError(
        f"{kernel}: expected arrays on the GPU, got one of shape {list(x.shape)} in host memory"
    )


_machines: dict[int, Any] = {}
# The tests put a machine here that runs kernels in place of the current GPU
# (tests/cuda/emulation.py).
_stand_in: list[Any] = []


@cache
def _runtime() -> Any:
    from cupy.cuda import runtime

    return runtime


class _Thread(threading.local):
    planner: Any = None


_thread = _Thread()


@contextmanager
def planned_by(planner: Any) -> Iterator[None]:
    """Within it, this thread's launches go to a planner (`nnkit.backend.cuda.planning`)."""
    before, _thread.planner = _thread.planner, planner
    try:
        yield
    finally:
        _thread.planner = before


def current_machine() -> Any:
    """The machine that runs kernels now: the current GPU, or what stands in its place."""
    if _thread.planner is not None:
        return _thread.planner
    if _stand_in:
        return _stand_in[-1]
    index = _runtime().getDevice()
    machine = _machines.get(index)
    if machine is None:
        machine = _machines[index] = GPU(index)
    return machine


def cache_folder() -> Path:
    asked = os.environ.get("NNKIT_CUDA_CACHE")
    return Path(asked) if asked else Path.home() / ".cache" / "nnkit" / "cuda"


def compiled(kernel: Kernel, capability: str) -> tuple[Path, str]:
    """The file with the kernel's machine code for this compute capability, and its name in it."""
    from nnkit.backend.cuda import nvrtc

    target = nvrtc.target_for(capability)
    content = "\0".join((kernel.text, kernel.name, *kernel.options, target, str(nvrtc.version())))
    stem = cache_folder() / hashlib.sha256(content.encode()).hexdigest()
    code, label = stem.with_suffix(".cubin"), stem.with_suffix(".name")
    if not (code.exists() and label.exists()):
        names = (kernel.name,)
        found = nvrtc.compile_kernels(kernel.text, names, kernel.file, target, kernel.options)
        stem.parent.mkdir(parents=True, exist_ok=True)
        _write(label, found.names[0].encode())
        _write(code, found.code)
    return code, label.read_text()


def _write(path: Path, content: bytes) -> None:
    temporary = path.with_suffix(f"{path.suffix}.{os.getpid()}")
    temporary.write_bytes(content)
    os.replace(temporary, path)
