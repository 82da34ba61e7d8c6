"""The random numbers of kernels: a launch draws a part of a Philox stream.

A launch is given seed and position by value. In a captured graph that would repeat the same numbers
in every replay; so while one is recorded, kernels are given the address of two numbers in the GPU's
memory instead, which are written before each replay.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from nnkit.backend.cuda import compiled
from nnkit.backend.cuda.differences import address
from nnkit.backend.cuda.source import current_machine, kernel
from nnkit.backend.philox import RESIDENT_BLOCKS, THREADS_PER_BLOCK, WORDS, Philox


class Stream(ctypes.Structure):
    """`nnkit::Stream` of kernels/random.cu."""

    _fields_ = (
        ("seed", ctypes.c_uint64), ("first", ctypes.c_uint64), ("threads", ctypes.c_int64),
        ("place", ctypes.c_void_p),
    )  # fmt: skip


def stream_of_gpu() -> Philox:
    """The stream of the current GPU's default generator."""
    from nnkit.backend.cuda.runtime import generator

    found = generator().philox
    assert found is not None
    return found


def drawn(philox: Philox, count: int, of_block: int) -> Stream:
    """The part of a stream that one kernel over ``count`` elements draws, which is taken off it.

    A block of Philox serves ``of_block`` elements.
    """
    threads = THREADS_PER_BLOCK * min(max(-(-count // THREADS_PER_BLOCK), 1), RESIDENT_BLOCKS)
    words = -(-count // (threads * of_block)) * WORDS
    recording = current_recording()
    if recording is not None:
        return recording.part(philox, words, threads)
    stream = Stream(philox.seed, philox.offset // WORDS, threads, None)
    philox.offset += words
    return stream


class Place:
    """The place of a stream in a captured graph, and how far one replay moves it on."""

    def __init__(self) -> None:
        self.numbers = current_machine().cupy.empty(2, np.uint64)  # seed, blocks drawn before
        self.words = 0


class Recording:
    """The draws of a graph from each stream, and the host's memory that it reads."""

    def __init__(self) -> None:
        self._places: dict[Philox, Place] = {}
        self.kept: list[Any] = []
        self.workspaces: dict[int, Any] = {}  # of cuBLAS, by stream

    def place_of(self, philox: Philox) -> Place:
        if philox not in self._places:
            self._places[philox] = Place()
        return self._places[philox]

    def part(self, philox: Philox, words: int, threads: int) -> Stream:
        place = self.place_of(philox)
        stream = Stream(0, place.words // WORDS, threads, address(place.numbers))
        place.words += words
        return stream

    @contextmanager
    def current(self) -> Iterator[None]:
        """Within it, this thread's draws are recorded."""
        before, _thread.recording = current_recording(), self
        compiled.forget_handle()
        try:
            yield
        finally:
            _thread.recording = before
            compiled.forget_handle()

    def advance(self) -> None:
        """Tell the next replay where the streams stand, and move them on by what it draws."""
        for philox, place in self._places.items():
            position = (np.uint64(philox.seed), np.uint64(philox.offset // WORDS))
            kernel("random", "write_place")((1,), (1,), (place.numbers, *position))
            philox.offset += place.words


_thread = threading.local()


def current_recording() -> Recording | None:
    """The recording that this thread's draws belong to, while a graph is captured."""
    return getattr(_thread, "recording", None)


def drawn_by_host(generator: Any, name: str) -> Philox:
    """The stream of a kernel whose numbers the CPU makes.

    Raises:
        RuntimeError: a graph is being recorded.
    """
    if current_recording() is not None:
        raise RuntimeError(
            f"{name}(): the CPU draws its numbers, so it cannot be captured in a CUDA graph: draw "
            "them before, into a tensor that the graph reads"
        )
    return stream_of(generator)


def stream_of(generator: Any) -> Philox:
    """The stream of a generator, or of the current GPU's default one for None."""
    return stream_of_gpu() if generator is None else generator.philox
