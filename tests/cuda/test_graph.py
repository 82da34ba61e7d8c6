"""What a captured graph does on the host's side, and the random numbers of its replays."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest

import nnkit
from nnkit.backend.cuda import dropout, philox, random, runtime
from nnkit.backend.cuda.graph import Graph
from nnkit.backend.random import Generator, manual_seed_gpus
from tests.cuda.arrays import on_arrays
from tests.cuda.marks import needs_compiler
from tests.cuda.stand_in import CUDARuntimeError, FakeEvent, FakeStream, stand_in

dropout, random = on_arrays(dropout), on_arrays(random)

pytestmark = needs_compiler
F4 = np.dtype(np.float32)


def generator(seed: int = 11) -> Any:
    return Generator("cuda:0").manual_seed(seed)


def three_draws(source: Any, out: np.ndarray) -> None:
    random.uniform_(out[0], 0.0, 1.0, source)
    random.normal_(out[1], 0.0, 1.0, source)
    random.exponential_(out[2], 2.0, source)


def test_replays_draw_what_the_steps_would() -> None:
    captured, eager = np.zeros((3, 300), F4), np.zeros((3, 300), F4)
    mine, twin = generator(), generator()
    with stand_in() as cupy:
        stream = FakeStream(cupy)
        random.uniform_(captured[0], 0.0, 1.0, mine)  # what was drawn before counts too
        random.uniform_(eager[0], 0.0, 1.0, twin)
        graph = Graph()
        with graph.captured(stream):
            three_draws(mine, captured)
        assert mine.philox.offset == twin.philox.offset  # recording draws nothing
        seen = []
        for _ in range(3):
            graph.replay()
            three_draws(twin, eager)
            np.testing.assert_array_equal(captured, eager)
            assert mine.philox.offset == twin.philox.offset
            seen.append(captured.copy())
        assert not (seen[0] == seen[1]).any() and not (seen[1] == seen[2]).any()
        # Between replays the stream goes on, and may be started again.
        mine.manual_seed(5)
        graph.replay()
        three_draws(twin.manual_seed(5), eager)
        np.testing.assert_array_equal(captured, eager)


def test_two_streams_and_the_default_one() -> None:
    x, other = np.ones((20, 30), F4), generator()
    noise = np.zeros(40, F4)
    with stand_in() as cupy:
        stream = FakeStream(cupy)
        graph = Graph()
        with graph.captured(stream):
            out, kept = dropout.dropout(x, 0.25, False)
            random.uniform_(noise, 0.0, 1.0, other)
        manual_seed_gpus(3)  # the graph follows the very generator
        masks = []
        for _ in range(2):
            graph.replay()
            masks.append(kept.copy())
            np.testing.assert_array_equal(out, kept)
        manual_seed_gpus(3)
        for mask in masks:
            np.testing.assert_array_equal(dropout.dropout(x, 0.25, False)[1], mask)
        assert (masks[0] != masks[1]).any()
    assert other.philox.offset == 8


def test_what_the_cpu_draws_is_refused() -> None:
    with stand_in() as cupy:
        stream = FakeStream(cupy)
        graph = Graph()
        with pytest.raises(RuntimeError, match="cannot be captured"), graph.captured(stream):
            random.poisson(np.ones(4, F4), generator())
        random.poisson(np.ones(4, F4), generator())


def test_an_error_while_recording_is_raised_as_it_is() -> None:
    with stand_in() as cupy:
        stream = FakeStream(cupy)
        graph = Graph()
        stream.is_broken = True
        with pytest.raises(KeyError), graph.captured(stream):
            random.uniform_(np.empty(5, F4), 0.0, 1.0, generator())
            raise KeyError
        assert stream.tape is None and philox.current_recording() is None
        with pytest.raises(RuntimeError, match="nothing was captured"):
            graph.replay()
        # Without an error of the program's, CUDA's own is raised.
        with pytest.raises(CUDARuntimeError, match="Invalidated"), graph.captured(stream):
            pass
        stream.is_broken = False
        with graph.captured(stream):
            pass
        graph.replay()
        with pytest.raises(RuntimeError, match="captured already"), graph.captured(stream):
            pass


def test_the_surface() -> None:
    """A step captured by `nnkit.cuda.graph`, with a generator of its own."""
    with stand_in():
        g = nnkit.Generator("cuda").manual_seed(2)
        graph = nnkit.cuda.CUDAGraph()
        graph.register_generator_state(g)
        with nnkit.cuda.graph(graph):
            assert nnkit.cuda.is_current_stream_capturing()
            x = nnkit.rand(5, device="cuda", generator=g) * 2
        assert not nnkit.cuda.is_current_stream_capturing()
        twin = g.clone_state()
        for _ in range(2):
            graph.replay()
            assert nnkit.equal(x, nnkit.rand(5, device="cuda", generator=twin) * 2)
        with pytest.raises(CUDARuntimeError), nnkit.cuda.graph(nnkit.cuda.CUDAGraph()):
            nnkit.cuda.synchronize()  # nothing may wait for the GPU
        graph.reset()
        with pytest.raises(RuntimeError, match="nothing was captured"):
            graph.replay()


def test_page_locked_memory_lives_until_it_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with stand_in() as cupy:
        monkeypatch.setattr(FakeEvent, "done", False)
        x = np.zeros(3)
        alive = weakref.ref(x)
        runtime.keep_while_read(x)
        del x
        runtime.keep_while_read(np.zeros(1))
        assert alive() is not None
        monkeypatch.setattr(FakeEvent, "done", True)
        runtime.keep_while_read(np.zeros(1))
        assert alive() is None
        graph, x = Graph(), np.zeros(3)
        alive = weakref.ref(x)
        with graph.captured(FakeStream(cupy)):
            runtime.keep_while_read(x)
        del x
        runtime.keep_while_read(np.zeros(1))
        assert alive() is not None  # replays read it
        del graph
        assert alive() is None
        runtime._read.clear()
