"""Collectives between the ranks' memories, by MPI.

Every primitive works on the elements of its arrays, one array after another. Nothing is pickled:
MPI gets the memory of the only array where it lies by rows, else of a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from nnkit.backend import shared_sums, transfers
from nnkit.backend.dtype import OF_ARRAY
from nnkit.backend.errors import DistBackendError
from nnkit.backend.ranks import Group
from nnkit.backend.transfers import DONE, UNDER_WAY, Transfer, advance_all, travelling
from nnkit.backend.transfers import await_arrival as await_arrival

Arrays = Sequence[np.ndarray]

# Operations by MPI's names. Bools are bytes of 0 and 1, whose sum is "or" and whose product "and".
OPERATIONS = {
    "sum": "SUM", "avg": "SUM", "product": "PROD", "min": "MIN", "max": "MAX",
    "band": "BAND", "bor": "BOR", "bxor": "BXOR",
}  # fmt: skip
OF_BOOLS = {"SUM": "MAX", "PROD": "MIN"}
IN_FLOAT32 = {"SUM": np.add, "PROD": np.multiply, "MIN": np.minimum, "MAX": np.maximum}


def _flat(arrays: Arrays) -> np.ndarray:
    """The elements of the arrays one after another: a view of the only one, if that is possible."""
    if len(arrays) == 1:
        return np.ascontiguousarray(arrays[0]).reshape(-1)
    return np.concatenate([np.ravel(a) for a in arrays])


def _target(arrays: Arrays) -> np.ndarray:
    """The memory in which the elements of the arrays arrive."""
    if len(arrays) == 1 and arrays[0].flags.c_contiguous:
        return arrays[0].reshape(-1)
    return np.empty(sum(a.size for a in arrays), arrays[0].dtype)


def _deal(flat: np.ndarray, arrays: Arrays) -> None:
    """Give the arrays what has arrived for them, unless it has arrived in their own memory."""
    if len(arrays) == 1 and arrays[0].flags.c_contiguous:
        if arrays[0].size and np.may_share_memory(arrays[0], flat):
            return
    start = 0
    for array in arrays:
        array[...] = flat[start : start + array.size].reshape(array.shape)
        start += array.size


def _bytes(flat: np.ndarray) -> np.ndarray:
    return flat.view(np.uint8)


def begin(group: Group, name: str, arrays: Arrays, **details: Any) -> Transfer | None:
    """The transfer of a collective; None in a group of one, where there is nobody else."""
    if UNDER_WAY:
        advance_all()
    if group.rank < 0:
        raise DistBackendError(f"{name}: rank {group.world.rank} is not in the {group!r}")
    transfer = Transfer(group, name, details, arrays)
    return transfer if group.control is not None else None


# Reductions


@cache
def _half_operation(dtype: np.dtype, name: str) -> tuple[Any, Any]:
    """MPI's datatype for a format that it does not know, and the operation on it: in float32."""
    from mpi4py import MPI

    function = IN_FLOAT32[name]

    def combine(own: Any, other: Any, datatype: Any) -> None:
        x = np.frombuffer(own, dtype).astype(np.float32)
        y = np.frombuffer(other, dtype)
        y[...] = function(x, y.astype(np.float32))

    datatype = MPI.BYTE.Create_contiguous(dtype.itemsize)
    datatype.Commit()
    return datatype, MPI.Op.Create(combine, commute=True)


def _reduction(flat: np.ndarray, op: str, group: Group) -> tuple[Any, Any, Any, Any]:
    """A reduction in MPI's terms: the lane it takes, the memory and the operation as MPI sees them,
    and what to do with the result."""
    MPI = group.world.MPI
    name = OPERATIONS[op]
    if flat.dtype.kind == "c":
        if name != "SUM":
            raise ValueError(f"ReduceOp.{op.upper()} is not defined for {flat.dtype} tensors")
        flat = flat.view(f"f{flat.dtype.itemsize // 2}")
    elif flat.dtype.kind in "fV" and name in ("BAND", "BOR", "BXOR"):
        raise RuntimeError(f"Cannot use ReduceOp.{op.upper()} with non-integral dtype {flat.dtype}")
    lane = group.lanes[flat.dtype.itemsize]
    if flat.dtype.kind == "b":
        return lane, [_bytes(flat), MPI.UINT8_T], getattr(MPI, OF_BOOLS.get(name, name)), None
    then = partial(_divide, size=group.size) if op == "avg" else None
    if flat.dtype.itemsize == 2 and flat.dtype.kind in "fV":
        datatype, operation = _half_operation(flat.dtype, name)
        return lane, [_bytes(flat), flat.size, datatype], operation, then
    return lane, [flat, MPI._typedict[flat.dtype.char]], getattr(MPI, name), then


def _scale(flat: np.ndarray, factor: float) -> None:
    """Multiply in place, half precision in float32."""
    if factor == 1:
        return
    if flat.dtype.itemsize == 2:
        flat[...] = flat.astype(np.float32) * np.float32(factor)
    else:
        flat *= factor


def _divide(flat: np.ndarray, size: int) -> None:
    """Divide in place, in the elements' own type; integers lose their fractions."""
    if flat.dtype.kind in "iu":
        quotient = flat // size
        quotient += ((flat < 0) & (quotient * size != flat)).astype(flat.dtype)
        flat[...] = quotient
    elif flat.dtype.itemsize == 2:
        flat[...] = flat.astype(np.float32) / np.float32(size)
    else:
        flat /= size


def _arrive(flat: np.ndarray, outs: Arrays, then: Callable | None) -> None:
    if then is not None:
        then(flat)
    _deal(flat, outs)


def _arrive_all(flats: Arrays, parts: Sequence[Arrays], then: Callable | None) -> None:
    for flat, part in zip(flats, parts):
        _arrive(flat, part, then)


def _goes_through_memory(xs: Arrays, op: str, group: Group) -> bool:
    return (
        group.shared is not None
        and OPERATIONS[op] == "SUM"
        and xs[0].dtype in (np.float32, np.float64)
        and shared_sums.SMALLEST <= sum(x.nbytes for x in xs) <= shared_sums.ROW_BYTES
    )


def all_reduce_(xs: Arrays, op: str, group: Group) -> np.ndarray:
    return _all_reduce(xs, op, 1.0, group)


def scale_and_sum_(xs: Arrays, factor: float, group: Group) -> np.ndarray:
    return _all_reduce(xs, "sum", factor, group)


def _all_reduce(xs: Arrays, op: str, factor: float, group: Group) -> np.ndarray:
    transfer = begin(group, "all_reduce", xs, op=op)
    if transfer is None:
        for x in xs:
            _scale(x, factor)
        return DONE
    parts = travelling(xs)
    flats = [_flat(part) for part in parts]
    goes_through_memory = _goes_through_memory(xs, op, group)
    if goes_through_memory and len(group.sums) == shared_sums.SLOTS:
        group.sums.pop(0).wait(None)  # whose slot this one takes
    with group.world.lock:
        reductions = [_reduction(flat, op, group) for flat in flats]
        if goes_through_memory:  # what others add up is there before they learn of the call
            group.sums.append(transfer)
            group.sums_begun += 1
            transfer.requests.append(shared_sums.SharedSum(group, flats, factor, group.sums_begun))
        transfer.compare(sum(flat.size for flat in flats))
        if not goes_through_memory:
            for flat, (lane, memory, operation, _) in zip(flats, reductions):
                _scale(flat, factor)
                request = lane.Iallreduce(group.world.MPI.IN_PLACE, memory, operation)
                transfer.requests.append(request)
        then = reductions[0][-1]
        transfer.finish = partial(_arrive_all, flats, parts, then)
        return transfer.start()


def reduce_(xs: Arrays, op: str, root: int, group: Group) -> np.ndarray:
    transfer = begin(group, "reduce", xs, op=op, dst=group.ranks[root])
    if transfer is None:
        return DONE
    with group.world.lock:
        flat = _flat(xs)
        lane, memory, operation, then = _reduction(flat, op, group)
        transfer.compare(flat.size)
        if group.rank == root:
            request = lane.Ireduce(group.world.MPI.IN_PLACE, memory, operation, root)
            transfer.finish = partial(_arrive, flat, xs, then)
        else:
            request = lane.Ireduce(memory, None, operation, root)
        transfer.requests.append(request)
        return transfer.start()


def reduce_scatter_(outs: Arrays, xs: Arrays, op: str, group: Group) -> np.ndarray:
    transfer = begin(group, "reduce_scatter", xs, op=op)
    if transfer is None:
        return _copied(outs, xs)
    with group.world.lock:
        flat, target = _flat(xs), _target(outs)
        lane, memory, operation, then = _reduction(flat, op, group)
        _, there, _, _ = _reduction(target, op, group)
        transfer.compare(flat.size)
        counts = [target.size * (1 + (target.dtype.kind == "c"))] * group.size
        transfer.requests.append(lane.Ireduce_scatter(memory, there, counts, operation))
        transfer.finish = partial(_arrive, target, outs, then)
        return transfer.start()


# Movements


def _copied(outs: Arrays, xs: Arrays) -> np.ndarray:
    _deal(_flat(xs).copy(), outs)
    return DONE


def broadcast_(xs: Arrays, root: int, group: Group) -> np.ndarray:
    transfer = begin(group, "broadcast", xs, src=group.ranks[root])
    if transfer is None:
        return DONE
    with group.world.lock:
        flat = _flat(xs) if group.rank == root else _target(xs)
        transfer.compare(flat.size)
        transfer.requests.append(group.lanes[1].Ibcast(_bytes(flat), root))
        if group.rank == root:
            transfer.kept = flat
        else:
            transfer.finish = partial(_deal, flat, xs)
        return transfer.start()


def all_gather_(outs: Arrays, xs: Arrays, group: Group) -> np.ndarray:
    transfer = begin(group, "all_gather", xs)
    if transfer is None:
        return _copied(outs, xs)
    with group.world.lock:
        flat, target = _flat(xs), _target(outs)
        if np.may_share_memory(flat, target):
            flat = flat.copy()
        transfer.compare(flat.size)
        transfer.requests.append(group.lanes[1].Iallgather(_bytes(flat), _bytes(target)))
        transfer.kept = flat
        transfer.finish = partial(_deal, target, outs)
        return transfer.start()


def gather_ranks_(outs: Arrays, xs: Arrays, root: int, group: Group) -> np.ndarray:
    transfer = begin(group, "gather", xs, dst=group.ranks[root])
    if transfer is None:
        return _copied(outs, xs)
    with group.world.lock:
        flat = _flat(xs)
        transfer.compare(flat.size)
        transfer.kept = flat
        if group.rank == root:
            target = _target(outs)
            request = group.lanes[1].Igather(_bytes(flat), _bytes(target), root)
            transfer.finish = partial(_deal, target, outs)
        else:
            request = group.lanes[1].Igather(_bytes(flat), None, root)
        transfer.requests.append(request)
        return transfer.start()


def scatter_ranks_(outs: Arrays, xs: Arrays, root: int, group: Group) -> np.ndarray:
    transfer = begin(group, "scatter", outs, src=group.ranks[root])
    if transfer is None:
        return _copied(outs, xs)
    with group.world.lock:
        target = _target(outs)
        transfer.compare(target.size)
        source = _flat(xs) if group.rank == root else None
        transfer.kept = source
        memory = None if source is None else _bytes(source)
        transfer.requests.append(group.lanes[1].Iscatter(memory, _bytes(target), root))
        transfer.finish = partial(_deal, target, outs)
        return transfer.start()


def all_to_all_(
    outs: Arrays, xs: Arrays, out_counts: tuple, counts: tuple, group: Group
) -> np.ndarray:
    """Send ``counts[r]`` elements to each rank r and get ``out_counts[r]`` from it."""
    transfer = begin(group, "all_to_all", xs)
    if transfer is None:
        return _copied(outs, xs)
    with group.world.lock:
        flat, target = _flat(xs), _target(outs)
        if np.may_share_memory(flat, target):
            flat = flat.copy()
        transfer.compare(None)
        transfer.compare_counts(counts, out_counts)
        parts = [_bytes(part) for part in np.split(flat, np.cumsum(counts)[:-1])]
        places = [_bytes(place) for place in np.split(target, np.cumsum(out_counts)[:-1])]
        if len(parts[group.rank]) == len(places[group.rank]):  # else the comparison will tell
            places[group.rank][...] = parts[group.rank]
        # Messages are ten times as fast as MPICH's own Ialltoallv. They have this lane for
        # themselves, where those of one rank stay in order.
        lane = group.lanes[8]
        for distance in range(1, group.size):
            source, to = (group.rank - distance) % group.size, (group.rank + distance) % group.size
            transfer.requests += [lane.Irecv(places[source], source), lane.Isend(parts[to], to)]
        transfer.kept = flat
        transfer.finish = partial(_deal, target, outs)
        return transfer.start()


def barrier(group: Group) -> np.ndarray:
    transfer = begin(group, "barrier", ())
    if transfer is None:
        return DONE
    with group.world.lock:
        transfer.compare(0)
        return transfer.start()


# Messages from one rank to another


KINDS = {array_dtype: number for number, array_dtype in enumerate(OF_ARRAY)}


class Message(Transfer):
    """A message, whose sender and size are known when it has come.

    MPI finds the receiver by the user's tag and the dtype, which are one number for it: no message
    arrives as numbers of another kind.
    """

    def __init__(self, group: Group, name: str, xs: Arrays, partner: int, tag: int) -> None:
        if UNDER_WAY:
            advance_all()
        shown = None if partner < 0 else group.ranks[partner]
        word = "dst" if name == "send" else "src"
        super().__init__(group, name, {word: shown, "tag": tag or None}, xs)
        self.partners = group.ranks if partner < 0 else [group.ranks[partner]]
        MPI = group.world.MPI
        self.partner = MPI.ANY_SOURCE if partner < 0 else partner
        tags = (MPI.COMM_WORLD.Get_attr(MPI.TAG_UB) + 1) // len(KINDS)
        if not 0 <= tag < tags:
            raise ValueError(f"{name}: tag {tag} is not from 0 to {tags - 1}")
        self.tag = tag
        self.kind = self.form[0][0]

    def tag_of(self, kind: np.dtype) -> int:
        """MPI's tag of such a message with elements of a dtype."""
        return self.tag * len(KINDS) + KINDS[kind]

    def _test(self, request: Any) -> bool:
        MPI = self.group.world.MPI
        status = MPI.Status()
        try:
            if not request.Test(status):
                return False
        except MPI.Exception as error:
            if error.Get_error_class() != MPI.ERR_TRUNCATE:
                raise
            got = f"more than {self.kept.nbytes}"
        else:
            got = f"{status.Get_count(MPI.BYTE)}"
        if self.finish is not None:
            self.source = self.group.ranks[status.Get_source()]
            if got != f"{self.kept.nbytes}":
                self.fail(f"rank {self.source} sent {got} bytes, expected were {self.kept.nbytes}")
        return True

    def misfit(self) -> str | None:
        if self.finish is None:
            return None
        world = self.group.world
        status = world.MPI.Status()
        with world.lock:
            for kind in KINDS.keys() - {self.kind}:
                if self.group.lanes[1].Iprobe(self.partner, self.tag_of(kind), status):
                    sender = self.group.ranks[status.Get_source()]
                    return f"rank {sender} sent {kind.name}, expected was {self.kind.name}"
        return None


def send(xs: Arrays, to: int, tag: int, group: Group) -> np.ndarray:
    message = Message(group, "send", xs, to, tag)
    with group.world.lock:
        message.kept = _flat(xs)
        request = group.lanes[1].Isend(_bytes(message.kept), to, message.tag_of(message.kind))
        message.requests.append(request)
        return message.start()


def receive_(xs: Arrays, source: int, tag: int, group: Group) -> np.ndarray:
    """Receive a message; ``source`` is -1 for one from anybody."""
    message = Message(group, "recv", xs, source, tag)
    with group.world.lock:
        message.kept = _target(xs)
        place = message.partner, message.tag_of(message.kind)
        message.requests.append(group.lanes[1].Irecv(_bytes(message.kept), *place))
        message.finish = partial(_deal, message.kept, xs)
        return message.start()


def arrived(ticket: np.ndarray) -> np.ndarray:
    return np.array(transfers.arrived(ticket))
