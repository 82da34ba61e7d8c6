"""The processes of one job, its *ranks*: MPI as it is started, and the groups of ranks.

Ranks that wait for each other also listen: a rank that gives up tells all others why
(`World.tell`), and of those on this machine it is known when their process has ended. So nobody
waits for a rank that will never come. MPI is called by one thread at a time, and not in a way that
blocks: requests are tested, with pauses, so that ranks may be more than there are processors. What
MPI has in no other way than one that blocks is called by a thread of its own (`Aside`).
"""

from __future__ import annotations

import atexit
import os
import platform
import sys
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from math import inf
from typing import Any

import numpy as np

from nnkit.backend import rendezvous, shared_sums
from nnkit.backend.errors import DistBackendError, DistNetworkError, DistStoreError

INSTALL = "pip install 'nnkit[mpi]' (which brings mpi4py and mpich)"
# The variables that launchers of MPI set for the processes that they start.
LAUNCHED = ("PMI_FD", "PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "MPI_LOCALRANKID")
LANES = (1, 2, 4, 8)
NOTICE_TAG, MEETING_TAG = 1, 2
NOTICE_BYTES = 1024
SPIN, PAUSE, LONGEST_PAUSE = 2e-4, 2e-5, 1e-3  # seconds
WORKED = 2e-5  # seconds that a test takes only where MPI has moved data
BETWEEN_LOOKS = 0.02
BETWEEN_LOOKS_AT_PROCESSES = 0.2
GRACE = 0.5  # for what a rank has sent before it went, and for the notices of the others

Buffer = bytearray | np.ndarray


def load_mpi() -> Any:
    """mpi4py's module, not yet initialised.

    Raises:
        RuntimeError: it, or a library of MPI, is not installed; the message says what to install.
    """
    try:
        import mpi4py

        if "mpi4py.MPI" not in sys.modules:
            mpi4py.rc.initialize = False
            mpi4py.rc.finalize = False
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise RuntimeError(
            f"several processes need MPI, which cannot be loaded ({error}): {INSTALL}"
        ) from None
    return MPI


def is_launched() -> bool:
    """Whether a launcher of MPI has started this process."""
    return any(name in os.environ for name in LAUNCHED)


class Pauses:
    """The pauses of a process that waits: it sleeps longer and longer before it looks again.

    A look that took long has moved data, and the next piece will be there at once: then there is
    no time to sleep.
    """

    def __init__(self) -> None:
        self.start = self.looks_since = time.monotonic()
        self.next_look = self.start + BETWEEN_LOOKS
        self.pause = PAUSE

    def sleep(self) -> bool:
        """Let others compute; True when it is time to look what has become of them."""
        now = time.monotonic()
        if now - self.looks_since > WORKED:
            self.start, self.pause = now, PAUSE
        if now - self.start < SPIN:
            os.sched_yield()
        else:
            time.sleep(self.pause)
        self.looks_since = time.monotonic()
        if self.looks_since < self.next_look:
            return False
        self.pause = min(2 * self.pause, LONGEST_PAUSE)
        self.next_look = self.looks_since + BETWEEN_LOOKS
        self.looks_since = inf  # what has become of the others takes long as well
        return True


class Aside(threading.Thread):
    """A call of MPI that blocks, made by another thread; in other respects a request.

    The call of one whose partners are gone never ends: the process does, with this thread in it.
    """

    def __init__(self, world: World, call: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        is_free = world.MPI.Query_thread() == world.MPI.THREAD_MULTIPLE
        self.lock: Any = nullcontext() if is_free else world.lock
        self.call = call
        self.found: Any = None
        self.error: Exception | None = None
        self.start()

    def run(self) -> None:
        with self.lock:
            try:
                self.found = self.call()
            except Exception as error:
                self.error = error

    def Test(self) -> bool:
        """Whether the call has ended, as of a request of MPI's; raises its error."""
        if self.is_alive():
            return False
        if self.error is not None:
            raise self.error
        return True


class World:
    """All ranks of the job. Without MPI it has one.

    Args:
        MPI: mpi4py's module, initialised; None for one rank.
        processes: the machine and the process of each rank, where the meeting has told.
        seconds: how long the ranks wait for each other now.

    Raises:
        DistBackendError: a rank is gone, or does not come in time.
    """

    def __init__(
        self, MPI: Any, processes: list[tuple[str, int]] | None = None, seconds: float = inf
    ) -> None:
        self.MPI = MPI
        self.rank, self.size = (0, 1) if MPI is None else _place(MPI)
        self.lock = threading.RLock()
        self.failed = False
        self.told: dict[int, str] = {}  # why a rank will not come any more
        self.seen: dict[int, float] = {}  # when that became known
        self.ended: set[int] = set()  # the ranks that came to their end
        self.sent: list = []  # requests that nobody waits for, with their buffers
        self.process = os.getpid()
        self.processes = processes or []
        self.next_look_at_processes = 0.0
        self.meetings: dict[tuple[int, ...], int] = {}
        self.control: Any = None
        if MPI is None:
            return
        control, request = MPI.COMM_WORLD.Idup()
        everybody = list(range(self.size))
        self.wait([request], everybody, "the start", seconds)
        self.control = control
        if not self.processes:  # whoever has started them knows of their ends as well
            self.processes = control.allgather((platform.node(), self.process))
        self.wait([control.Ibarrier()], everybody, "the start", seconds)
        atexit.register(self.leave)

    def group(self, ranks: list[int], seconds: float) -> Group:
        """The group of these ranks, each of which calls this."""
        if len(ranks) == 1 or self.rank not in ranks:
            return Group(self, ranks, None, {}, seconds)
        name = f"the making of a group of ranks {ranks}"
        self.meet(ranks, name, seconds)
        everybody = self.MPI.COMM_WORLD
        members = everybody.Get_group().Incl(ranks)
        made = Aside(self, lambda: everybody.Create_group(members, MEETING_TAG))
        self.wait([made], ranks, name, seconds)
        control = made.found
        with self.lock:
            lanes, requests = zip(*[control.Idup() for _ in LANES])
        self.wait(requests, ranks, name, seconds)
        made = Group(self, ranks, control, dict(zip(LANES, lanes)), seconds)
        made.shared = shared_sums.opened(made, lambda rs: self.wait(rs, ranks, name, seconds))
        return made

    def meet(self, ranks: list[int], name: str, seconds: float, name_all: bool = True) -> None:
        """Wait until all these ranks are here.

        Raises:
            DistBackendError: one does not come in time; the first of the ranks knows which.
        """
        if len(ranks) == 1:
            return
        key = tuple(ranks)
        number = self.meetings[key] = self.meetings.get(key, 0) + 1
        tag = MEETING_TAG + 1 + hash((key, number)) % 30000
        first = ranks[0]
        others = [r for r in ranks if r != self.rank]
        text = np.zeros(1, np.uint8)
        with self.lock:
            if self.rank != first:
                self._send(text, first, tag)
                arrivals = {first: self.control.Irecv(np.zeros(1, np.uint8), first, tag)}
            else:
                arrivals = {r: self.control.Irecv(np.zeros(1, np.uint8), r, tag) for r in others}
        end, pauses = time.monotonic() + seconds, Pauses()
        missing = set(arrivals)
        while missing:
            with self.lock:
                missing = {r for r in missing if not arrivals[r].Test()}
            if missing and pauses.sleep():
                reason = self.reason(missing)
                if reason is None and time.monotonic() >= end:
                    found = sorted(missing)[: None if name_all else 1]
                    names = ", ".join(map(str, found)) if self.rank == first else "others"
                    reason = f"rank {names} did not come within {seconds:g} s"
                if reason is not None:
                    self.tell(f"waited in vain in {name}")
                    raise DistBackendError(f"rank {self.rank} waited in {name}: {reason}")
        if self.rank == first:
            with self.lock:
                for other in others:
                    self._send(text, other, tag)

    def wait(self, requests: Any, ranks: list[int], name: str, seconds: float) -> None:
        """Wait until requests are done for which all these ranks are needed.

        Raises:
            DistBackendError: one of the ranks is gone, or they are not done in time.
        """
        end, pauses = time.monotonic() + seconds, Pauses()
        while not self._tested(requests):
            if pauses.sleep():
                reason = self.reason(ranks)
                if reason is None and time.monotonic() >= end:
                    reason = f"not all ranks came within {seconds:g} s"
                if reason is not None:
                    self.tell(f"waited in vain in {name}")
                    raise DistBackendError(f"rank {self.rank} waited in {name}: {reason}")

    def _tested(self, requests: Any) -> bool:
        with self.lock:
            return all(request.Test() for request in requests)

    def _send(self, content: Buffer, to: int, tag: int) -> None:
        self.sent = [(request, kept) for request, kept in self.sent if not request.Test()]
        self.sent.append((self.control.Isend(content, to, tag), content))

    # What is known of the others

    def tell(self, text: str, ended: bool = False) -> None:
        """Tell all other ranks why this one will not come any more."""
        self.failed |= not ended
        if self.control is None:
            return  # they will see that this process is gone
        content = np.frombuffer(f"{ended:d}{text}".encode()[:NOTICE_BYTES], np.uint8)
        with self.lock:
            for other in range(self.size):
                if other != self.rank:
                    self._send(content, other, NOTICE_TAG)

    def listen(self) -> None:
        """Take what other ranks have told, and look which processes have ended."""
        now = time.monotonic()
        if self.control is not None:
            self._take_notices(now)
        if now >= self.next_look_at_processes:
            self.next_look_at_processes = now + BETWEEN_LOOKS_AT_PROCESSES
            for other, (host, process) in enumerate(self.processes):
                if other not in self.told and host == self.processes[self.rank][0]:
                    if not _runs(process):
                        self._learn(other, f"is gone: its process {process} has ended", now)

    def _take_notices(self, now: float) -> None:
        status = self.MPI.Status()
        with self.lock:
            while self.control.Iprobe(self.MPI.ANY_SOURCE, NOTICE_TAG, status):
                content = bytearray(status.Get_count(self.MPI.BYTE))
                other = status.Get_source()
                self.control.Recv(content, other, NOTICE_TAG)
                text = content.decode(errors="replace")
                self._learn(other, text[1:], now)
                if text[0] == "1":
                    self.ended.add(other)

    def _learn(self, other: int, text: str, now: float) -> None:
        self.told.setdefault(other, text)
        self.seen.setdefault(other, now)

    def reason(self, ranks: Any) -> str | None:
        """Why whoever waits for these ranks waits in vain; None as long as nothing says so."""
        self.listen()
        now = time.monotonic()
        known = [r for r in sorted(ranks) if r in self.seen and r != self.rank]
        if not any(now - self.seen[r] >= GRACE for r in known):
            return None
        return "; ".join(f"rank {r} {self.told[r]}" for r in known)

    # The end

    def leave(self) -> None:
        """End MPI, together with the other ranks; called when Python ends.

        After an error the others are notified, and none is waited for, as MPI's own end would.
        """
        if os.getpid() != self.process or self.MPI.Is_finalized():
            return
        error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
        if error is None and not self.failed:
            self.tell("has come to its end", ended=True)
            if self._all_leave():
                self.MPI.Finalize()
            return
        self.tell("ended" if error is None else f"ended with {type(error).__name__}: {error}")
        end = time.monotonic() + GRACE
        while time.monotonic() < end and not all(request.Test() for request, _ in self.sent):
            time.sleep(PAUSE)

    def _all_leave(self) -> bool:
        """Wait for the others to end as well; False if one of them has failed."""
        with self.lock:
            request = self.control.Ibarrier()
        pauses = Pauses()
        while not self._tested([request]):
            if pauses.sleep() and self.reason(set(range(self.size)) - self.ended) is not None:
                return False
        return True


class Group:
    """Some of the ranks, in an order of their own.

    Args:
        world: all ranks.
        ranks: the numbers of the members in the world.
        control: what the words about tensors travel by; None where there is nobody to talk to.
        lanes: what tensors travel by, by the size of their elements: MPICH aborts where elements
            of several sizes meet, before anybody could tell that the ranks' calls do not fit.
        seconds: how long its members wait for each other.
    """

    def __init__(
        self, world: World, ranks: list[int], control: Any, lanes: dict, seconds: float
    ) -> None:
        self.world = world
        self.ranks = list(ranks)
        self.size = len(ranks)
        self.rank = ranks.index(world.rank) if world.rank in ranks else -1
        self.control: Any = control
        self.lanes = lanes
        self.seconds = seconds
        self.calls = 0
        self.compares_shapes = False
        self.broken: str | None = None
        self.shared: Any = None
        self.sums: list[Any] = []  # the last ones, each in a slot of the shared memory
        self.sums_begun = 0
        self.gpu: Any = None  # the communicator of this group's GPUs, made when first used

    def free(self) -> None:
        """Give back what MPI holds for it; nothing of it may be under way."""
        if self.control is not None and self.broken is None:
            with self.world.lock:
                for each in (self.control, *self.lanes.values()):
                    each.Free()
        self.control, self.lanes, self.shared = None, {}, None
        self.broken = "the group was destroyed"

    def __repr__(self) -> str:
        return f"<group of ranks {self.ranks}>"


_world: World | None = None


def alone() -> World:
    """The world of this process, where nothing has started others."""
    return World(None)


def launched() -> World:
    """The world of the processes that a launcher of MPI has started."""
    return _started(lambda: (None, None), inf)


def joined(host: str, port: int, rank: int, size: int, seconds: float) -> World:
    """The world of ``size`` processes that meet at an address.

    Raises:
        DistNetworkError: the address cannot be used.
        DistStoreError: not all of them come in time.
    """

    def come() -> Any:
        try:
            connection, processes = rendezvous.join(host, port, rank, size, seconds)
        except TimeoutError as error:
            raise DistStoreError(str(error)) from None
        except OSError as error:
            raise DistNetworkError(str(error)) from None
        os.environ["PMI_PORT"] = f"{host}:{port}"
        os.environ["PMI_ID"] = str(rank)
        return connection, processes

    world = _started(come, seconds)
    if (world.rank, world.size) != (rank, size):
        raise DistNetworkError(
            f"expected rank {rank} of {size}, got rank {world.rank} of {world.size} from MPI: if "
            f"this is not MPICH, its own launcher must start the processes; {INSTALL}"
        )
    return world


def _started(come: Callable[[], tuple[Any, Any]], seconds: float) -> World:
    global _world
    if _world is not None:
        return _world  # MPI is started once in a process
    MPI = load_mpi()
    if not MPI.Is_initialized():
        connection, processes = come()
        try:
            MPI.Init_thread(MPI.THREAD_MULTIPLE)
        finally:
            os.environ.pop("PMI_PORT", None)
            os.environ.pop("PMI_ID", None)
            if connection is not None:
                connection.close()
    else:
        processes = None
    try:
        _world = World(MPI, processes, seconds)
    finally:
        rendezvous.forget_shared_memory()
    return _world


def _place(MPI: Any) -> tuple[int, int]:
    return MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size()


def _runs(process: int) -> bool:
    """Whether a process of this machine has not ended."""
    try:
        with open(f"/proc/{process}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except ProcessLookupError:  # it ended between opening and reading
        return False
    except FileNotFoundError:
        if os.path.exists("/proc/self/stat"):
            return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
