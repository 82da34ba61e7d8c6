"""The compiled kernels that draw random numbers: the very stream of their twins in NumPy."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import nnkit
from nnkit.backend import random as streams
from nnkit.backend.cpu import BACKEND as B
from nnkit.backend.random import Generator
from tests.backend.native_cases import FOREIGN, LAYOUTS, needs_native, served

pytestmark = needs_native

SIZES = [0, 1, 2, 7, 15, 16, 17, 64, 100, 623, 625, 5000, 70_001]
FILLS = [
    ("uniform_", (0.0, 1.0), "fd"), ("uniform_", (-2.5, 7.1), "fd"),
    ("normal_", (0.0, 1.0), "fd"), ("normal_", (0.3, 2.5), "fd"),
    ("bernoulli_", (0.3,), "fdl?i"), ("bernoulli_", (1.0,), "f"), ("exponential_", (0.7,), "fd"),
    ("random_", (0, 10), "fdli"), ("random_", (-7, 2**28 - 8), "l"), ("random_", (0, 2**28), "l"),
    ("random_", (-(2**63), 2**63 - 1), "l"), ("random_", (None, None), "fdl"),
    ("geometric_", (0.3,), "fd"), ("cauchy_", (0.5, 2.0), "fd"), ("log_normal_", (0.3, 1.5), "fd"),
]  # fmt: skip


def generators():
    """The same stream three times: from a fresh seed, amid a block of words, amid a pair."""
    fresh, amid, waiting = (Generator().manual_seed(n) for n in (1, 2, 3))
    amid.words(1000)
    waiting.next_double_normal_sample = 0.25
    return [fresh, amid, waiting]


def check(name, out, arguments, generator):
    """The same numbers and the same state afterwards, whatever the number of threads."""
    kernel, before = getattr(B, name), nnkit.get_num_threads()
    theirs = copy.deepcopy(generator)
    expected = kernel.twin(*copy.deepcopy(out), *arguments, theirs)
    try:
        for threads in (1, 2, 5):
            nnkit.set_num_threads(threads)
            ours = copy.deepcopy(generator)
            got = kernel(*copy.deepcopy(out), *arguments, ours)
            assert got.dtype == expected.dtype and got.shape == expected.shape
            if name in ("normal_", "exponential_", "cauchy_", "log_normal_"):
                # In double, NumPy's own log, sin and tan may differ in the last digit, which is
                # that of what is added: the sum itself may cancel.
                mean = arguments[0] if name in ("normal_", "cauchy_") else 0.0
                size = np.abs(expected - mean) + abs(mean)
                assert (np.abs(got - expected) <= 4 * np.finfo(got.dtype).eps * size).all()
            else:
                np.testing.assert_array_equal(got, expected)
            mine, wanted = ours.get_state(), theirs.get_state()
            normals = [state[5024:5032].view(np.float64) for state in (mine, wanted)]
            np.testing.assert_allclose(*normals, rtol=1e-14)
            normals[0][...] = normals[1]
            np.testing.assert_array_equal(mine, wanted)
    finally:
        nnkit.set_num_threads(before)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("name", "arguments", "kinds"), FILLS)
def test_fills(name, arguments, kinds, size):
    for kind in kinds:
        for generator in generators():
            check(name, [np.empty(size, kind)], arguments, generator)
            check(name, [np.empty((3, size), kind).T], arguments, generator)


def test_single_normals_have_the_twins_bits():
    for mean, std in [(0.0, 1.0), (0.1, 2.5)]:
        ours, theirs = (np.empty(300_001, np.float32) for _ in range(2))
        B.normal_(ours, mean, std, Generator().manual_seed(5))
        B.normal_.twin(theirs, mean, std, Generator().manual_seed(5))
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("size", SIZES)
def test_permutations_and_masks(size):
    for generator in generators():
        for dtype in (np.int64, np.int32):
            check("randperm", [], (size, np.dtype(dtype)), generator)
        x = np.ones((2, size), np.float32)
        for p in (0.0, 0.1, 1.0):
            check("dropout_mask", [x], (p,), generator)
            check("dropout_mask", [x.T], (p,), generator)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", "fde")
def test_coins_of_their_own_chances(kind, size):
    p = np.linspace(0, 1, 2 * size).astype(kind).reshape(2, size)
    for generator in generators():
        for chances in (p, p.T):
            check("bernoulli", [chances], (), generator)
            check("bernoulli_from_", [np.empty_like(chances), chances], (), generator)
            single = np.empty(chances.shape, np.float32)
            check("bernoulli_from_", [single, chances[:1]], (), generator)
    wrong = p.copy() if size else np.full((2, 1), 0.5, kind)
    for chance in (-0.1, 1.1, np.nan):
        wrong[1, -1] = chance
        with pytest.raises(RuntimeError, match="every p to be in"):
            B.bernoulli(wrong, Generator())


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("feature", [False, True])
def test_dropout(dtype, feature):
    x = np.random.default_rng(0).normal(size=(30, 17, 5)).astype(dtype)
    streams.default_generator.manual_seed(4)
    expected = B.dropout.twin(x, 0.3, feature)
    after = streams.default_generator.words(2)
    streams.default_generator.manual_seed(4)
    for got, wanted in zip(B.dropout(x, 0.3, feature), expected, strict=True):
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(streams.default_generator.words(2), after)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_draws_by_rejection(dtype):
    """One element takes as many words as its twin's, so the next one is the twin's as well."""
    random = np.random.default_rng(0)
    x = np.concatenate([random.uniform(0, 1, 60), random.uniform(1, 60, 60), [0, 0.5, 1, 10]])
    x, chance = x.astype(dtype), random.uniform(-0.1, 1.1, x.size).astype(dtype)
    for name, arrays in {
        "standard_gamma": [x], "poisson": [x], "binomial": [np.floor(x * 4), chance],
    }.items():  # fmt: skip
        for generator in generators():
            theirs, ours = copy.deepcopy(generator), copy.deepcopy(generator)
            expected = getattr(B, name).twin(*arrays, theirs)
            got = getattr(B, name)(*arrays, ours)
            # The library's logarithms and powers may differ from Python's in the last digit.
            np.testing.assert_allclose(got, expected, 4 * np.finfo(dtype).eps)
            np.testing.assert_array_equal(ours.words(2), theirs.words(2))


@pytest.mark.parametrize("layout", sorted(set(LAYOUTS) - set(FOREIGN)))
def test_draws_by_rejection_serve_every_layout(layout):
    x = LAYOUTS[layout](np.linspace(0, 30, 85, dtype=np.float32).reshape(5, 17))
    for name, arrays in {
        "standard_gamma": [x], "poisson": [x], "binomial": [np.floor(x), x / 40],
    }.items():  # fmt: skip
        ours, theirs = (Generator().manual_seed(5) for _ in range(2))
        expected = getattr(B, name).twin(*arrays, theirs)
        np.testing.assert_allclose(getattr(B, name)(*arrays, ours), expected, 5e-7)
        assert served(getattr(B, name), *arrays, ours)


def test_philox_has_words_of_its_own():
    for name in ("uniform_", "normal_"):
        ours, theirs = (np.empty(100, np.float32) for _ in range(2))
        getattr(B, name)(ours, 0.0, 1.0, Generator(engine="philox").manual_seed(1))
        getattr(B, name).twin(theirs, 0.0, 1.0, Generator(engine="philox").manual_seed(1))
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("kind", "fde")
def test_multinomial(kind):
    random = np.random.RandomState(0)
    for shape, count in (((1,), 3), ((5,), 1), ((700,), 1000), ((3, 4), 7), ((40, 1100), 5)):
        p = (random.random_sample(shape) * (random.random_sample(shape) < 0.7)).astype(kind)
        p[..., -1] += 1e-3
        for generator in generators():
            check("multinomial", [p], (count, True), generator)
            check("multinomial", [p[..., ::-1]], (min(count, shape[-1]), False), generator)
    assert B.multinomial(np.eye(3, dtype=kind), 4, True, Generator()).tolist() == [
        [0] * 4, [1] * 4, [2] * 4
    ]  # fmt: skip
    with pytest.raises(RuntimeError, match="element < 0"):
        B.multinomial(np.array([1, -1], kind), 1, True, Generator())
