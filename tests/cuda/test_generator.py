"""Generators of GPUs: they live on the host, so that all but drawing works without one."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import nnkit
from nnkit.autograd.surface.generator import source_of
from nnkit.backend import random as source
from nnkit.cuda.graphs import CUDAGraph
from tests.cuda.test_surface import without_gpu


def of_gpu(index: int = 0) -> nnkit.Generator:
    """What ``nnkit.Generator("cuda")`` is where there is a GPU."""
    return nnkit.Generator._of(source.Generator(f"cuda:{index}"))


@pytest.fixture(autouse=True)
def generators_kept() -> Iterator[None]:
    with nnkit.random.fork_rng():
        yield


def test_seed_offset_and_state() -> None:
    g = of_gpu(1)
    assert g.device == nnkit.device("cuda:1") and g.engine == "philox"
    assert g.initial_seed() == 67280421310721 and g.get_offset() == 0
    assert g.manual_seed(-1) is g and g.initial_seed() == 2**64 - 1
    assert g.set_offset(12) is g and g.get_offset() == 12
    state = g.get_state()
    assert state.dtype is nnkit.uint8 and state.device.type == "cpu"
    assert state.tolist() == [255] * 8 + [12] + [0] * 7  # torch's layout: seed, offset
    assert g.manual_seed(3).get_offset() == 0
    assert g.set_state(state) is g and (g.initial_seed(), g.get_offset()) == (2**64 - 1, 12)
    g.set_state(state[:8])
    assert (g.initial_seed(), g.get_offset()) == (2**64 - 1, 0)
    assert g.seed() == g.initial_seed() != 2**64 - 1


def test_copies() -> None:
    g = of_gpu().manual_seed(4).set_offset(8)
    for twin in (g.clone_state(), copy.copy(g), copy.deepcopy(g)):
        assert twin.device == g.device
        assert (twin.initial_seed(), twin.get_offset()) == (4, 8)
        twin.set_offset(16)
        assert g.get_offset() == 8


def test_pickles() -> None:
    pickled = pickle.dumps(of_gpu().manual_seed(4).set_offset(8))
    with pytest.raises(RuntimeError, match="cuda: "):  # its device is not there
        pickle.loads(pickled)
    g = nnkit.Generator(engine="philox").manual_seed(4).set_offset(8)
    twin = pickle.loads(pickle.dumps(g))
    assert (twin.engine, twin.initial_seed(), twin.get_offset()) == ("philox", 4, 8)


def test_shared_states() -> None:
    g, other = of_gpu().manual_seed(4), of_gpu().manual_seed(5)
    other.graphsafe_set_state(g.graphsafe_get_state())
    g.set_offset(20)
    assert other.get_offset() == 20
    g.set_state(of_gpu().manual_seed(6).get_state())
    assert other.get_state().tolist() == g.get_state().tolist()
    with pytest.raises(NotImplementedError, match="philox"):
        nnkit.Generator().graphsafe_get_state()
    with pytest.raises(NotImplementedError, match="philox"):
        g.graphsafe_set_state(nnkit.Generator())


@pytest.mark.parametrize(
    ("ask", "error", "match"),
    [
        (lambda g: g.set_offset(3), RuntimeError, "multiple of 4, got 3"),
        (lambda g: g.set_state(nnkit.zeros(9, dtype=nnkit.uint8)), RuntimeError, "16 bytes, got 9"),
        (lambda g: g.set_state(nnkit.zeros(16)), TypeError, "uint8"),
        (lambda g: nnkit.Generator().get_offset(), RuntimeError, "does not use an offset"),
        (lambda g: nnkit.Generator().set_offset(4), RuntimeError, "does not use an offset"),
        (lambda g: nnkit.Generator("meta"), RuntimeError, "meta"),
        (lambda g: source.Generator("cuda", "mt19937"), ValueError, "'philox' on cuda"),
        (lambda g: source.Generator("mps"), RuntimeError, "'cpu' or 'cuda', got 'mps'"),
    ],
)
def test_errors(ask: Callable[[Any], Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        ask(of_gpu())


@without_gpu
@pytest.mark.parametrize("place", ["cuda", "cuda:1"])
def test_making_one_needs_a_gpu(place: str) -> None:
    with pytest.raises(RuntimeError, match="cuda: (CUDA needs CuPy|found no NVIDIA driver)"):
        nnkit.Generator(place)


def test_a_generator_draws_on_its_own_device() -> None:
    fills: list[Callable[..., Any]] = [
        lambda g: nnkit.rand(2, generator=g),
        lambda g: nnkit.randint(3, (2,), generator=g),
        lambda g: nnkit.randperm(3, generator=g),
        lambda g: nnkit.zeros(2).normal_(generator=g),
        lambda g: nnkit.bernoulli(nnkit.ones(2), generator=g),
        lambda g: nnkit.multinomial(nnkit.ones(2), 1, generator=g),
    ]
    for fill in fills:
        with pytest.raises(RuntimeError, match="'cpu' device type for generator, .* 'cuda'"):
            fill(of_gpu())
    with pytest.raises(RuntimeError, match="'cuda' device type for generator, .* 'cpu'"):
        source_of("uniform_", nnkit.Generator(engine="philox"), nnkit.device("cuda:0"))
    g = of_gpu()
    assert source_of("uniform_", g, nnkit.device("cuda:0")) is g._source


def test_seeding_reaches_every_gpu() -> None:
    used = source.generator_of_gpu(0)
    used.philox.offset = 40  # type: ignore[union-attr]
    nnkit.manual_seed(21)
    assert (used.initial_seed(), used.philox.offset) == (21, 0)  # type: ignore[union-attr]
    assert source.generator_of_gpu(5).initial_seed() == 21
    nnkit.cuda.manual_seed_all(22)
    assert used.initial_seed() == 22 and nnkit.initial_seed() == 21
    assert nnkit.seed() == used.initial_seed()
    nnkit.cuda.seed_all()
    assert used.initial_seed() == source.generator_of_gpu(5).initial_seed() != nnkit.initial_seed()


def test_fork_rng_keeps_gpus() -> None:
    nnkit.manual_seed(1)
    used = [source.generator_of_gpu(i) for i in range(2)]
    with nnkit.random.fork_rng(devices=["cuda:0"]):
        nnkit.manual_seed(2)
    assert [g.initial_seed() for g in used] == [1, 2]
    with nnkit.random.fork_rng():
        nnkit.manual_seed(3)
        later = source.generator_of_gpu(6)
    assert [g.initial_seed() for g in (*used, later)] == [1, 2, 2]


def test_a_graph_takes_generators_of_gpus_alone() -> None:
    graph = CUDAGraph.__new__(CUDAGraph)
    with pytest.raises(RuntimeError, match="'cuda' device type for generator"):
        graph.register_generator_state(nnkit.Generator())
