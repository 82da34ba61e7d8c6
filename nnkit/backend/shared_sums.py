"""Sums of large arrays over ranks of one machine, through memory that they share.

Each rank puts what others add up into its own row of a slot, adds up its own share of all rows, in
the order of ranks, and takes the shares of the others. So a rank moves half the bytes that messages
move, and each sum is formed once: all ranks have the same bits.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from nnkit.backend import shared_memory

SLOTS = 8  # sums that are under way at the same time
ROW_BYTES = 4 << 20
SMALLEST = 1 << 18  # bytes of an array, below which messages are as fast
FIRST_TAG = 40000  # on the group's own communicator
BLOCK = 1 << 14  # elements that stay in the processor's cache


def opened(group: Any, wait: Callable[[list], None]) -> np.ndarray | None:
    """The memory that the group's ranks share; None where they are not on one machine.

    Args:
        wait: waits for requests.
    """
    world = group.world
    size = 2 * SLOTS * group.size * ROW_BYTES
    told = np.zeros(3, np.int64)  # descriptor, and the file as the kernel knows it
    memory = None
    if group.rank == 0:
        try:
            memory = shared_memory.allocate(size)
        except (OSError, AttributeError):
            pass  # a system without files that have no name
        else:
            descriptor = shared_memory.descriptor_of(memory)
            told[:] = descriptor, *_file(descriptor)
    wait([group.control.Ibcast(told, 0)])
    host, owner = world.processes[group.ranks[0]]
    if memory is None and host == world.processes[world.rank][0]:
        try:
            descriptor = os.open(f"/proc/{owner}/fd/{told[0]}", os.O_RDWR)
        except OSError:
            pass  # a system without /proc, or a process that may not be looked into
        else:
            if _file(descriptor) == (told[1], told[2]):
                memory = shared_memory.received(descriptor, size)
            else:  # the number is that of another process, in a container of its own
                os.close(descriptor)
    opens, all_open = np.array([memory is not None], np.int64), np.zeros(1, np.int64)
    wait([group.control.Iallreduce(opens, all_open, world.MPI.MIN)])
    if memory is None or not all_open[0]:
        return None
    return memory.reshape(SLOTS, 2, group.size, ROW_BYTES)


def _file(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


class SharedSum:
    """A sum that is under way; in other respects a request of MPI's.

    It is tested first when all ranks are known to have begun it.

    Args:
        flats: this rank's terms, one array after another; the sum comes in their place.
        factor: what every term is multiplied by.
        number: of the group's sums through memory.
    """

    def __init__(self, group: Any, flats: Sequence[np.ndarray], factor: float, number: int) -> None:
        self.group, self.flats, self.factor = group, flats, factor
        self.slot = number % SLOTS
        size, dtype = sum(flat.size for flat in flats), flats[0].dtype
        # Sums have rows of their own: others may read those of the slot's last use until all have
        # begun this one.
        memory = group.shared[self.slot, :, :, : size * dtype.itemsize]
        self.rows, self.sums = memory.view(dtype)
        ends = [size * r // group.size for r in range(group.size + 1)]
        self.shares = [slice(*pair) for pair in zip(ends, ends[1:])]
        self.others = [rank for rank in range(group.size) if rank != group.rank]
        self.requests: list = []
        self.has_added = False
        for other in self.others:
            for own, place in self._pieces(other):
                np.multiply(own, factor, out=self.rows[group.rank, place])

    def _pieces(self, rank: int) -> Iterator[tuple[np.ndarray, slice]]:
        """The part of the arrays in a rank's share, and its place in the row."""
        share, start = self.shares[rank], 0
        for flat in self.flats:
            first, end = max(share.start, start), min(share.stop, start + flat.size)
            if first < end:
                yield flat[first - start : end - start], slice(first, end)
            start += flat.size

    def _add(self) -> None:
        rank, group = self.group.rank, self.group
        for piece, place in self._pieces(rank):
            for start in range(0, piece.size, BLOCK):
                own = piece[start : start + BLOCK]
                block = slice(place.start + start, place.start + start + own.size)
                own *= self.factor
                terms = [own if r == rank else self.rows[r, block] for r in range(group.size)]
                total = self.sums[rank, block]
                np.add(terms[0], terms[1], out=total)
                for term in terms[2:]:
                    total += term
                own[:] = total
        tag = FIRST_TAG + self.slot
        for other in self.others:
            self.requests.append(group.control.Irecv(np.empty(1, np.uint8), other, tag))
            self.requests.append(group.control.Isend(np.zeros(1, np.uint8), other, tag))

    def Test(self) -> bool:
        """Whether the sum is there."""
        if not self.has_added:
            self._add()
            self.has_added = True
        while self.requests:
            if not self.requests[-1].Test():
                return False
            self.requests.pop()
        for other in self.others:
            for own, place in self._pieces(other):
                own[:] = self.sums[other, place]
        return True
