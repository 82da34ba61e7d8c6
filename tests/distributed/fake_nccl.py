"""NCCL's stand-in: CuPy's module by name and signature, on NumPy's memory and through MPI."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np

available = True
DTYPES = {
    "NCCL_INT8": "int8", "NCCL_UINT8": "uint8", "NCCL_INT32": "int32", "NCCL_INT64": "int64",
    "NCCL_UINT32": "uint32", "NCCL_UINT64": "uint64", "NCCL_FLOAT16": "float16",
    "NCCL_FLOAT32": "float32", "NCCL_FLOAT64": "float64", "NCCL_BFLOAT16": "bfloat16",
}  # fmt: skip
OPERATIONS = {
    "NCCL_SUM": np.add, "NCCL_AVG": np.add, "NCCL_PROD": np.multiply, "NCCL_MIN": np.minimum,
    "NCCL_MAX": np.maximum,
}  # fmt: skip
_names = [*DTYPES, *OPERATIONS]
globals().update({name: number for number, name in enumerate(_names)})
_grouped: list = []


def get_unique_id() -> bytes:
    return bytes(range(128, 256))


def groupStart() -> None:  # noqa: N802  CuPy's name
    _grouped.append([])


def groupEnd() -> None:  # noqa: N802
    for request in _grouped.pop():
        request.Wait()


def _memory(address: int, count: int, datatype: int) -> np.ndarray:
    name = DTYPES[_names[datatype]]
    dtype = np.dtype(getattr(ml_dtypes, name) if name == "bfloat16" else name)
    buffer: Any = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
    return np.frombuffer(buffer, dtype)


class NcclCommunicator:
    """Talks to the others as NCCL does; everything is done when a call returns."""

    def __init__(
        self,
        ndev: int,
        commId: bytes,
        rank: int,
        config: Any = None,  # noqa: N803
    ) -> None:
        from mpi4py import MPI

        assert commId == get_unique_id()
        self.mpi = MPI.COMM_WORLD.Dup()
        assert (ndev, rank) == (self.mpi.size, self.mpi.rank)

    def _everybody(self, memory: np.ndarray) -> list[np.ndarray]:
        return self.mpi.allgather(memory.copy())

    def _reduced(self, parts: list[np.ndarray], op: int) -> np.ndarray:
        out = OPERATIONS[_names[op]].reduce(np.stack(parts), axis=0)
        if _names[op] == "NCCL_AVG":
            out = (out / len(parts)).astype(out.dtype)
        return out.astype(parts[0].dtype)

    def allReduce(self, sendbuf, recvbuf, count, datatype, op, stream) -> None:  # noqa: N802
        parts = self._everybody(_memory(sendbuf, count, datatype))
        _memory(recvbuf, count, datatype)[...] = self._reduced(parts, op)

    def reduce(self, sendbuf, recvbuf, count, datatype, op, root, stream) -> None:
        parts = self._everybody(_memory(sendbuf, count, datatype))
        if self.mpi.rank == root:
            _memory(recvbuf, count, datatype)[...] = self._reduced(parts, op)

    def broadcast(self, sendbuff, recvbuff, count, datatype, root, stream) -> None:
        parts = self._everybody(_memory(sendbuff, count, datatype))
        _memory(recvbuff, count, datatype)[...] = parts[root]

    def allGather(self, sendbuf, recvbuf, count, datatype, stream) -> None:  # noqa: N802
        parts = self._everybody(_memory(sendbuf, count, datatype))
        _memory(recvbuf, count * len(parts), datatype)[...] = np.concatenate(parts)

    def reduceScatter(  # noqa: N802
        self, sendbuf, recvbuf, recvcount, datatype, op, stream
    ) -> None:
        size = self.mpi.size
        parts = self._everybody(_memory(sendbuf, recvcount * size, datatype))
        start = self.mpi.rank * recvcount
        whole = self._reduced(parts, op)
        _memory(recvbuf, recvcount, datatype)[...] = whole[start : start + recvcount]

    def send(self, sendbuf, count, datatype, peer, stream) -> None:
        memory = _memory(sendbuf, count, datatype).view(np.uint8)
        self._begin(self.mpi.Isend(memory, peer))

    def recv(self, recvbuf, count, datatype, peer, stream) -> None:
        memory = _memory(recvbuf, count, datatype).view(np.uint8)
        self._begin(self.mpi.Irecv(memory, peer))

    def _begin(self, request: Any) -> None:
        if _grouped:
            _grouped[-1].append(request)
        else:
            request.Wait()


class Array(np.ndarray):
    """An array on the host that tells its address as CuPy's do."""

    @property
    def data(self) -> Any:
        return SimpleNamespace(ptr=self.ctypes.data)

    def __array_function__(self, *call: Any) -> Any:
        result = super().__array_function__(*call)
        return result.view(Array) if type(result) is np.ndarray else result


class _Event:
    done = True

    def __init__(self, disable_timing: bool = False) -> None:
        pass

    def record(self, stream: Any = None) -> None:
        pass


def _stream(non_blocking: bool = False) -> SimpleNamespace:
    return SimpleNamespace(ptr=0, wait_event=lambda event: None, synchronize=lambda: None)


cupy = SimpleNamespace(
    ndarray=Array,
    cuda=SimpleNamespace(Event=_Event, Stream=_stream, get_current_stream=_stream),
)
