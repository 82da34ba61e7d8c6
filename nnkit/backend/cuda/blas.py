"""Matrix products by cuBLAS, in the order of C: rows follow each other.

cuBLAS is called directly: CuPy's own functions refuse while a graph is recorded.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections import defaultdict
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_void_p
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from nnkit.backend.cuda import compiled
from nnkit.backend.cuda.differences import BF16, address
from nnkit.backend.cuda.philox import current_recording
from nnkit.backend.cuda.source import current_machine
from nnkit.backend.switches import matmul

# The types of the elements, in cudaDataType's numbers.
KINDS = {
    np.dtype(np.float32): 0, np.dtype(np.float64): 1, np.dtype(np.float16): 2,
    np.dtype(np.complex64): 4, np.dtype(np.complex128): 5, BF16: 14,
}  # fmt: skip
COMPUTE_FLOAT32, COMPUTE_TF32, COMPUTE_FLOAT64 = 68, 77, 70
DEFAULT_ALGORITHM = -1
ALLOCATION_FAILED = 3

_MATRIX = (c_void_p, c_int, c_int)  # the address, what the elements are, how far columns are apart
_SHAPE = (c_void_p, *(c_int,) * 5)  # the handle; whether transposed; m, n, k
SIGNATURES: dict[str, tuple] = {
    "cublasCreate_v2": (POINTER(c_void_p),),
    "cublasSetStream_v2": (c_void_p, c_void_p),
    "cublasSetWorkspace_v2": (c_void_p, c_void_p, c_size_t),
    "cublasGemmEx": (*_SHAPE, c_void_p, *_MATRIX, *_MATRIX, c_void_p, *_MATRIX, c_int, c_int),
    "cublasGemmStridedBatchedEx": (
        *_SHAPE, c_void_p, *_MATRIX, c_int64, *_MATRIX, c_int64, c_void_p, *_MATRIX, c_int64,
        c_int, c_int, c_int,
    ),
}  # fmt: skip


@cache
def library() -> ctypes.CDLL:
    """cuBLAS, from wherever CuPy loads it."""
    from cupy.cuda.runtime import runtimeGetVersion  # type: ignore[attr-defined]
    from cupy_backends.cuda.libs import cublas  # noqa: F401

    major = runtimeGetVersion() // 1000
    found = ctypes.CDLL(
        f"cublas64_{major}.dll" if sys.platform == "win32" else f"libcublas.so.{major}"
    )
    for name, types in SIGNATURES.items():
        getattr(found, name).argtypes = types
    found.cublasGetStatusString.restype = c_char_p
    return found


def check(status: int) -> None:
    if status:
        reason = library().cublasGetStatusString(status).decode()
        kind = MemoryError if status == ALLOCATION_FAILED else RuntimeError
        raise kind(f"cuBLAS: {reason}")


class Handle:
    """cuBLAS for one thread and GPU, with memory to work in for each stream.

    Memory of its own choice would be allocated anew in every recorded graph.
    """

    def __init__(self) -> None:
        pointer = c_void_p()
        check(library().cublasCreate_v2(byref(pointer)))
        self.pointer = pointer.value
        self.workspaces: dict[int, Any] = {}
        self._stands: tuple[int, int] | None = None

    def on(self, stream: int) -> int | None:
        """The handle, set to a stream. What a graph records gets memory that only the graph has,
        since it may be replayed beside other work."""
        recording = current_recording()
        workspaces = self.workspaces if recording is None else recording.workspaces
        workspace = workspaces.get(stream)
        if workspace is None:
            workspace = workspaces[stream] = _workspace()
        if self._stands != (stream, workspace.ptr):
            check(library().cublasSetStream_v2(self.pointer, stream))
            size = workspace.mem.size
            check(library().cublasSetWorkspace_v2(self.pointer, workspace.ptr, size))
            self._stands = stream, workspace.ptr
            compiled.forget_handle()
        return self.pointer


def _workspace() -> Any:
    """The workspace of cuBLAS, as large as NVIDIA recommends."""
    machine = current_machine()
    return machine.cupy.cuda.alloc((32 if int(machine.capability) >= 90 else 4) << 20)


# Handles of threads that have ended, by GPU: making one takes time and memory.
_free: defaultdict[int, list[Handle]] = defaultdict(list)


class _Handles(threading.local):
    """The handles of this thread, by GPU."""

    def __init__(self) -> None:
        self.lease = _Lease()


class _Lease(dict[int, Handle]):
    def __init__(self) -> None:
        self.free = _free  # at exit this module's names are gone

    def __missing__(self, index: int) -> Handle:
        free = self.free[index]
        handle = self[index] = free.pop() if free else Handle()
        return handle

    def __del__(self) -> None:
        for index, handle in self.items():
            self.free[index].append(handle)


_handles = _Handles()


@lru_cache(maxsize=64)
def _factors(alpha: complex, beta: complex, dtype: np.dtype) -> tuple[np.ndarray, int, int]:
    """Both numbers in memory, and where each lies."""
    both = np.array((alpha, beta), dtype)
    return both, both.ctypes.data, both.ctypes.data + dtype.itemsize


class Call(NamedTuple):
    """A product as cuBLAS is asked for it. It counts by columns, so that is out' = y' x'."""

    function: Any
    shape: tuple  # whether transposed; n, m, k
    factors: tuple[np.ndarray, int, int]
    left: tuple  # array, what its elements are, how far rows and matrices are apart
    right: tuple
    out: tuple
    batch: int
    how: tuple[int, int]

    @staticmethod
    def of(
        m: int, n: int, k: int, batch: int, alpha: complex, beta: complex,
        x: Any, x_transposed: bool, x_step: int, x_stride: int,
        y: Any, y_transposed: bool, y_step: int, y_stride: int,
        out: Any, out_stride: int,
    ) -> Call:  # fmt: skip
        """The call for what `gemm` computes."""
        kind = KINDS[out.dtype]
        scalar = np.promote_types(np.float32, out.dtype)
        if out.dtype in (np.float64, np.complex128):
            compute = COMPUTE_FLOAT64
        else:
            fast = out.dtype in (np.float32, np.complex64) and matmul.allow_tf32
            compute = COMPUTE_TF32 if fast else COMPUTE_FLOAT32
        cublas = library()
        return Call(
            cublas.cublasGemmEx if batch == 1 else cublas.cublasGemmStridedBatchedEx,
            (int(y_transposed), int(x_transposed), n, m, k),
            _factors(alpha, beta, scalar),
            (y, kind, y_step, y_stride), (x, kind, x_step, x_stride), (out, kind, n, out_stride),
            batch, (compute, DEFAULT_ALGORITHM),
        )  # fmt: skip


def handle() -> int | None:
    """The handle of this thread for the current GPU, set to the current stream."""
    machine = current_machine()
    return _handles.lease[machine.index].on(machine.stream)


def gemm(*arguments: Any) -> None:
    """``out = alpha x y + beta out`` for a batch of (m, k) and (k, n) matrices.

    The arguments are those of `Call.of`: ``step`` is how far rows (of what is stored, if
    transposed) are apart, ``stride`` how far the matrices of a batch are. Half precision is added
    up in float32; float32 uses TF32's shorter factors where
    ``nnkit.backends.cuda.matmul.allow_tf32`` is set.
    """
    call = Call.of(*arguments)
    _, first, second = call.factors
    shape = handle(), *call.shape, first
    many = call.batch != 1  # then strides are passed, too
    left, right, out = (
        (address(array), *how[: 2 + many]) for array, *how in (call.left, call.right, call.out)
    )
    batch = (call.batch,) if many else ()
    check(call.function(*shape, *left, *right, second, *out, *batch, *call.how))
