"""Transfers between ranks that are under way, and how they are waited for.

A collective primitive starts a transfer and returns its *ticket*, a 0-dim array with its number, so
that a recorded program has the ticket like any other array. `await_arrival` gives the results to
the arrays that were named when it started, and raises what went wrong.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np

from nnkit.backend.errors import DistBackendError
from nnkit.backend.ranks import GRACE, WORKED, Group, Pauses

DESCRIPTION_BYTES = 512
LARGE = 1 << 18  # bytes of an array, above which a copy takes longer than a message of its own
DONE = np.array(0)  # the ticket of what was done at once
UNDER_WAY: dict[int, Transfer] = {}
_numbers = count(1)


def travelling(arrays: Sequence[Any]) -> list[Sequence[Any]]:
    """The arrays as they travel: large ones each from where it is, else all in one copy.

    Sizes alone decide, which all ranks have alike.
    """
    if sum(a.nbytes for a in arrays) >= LARGE * len(arrays):
        return [[a] for a in arrays]
    return [arrays]


class Transfer:
    """One transfer of this rank.

    Args:
        group: the ranks that take part.
        name: the collective's name.
        details: its other arguments by name, for messages.
        arrays: what is sent or, where nothing is, received.
    """

    def __init__(self, group: Group, name: str, details: dict, arrays: Any) -> None:
        if group.broken is not None:
            raise DistBackendError(
                f"{name}: the group of ranks {group.ranks} failed: {group.broken}"
            )
        self.group = group
        self.name = name
        self.details = details
        self.form = [(a.dtype, a.shape) for a in arrays]
        self.requests: list = []
        self.finish: Callable[[], None] | None = None
        self.source = -1  # the rank that a message has come from
        self.error: Exception | None = None
        self.partners: list[int] = group.ranks
        self.headers: list[tuple[Any, np.ndarray, np.ndarray]] = []  # what compares the calls
        self.counts = ""
        self.kept: Any = None
        self.seconds = group.seconds

    def describe(self) -> str:
        """The call in words."""
        shown = [f"{k}={v}" for k, v in self.details.items() if v is not None]
        forms = [f"{d.name} {list(s)}" for d, s in self.form[:3]]
        forms += [f"{len(self.form) - 3} more"] * (len(self.form) > 3)
        return f"{self.name}({', '.join(forms + shown)}){self.counts}"

    def compare(self, elements: int | None) -> None:
        """Begin to compare this call with those that the other ranks of the group make.

        A number made of what must be alike travels beside the data, so that a call that does not
        fit is found before anybody has waited in vain: of the name, the arguments, the dtype and
        the number of ``elements`` (None where it may differ).
        """
        group = self.group
        group.calls += 1
        self.call = group.calls
        shape = self.form if group.compares_shapes and elements is not None else elements
        dtype = self.form[0][0] if self.form else None
        digest = zlib.crc32(f"{self.name} {self.details} {dtype} {shape}".encode())
        self._compare([digest, -digest], group.world.MPI.MAX)

    def compare_counts(self, sent: tuple, received: tuple) -> None:
        """Begin to compare how much each rank sends each other with what that one expects."""
        own = self.group.rank
        self.counts = f" that sends {list(sent)} and expects {list(received)} elements"
        total = sum(zlib.crc32(f"{own} {r} {n}".encode()) for r, n in enumerate(sent))
        total -= sum(zlib.crc32(f"{r} {own} {n}".encode()) for r, n in enumerate(received))
        self._compare([total, 0], self.group.world.MPI.SUM)

    def _compare(self, numbers: list[int], op: Any) -> None:
        """Bring numbers of all ranks together; of calls that fit, the result is x and -x."""
        sent = np.array(numbers)
        found = np.empty_like(sent)
        self.headers.append((self.group.control.Iallreduce(sent, found, op), sent, found))

    def start(self) -> np.ndarray:
        """The ticket of this transfer, which is under way from now on."""
        number = next(_numbers)
        UNDER_WAY[number] = self
        return np.array(number)

    def advance(self) -> bool:
        """Whether it has arrived; called while it is under way, it makes MPI go on with it."""
        if self.error is not None:
            return True
        world = self.group.world
        with world.lock:
            try:
                while self.headers:
                    request, _, found = self.headers[0]
                    if not request.Test():
                        return False
                    if found[0] != -found[1]:
                        self.fail(self._differences())
                        return True
                    self.headers.pop(0)
                while self.requests:
                    if not self._test(self.requests[-1]):
                        return False
                    self.requests.pop()
                finish, self.finish = self.finish, None
                if finish is not None and self.error is None:
                    finish()
            except world.MPI.Exception as error:
                self.fail(f"MPI says: {error}")
        return True

    def _test(self, request: Any) -> bool:
        return request.Test()

    def misfit(self) -> str | None:
        """A message of another rank that does not fit, in words; None if there is none, or where
        MPI itself finds it."""
        return None

    def fail(self, reason: str) -> None:
        """Note why it will not arrive; its group is of no use any more."""
        group = self.group
        group.broken = f"{self.describe()}: {reason}"
        group.world.failed = True
        LOST.append(self)
        self.error = DistBackendError(
            f"{self.describe()} failed on rank {group.world.rank} of {group.world.size}: {reason}"
        )

    def _differences(self) -> str:
        """The different calls that the ranks have made in place of the same one, in words."""
        group = self.group
        text = self.describe().encode()[:DESCRIPTION_BYTES]
        others = [r for r in range(group.size) if r != group.rank]
        tag = 1 + self.call % 30000
        own = np.frombuffer(text.ljust(DESCRIPTION_BYTES), np.uint8)
        found = {r: np.zeros(DESCRIPTION_BYTES, np.uint8) for r in others}
        requests = [group.control.Irecv(found[r], r, tag) for r in others]
        requests += [group.control.Isend(own, r, tag) for r in others]
        end, pauses = time.monotonic() + 10 * GRACE, Pauses()
        while not all(r.Test() for r in requests) and time.monotonic() < end:
            pauses.sleep()
        calls = {
            r: bytes(a).rstrip(b"\0").decode(errors="replace").strip() for r, a in found.items()
        }
        calls[group.rank] = self.describe()
        lines = [
            f"rank {group.ranks[r]} called {calls[r] or 'something else'}" for r in sorted(calls)
        ]
        return "the ranks' calls do not fit together: " + "; ".join(lines)

    def wait(self, seconds: float | None) -> None:
        """Wait until it has arrived.

        Raises:
            DistBackendError: it did not; the message names the call and the ranks.
        """
        seconds = self.seconds if seconds is None else seconds
        world = self.group.world
        end, pauses = time.monotonic() + seconds, Pauses()
        while not self.advance():
            if pauses.sleep():
                reason = world.reason(self.partners) or self.misfit()
                if reason is None and time.monotonic() >= end:
                    reason = self._late(seconds)
                if reason is not None:
                    world.tell(f"waited in vain in {self.describe()}")
                    self.fail(reason)
        if self.error is not None:
            raise self.error

    def _late(self, seconds: float) -> str:
        """The ranks that are missing at the end of the time: those that do not say that they
        wait."""
        world = self.group.world
        world.tell(f"waited in vain in {self.describe()}")
        end = time.monotonic() + GRACE
        while time.monotonic() < end:
            time.sleep(0.01)
            world.listen()
        silent = [r for r in self.partners if r != world.rank and r not in world.told]
        told = [f"rank {r} {world.told[r]}" for r in self.partners if r in world.told]
        start = f"nothing has come within {seconds:g} s"
        if silent:
            start += f" from rank {', '.join(map(str, silent))}"
        return "; ".join([start, *told])


LOST: list[Transfer] = []  # what MPI may still write into


def arrived(ticket: Any) -> bool:
    """Whether the transfer has come to its end, with or without an error; goes on with it as long
    as there are data to move."""
    transfer = UNDER_WAY.get(int(ticket))
    if transfer is None:
        return True
    start = time.monotonic()
    while not transfer.advance():
        now = time.monotonic()
        if now - start < WORKED:
            return False
        start = now
    return True


def await_arrival(ticket: Any, seconds: float | None) -> int:
    """Wait for the transfer; the rank that a message has come from, else -1."""
    transfer = UNDER_WAY.pop(int(ticket), None)
    if transfer is None:
        return -1
    transfer.wait(seconds)
    return transfer.source


def advance_all() -> None:
    """Go on with everything that is under way; what has arrived without news needs no ticket."""
    for number, transfer in list(UNDER_WAY.items()):
        if transfer.advance() and transfer.error is None and transfer.source < 0:
            UNDER_WAY.pop(number, None)
