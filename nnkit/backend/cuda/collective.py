"""Collectives between the ranks' GPUs, by NCCL through CuPy.

A group's GPUs have a communicator and a stream of their own, made when first used. A call waits on
the GPU for what the current stream has computed; whoever awaits it waits for its event. The ranks'
calls are compared by MPI, between the CPUs, as those of `nnkit.backend.cpu.collective` are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from nnkit.backend.cpu.collective import arrived as arrived
from nnkit.backend.cpu.collective import barrier as barrier_of_hosts
from nnkit.backend.cpu.collective import begin
from nnkit.backend.cuda.creation import cupy
from nnkit.backend.cuda.differences import BF16, address, as_bits, contiguous
from nnkit.backend.ranks import Group
from nnkit.backend.transfers import DONE, Transfer, travelling
from nnkit.backend.transfers import await_arrival as await_arrival

Arrays = Sequence[Any]
NAMES = {
    np.dtype(name): f"NCCL_{code}"
    for name, code in {
        "uint8": "UINT8", "int8": "INT8", "int32": "INT32", "int64": "INT64", "uint32": "UINT32",
        "uint64": "UINT64", "float16": "FLOAT16", "float32": "FLOAT32", "float64": "FLOAT64",
    }.items()
} | {BF16: "NCCL_BFLOAT16"}  # fmt: skip
OPERATIONS = {"sum": "SUM", "avg": "AVG", "product": "PROD", "min": "MIN", "max": "MAX"}
OF_BOOLS = {"sum": "max", "avg": "max", "product": "min"}
# NCCL has no integers of 16 bits: these travel as wider ones.
WIDER = {np.dtype("int16"): np.dtype("int32"), np.dtype("uint16"): np.dtype("uint32")}


def load_nccl() -> Any:
    """CuPy's module of NCCL.

    Raises:
        RuntimeError: it, or NCCL's library, is not installed.
    """
    try:
        from cupy.cuda import nccl
    except ImportError as error:
        raise RuntimeError(
            f"the backend nccl needs CuPy with NCCL ({error}): pip install 'nnkit[cuda12]' "
            "nvidia-nccl-cu12 (or cuda13, nvidia-nccl-cu13)"
        ) from None
    if not nccl.available:
        raise RuntimeError(
            "the backend nccl needs NCCL's library: pip install nvidia-nccl-cu12 (or -cu13)"
        )
    return nccl


class Link:
    """The connection of the GPUs of a group: NCCL's communicator, and the stream of its calls."""

    def __init__(self, group: Group) -> None:
        self.nccl = load_nccl()
        name = np.zeros(128, np.uint8)
        if group.rank == 0:
            name[:] = np.frombuffer(self.nccl.get_unique_id(), np.uint8)
        group.control.Bcast(name, 0)
        self.communicator = self.nccl.NcclCommunicator(group.size, name.tobytes(), group.rank)
        self.stream = cupy().cuda.Stream(non_blocking=True)

    def name(self, dtype: np.dtype) -> int:
        return getattr(self.nccl, NAMES[dtype])

    def operation(self, op: str) -> int:
        return getattr(self.nccl, f"NCCL_{OPERATIONS[op]}")


def _link(group: Group) -> Link:
    if group.gpu is None:
        group.gpu = Link(group)
    return group.gpu


class Passing:
    """The end of a call of NCCL, asked for as MPI's requests are."""

    def __init__(self, event: Any) -> None:
        self.event = event

    def Test(self) -> bool:  # noqa: N802  MPI's name
        return self.event.done


@contextmanager
def _calls(transfer: Transfer, link: Link) -> Iterator[tuple[Any, int]]:
    """The communicator and the stream for calls that begin once the arrays are computed."""
    machine = cupy().cuda
    ready = machine.Event(disable_timing=True)
    ready.record()
    link.stream.wait_event(ready)
    yield link.communicator, link.stream.ptr
    passed = machine.Event(disable_timing=True)
    passed.record(link.stream)
    transfer.requests.append(Passing(passed))


def _flat(arrays: Arrays) -> Any:
    """The elements of the arrays one after another, as NCCL knows them."""
    if len(arrays) == 1:
        return _known(contiguous(arrays[0]).reshape(-1))
    whole = np.concatenate([as_bits(contiguous(a).reshape(-1)) for a in arrays])
    return _known(whole.view(arrays[0].dtype))


def _known(flat: Any) -> Any:
    """The same numbers in a dtype of NCCL: bools as bytes, complex ones as pairs."""
    if flat.dtype.kind == "b":
        return flat.view(np.uint8)
    if flat.dtype.kind == "c":
        return flat.view(flat.real.dtype)
    wider = WIDER.get(flat.dtype)
    return flat if wider is None else flat.astype(wider)


def _target(arrays: Arrays) -> Any:
    """Memory for what will arrive in the arrays: their own, where that lies by rows."""
    first = arrays[0]
    if len(arrays) == 1 and first.flags.c_contiguous and first.dtype not in WIDER:
        return _known(first.reshape(-1))
    whole = cupy().ndarray((sum(a.size for a in arrays),), first.dtype)
    return _known(whole)


def _deal(flat: Any, arrays: Arrays) -> None:
    """Give the arrays what has arrived for them, unless it has arrived in their own memory."""
    first = arrays[0]
    if len(arrays) == 1 and address(flat) == address(first):
        return
    if first.dtype in WIDER:
        flat = flat.astype(first.dtype)
    start = 0
    flat = as_bits(flat) if first.dtype == BF16 else flat.view(first.dtype)
    for array in arrays:
        as_bits(array)[...] = flat[start : start + array.size].reshape(array.shape)
        start += array.size


def _dealing(flat: Any, arrays: Arrays) -> Callable[[], None]:
    return lambda: _deal(flat, arrays)


def _operation(op: str, arrays: Arrays) -> str:
    """The operation by NCCL's name; RuntimeError if it has none."""
    found = OF_BOOLS.get(op, op) if arrays[0].dtype.kind == "b" else op
    if found not in OPERATIONS:
        raise RuntimeError(f"Cannot use ReduceOp.{op.upper()} with NCCL")
    if arrays[0].dtype.kind == "c" and op not in ("sum", "avg"):
        raise ValueError(f"ReduceOp.{op.upper()} is not defined for {arrays[0].dtype} tensors")
    return found


def _copied(outs: Arrays, xs: Arrays) -> np.ndarray:
    _deal(_flat(xs).copy(), outs)
    return DONE


def all_reduce_(xs: Arrays, op: str, group: Group) -> np.ndarray:
    found = _operation(op, xs)
    transfer = begin(group, "all_reduce", xs, op=op)
    if transfer is None:
        return DONE
    parts, link = travelling(xs), _link(group)
    flats = [_flat(part) for part in parts]
    transfer.compare(sum(flat.size for flat in flats))
    with _calls(transfer, link) as (communicator, stream):
        for flat in flats:
            place, name = address(flat), link.name(flat.dtype)
            communicator.allReduce(place, place, flat.size, name, link.operation(found), stream)

    def finish() -> None:
        for flat, part in zip(flats, parts):
            _deal(flat, part)

    transfer.finish = finish
    return transfer.start()


def reduce_(xs: Arrays, op: str, root: int, group: Group) -> np.ndarray:
    found = _operation(op, xs)
    transfer = begin(group, "reduce", xs, op=op, dst=group.ranks[root])
    if transfer is None:
        return DONE
    flat, link = _flat(xs), _link(group)
    transfer.compare(flat.size)
    with _calls(transfer, link) as (communicator, stream):
        place, name = address(flat), link.name(flat.dtype)
        operation = link.operation(found)
        communicator.reduce(place, place, flat.size, name, operation, root, stream)
    transfer.finish = _dealing(flat, xs) if group.rank == root else None
    transfer.kept = flat
    return transfer.start()


def broadcast_(xs: Arrays, root: int, group: Group) -> np.ndarray:
    transfer = begin(group, "broadcast", xs, src=group.ranks[root])
    if transfer is None:
        return DONE
    flat, link = _flat(xs), _link(group)
    transfer.compare(flat.size)
    with _calls(transfer, link) as (communicator, stream):
        place = address(flat)
        communicator.broadcast(place, place, flat.size, link.name(flat.dtype), root, stream)
    transfer.finish = _dealing(flat, xs)
    return transfer.start()


def all_gather_(outs: Arrays, xs: Arrays, group: Group) -> np.ndarray:
    transfer = begin(group, "all_gather", xs)
    if transfer is None:
        return _copied(outs, xs)
    flat, target, link = _flat(xs), _target(outs), _link(group)
    transfer.compare(flat.size)
    with _calls(transfer, link) as (communicator, stream):
        name = link.name(flat.dtype)
        communicator.allGather(address(flat), address(target), flat.size, name, stream)
    transfer.kept, transfer.finish = flat, _dealing(target, outs)
    return transfer.start()


def reduce_scatter_(outs: Arrays, xs: Arrays, op: str, group: Group) -> np.ndarray:
    found = _operation(op, xs)
    transfer = begin(group, "reduce_scatter", xs, op=op)
    if transfer is None:
        return _copied(outs, xs)
    flat, target, link = _flat(xs), _target(outs), _link(group)
    transfer.compare(flat.size)
    with _calls(transfer, link) as (communicator, stream):
        name, operation = link.name(flat.dtype), link.operation(found)
        communicator.reduceScatter(
            address(flat), address(target), target.size, name, operation, stream
        )
    transfer.kept, transfer.finish = flat, _dealing(target, outs)
    return transfer.start()


def _exchange(
    transfer: Transfer, link: Link, sent: list[tuple[int, Any]], received: list[tuple[int, Any]]
) -> None:
    """Messages to and from several ranks, as one call."""
    with _calls(transfer, link) as (communicator, stream):
        link.nccl.groupStart()
        for rank, part in sent:
            communicator.send(address(part), part.size, link.name(part.dtype), rank, stream)
        for rank, part in received:
            communicator.recv(address(part), part.size, link.name(part.dtype), rank, stream)
        link.nccl.groupEnd()


def _parts(flat: Any, counts: Sequence[int]) -> list[tuple[int, Any]]:
    """The parts of the ranks, by rank; those without an element are left out."""
    ends = np.cumsum(counts).tolist()
    parts = [(r, flat[end - n : end]) for r, (n, end) in enumerate(zip(counts, ends))]
    return [(r, part) for r, part in parts if part.size]


def gather_ranks_(outs: Arrays, xs: Arrays, root: int, group: Group) -> np.ndarray:
    transfer = begin(group, "gather", xs, dst=group.ranks[root])
    if transfer is None:
        return _copied(outs, xs)
    flat, link = _flat(xs), _link(group)
    transfer.compare(flat.size)
    received: list = []
    if group.rank == root:
        target = _target(outs)
        received = _parts(target, [flat.size] * group.size)
        transfer.finish = _dealing(target, outs)
    _exchange(transfer, link, [(root, flat)] if flat.size else [], received)
    transfer.kept = flat
    return transfer.start()


def scatter_ranks_(outs: Arrays, xs: Arrays, root: int, group: Group) -> np.ndarray:
    transfer = begin(group, "scatter", outs, src=group.ranks[root])
    if transfer is None:
        return _copied(outs, xs)
    target, link = _target(outs), _link(group)
    transfer.compare(target.size)
    sent: list = []
    if group.rank == root:
        transfer.kept = _flat(xs)
        sent = _parts(transfer.kept, [target.size] * group.size)
    _exchange(transfer, link, sent, [(root, target)] if target.size else [])
    transfer.finish = _dealing(target, outs)
    return transfer.start()


def all_to_all_(
    outs: Arrays, xs: Arrays, out_counts: tuple, counts: tuple, group: Group
) -> np.ndarray:
    transfer = begin(group, "all_to_all", xs)
    if transfer is None:
        return _copied(outs, xs)
    flat, target, link = _flat(xs), _target(outs), _link(group)
    transfer.compare(None)
    transfer.compare_counts(counts, out_counts)
    width = 1 + (xs[0].dtype.kind == "c")
    sent = _parts(flat, [n * width for n in counts])
    _exchange(transfer, link, sent, _parts(target, [n * width for n in out_counts]))
    transfer.kept, transfer.finish = flat, _dealing(target, outs)
    return transfer.start()


def barrier(group: Group) -> np.ndarray:
    cupy().cuda.get_current_stream().synchronize()
    return barrier_of_hosts(group)


def send(xs: Arrays, to: int, tag: int, group: Group) -> np.ndarray:
    message = Transfer(group, "send", {"dst": group.ranks[to]}, xs)
    message.kept = _flat(xs)
    _exchange(message, _link(group), [(to, message.kept)], [])
    return message.start()


def receive_(xs: Arrays, source: int, tag: int, group: Group) -> np.ndarray:
    """Receive a message. NCCL knows no tags, and none from anybody.

    Raises:
        RuntimeError: no source is named.
    """
    if source < 0:
        raise RuntimeError("recv: NCCL cannot receive from any rank; name the source with src=")
    message = Transfer(group, "recv", {"src": group.ranks[source]}, xs)
    message.source = group.ranks[source]
    target = _target(xs)
    _exchange(message, _link(group), [], [(source, target)])
    message.finish = _dealing(target, xs)
    return message.start()
