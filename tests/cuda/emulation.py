"""Kernels on the CPU: compiled by g++ behind emulation.h, run on the host's memory.

``emulated()`` makes the drivers of `nnkit.backend.cuda` launch their kernels here: the very driver
and the very kernel, on the arrays of `tests/cuda/arrays.py` instead of CuPy's. What it cannot show:
races, addresses that a GPU would not reach, speed.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import math
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from nnkit.backend.cuda import source
from nnkit.backend.cuda.launch import shared_limit
from tests.cuda import arrays

HEADER = Path(__file__).with_name("emulation.h")
COMPILER = shutil.which("g++")
FLAGS = ("-std=c++17", "-O0", "-w", "-shared", "-fPIC", "-ffp-contract=off", "-Wno-psabi")


def cache() -> Path:
    folder = Path(tempfile.gettempdir()) / f"nnkit-emulation-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    return folder


def build(text: str, names: tuple[str, ...]) -> ctypes.CDLL:
    """A shared library with one function ``run_<i>`` for each kernel of a source."""
    runs = "".join(
        f'extern "C" void run_{i}(const unsigned* shape, void** values) '
        f"{{ emulation::launch({name}, shape, values); }}\n"
        for i, name in enumerate(names)
    )
    program = f"{text}\n{runs}"
    path = cache() / f"{digest(HEADER.read_text() + program)}.so"
    compile_with(("-include", str(header()), "-x", "c++", "-"), program, path)
    return ctypes.CDLL(str(path))


@functools.cache
def header() -> Path:
    """What all sources are compiled behind, compiled once: to read it takes as long as most do."""
    path = cache() / f"{digest(HEADER.read_text())}.h"
    compile_with(("-x", "c++-header", str(HEADER)), "", path.with_suffix(".h.gch"))
    return path  # whose compiled form g++ takes instead


def compile_with(flags: Sequence[str], text: str, path: Path) -> None:
    """Compile with g++ into a file, unless it is there."""
    if path.exists():
        return
    temporary = path.with_suffix(f".{os.getpid()}")
    command = [COMPILER or "g++", *FLAGS, *flags, "-o", str(temporary)]
    done = subprocess.run(command, input=text, text=True, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"g++ failed:\n{done.stderr[:4000]}")
    os.replace(temporary, path)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def most_threads(kernel: source.Kernel) -> int:
    """Threads of a block for which the compiler leaves enough registers, whatever it takes: 1024
    where launch bounds are given, else 256 (of which each may have all 255)."""
    name = re.escape(kernel.name.removeprefix("nnkit::").partition("<")[0])
    bounded = re.search(rf"__launch_bounds__\([^()]*\)\s+{name}\(", kernel.text)
    return 1024 if bounded else 256


class Emulator:
    """The CPU in the place of a GPU; ``processors`` and ``capability`` as of a small one."""

    processors = 2
    capability = "80"
    parameter_bytes = 4096
    cudnn: Any = None
    cupy: Any = arrays

    def __init__(self) -> None:
        self.launched: set[str] = set()
        self._loaded: dict[tuple[str, str], Any] = {}

    def host_memory(self, size: int) -> Any:
        memory = ctypes.create_string_buffer(size)
        return SimpleNamespace(ptr=ctypes.addressof(memory), memory=memory)

    def linalg_errors(self) -> Any:
        return nullcontext()

    def gemm(
        self, m, n, k, batch, alpha, beta, x, x_transposed, x_step, x_stride,
        y, y_transposed, y_step, y_stride, out, out_stride,
    ) -> None:  # fmt: skip
        """What cuBLAS is asked for, with the very steps and strides."""

        def stack(a, rows, columns, transposed, step, stride):
            a, size = a.host, a.itemsize
            if transposed:
                rows, columns = columns, rows
            strides = (stride * size, step * size, size)
            view = np.lib.stride_tricks.as_strided(a, (batch, rows, columns), strides)
            return view.swapaxes(1, 2) if transposed else view

        wide = np.promote_types(np.float32, out.dtype)
        left = stack(x, m, k, x_transposed, x_step, x_stride).astype(wide)
        right = stack(y, k, n, y_transposed, y_step, y_stride).astype(wide)
        to = stack(out, m, n, False, n, out_stride)
        to[...] = alpha * (left @ right) + (beta * to.astype(wide) if beta else 0)

    def prepare(self, kernels: list[source.Kernel]) -> None:
        """Compile kernels of one source together, which is faster than one by one."""
        names = tuple(k.name for k in kernels)
        compiled = build(kernels[0].text, names)
        for i, kernel in enumerate(kernels):
            self._loaded[kernel.text, kernel.name] = getattr(compiled, f"run_{i}")

    def load(self, kernel: source.Kernel) -> source.Launch:
        if (kernel.text, kernel.name) not in self._loaded:
            self.prepare([kernel])
        run = self._loaded[kernel.text, kernel.name]
        most = most_threads(kernel)

        def launch(grid: tuple, block: tuple, arguments: tuple, shared: int) -> None:
            assert shared <= shared_limit(self.capability)
            assert 0 < math.prod(block) <= most, f"{kernel.name}: {block} threads"
            assert all(0 < n <= m for n, m in zip(grid, (2**31 - 1, 65535, 65535), strict=False))
            self.launched.add(kernel.name)
            shape = (ctypes.c_uint * 6)(*(grid + (1, 1))[:3], *(block + (1, 1))[:3])
            values = [by_value(a) for a in arguments]
            run(shape, (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values)))

        return launch


def by_value(argument: Any) -> Any:
    """The argument's bytes as a kernel gets them, as `source.Kernel` says."""
    if isinstance(argument, ctypes.Structure):
        return argument
    if argument is None:
        return ctypes.c_void_p(0)
    if isinstance(argument, np.ndarray):
        source.refuse_host_memory(argument, "an emulated kernel")
    if isinstance(argument, arrays.ndarray):
        return ctypes.c_void_p(argument.data.ptr)
    if not isinstance(argument, np.generic):
        argument = np.int64(argument) if isinstance(argument, int) else np.float64(argument)
    return (ctypes.c_char * argument.itemsize).from_buffer_copy(argument.tobytes())


@contextmanager
def emulated(emulator: Emulator | None = None) -> Iterator[Emulator]:
    """Within it, kernels of the CUDA backend run on the CPU, on played arrays."""
    emulator = emulator or Emulator()
    source._stand_in.append(emulator)
    try:
        yield emulator
    finally:
        source._stand_in.pop()
        for kernel in source._kernels.values():
            kernel._launches.pop(emulator, None)
