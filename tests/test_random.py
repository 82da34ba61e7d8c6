"""The random kernels: torch's numbers for the same seed, and torch's generator state."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from nnkit.backend.cpu import random as kernels
from nnkit.backend.random import DEFAULT_SEED, Generator, default_generator
from tests.random_cases import (
    DRAWS,
    FLOATS,
    INTEGERS,
    Draw,
    array_dtype,
    draws_from_mkl,
    frozen,
    key,
)

SIZES = (0, 1, 15, 16, 17, 100, 1000)
PARAMETERS = [(draw, dtype) for draw in DRAWS for dtype in draw.dtypes]
EACH = pytest.mark.parametrize(("draw", "dtype"), PARAMETERS, ids=lambda v: getattr(v, "name", v))


@pytest.fixture(scope="module")
def on_intel(torch: ModuleType) -> bool:
    return draws_from_mkl(torch)


def to_array(x: Any) -> np.ndarray:
    if str(x.dtype) == "torch.bfloat16":
        return x.float().numpy().astype(array_dtype("bfloat16"))
    return x.numpy()


# What a function of the mathematical library may be wrong by, and then rounded to a half.
TOLERANCES = {
    "float64": 1e-14, "float32": 1e-6, "float16": 2.0**-10, "bfloat16": 2.0**-7,
    "complex64": 1e-6, "complex128": 1e-14,
}  # fmt: skip


def assert_drawn(got: np.ndarray, expected: np.ndarray, exact: bool) -> None:
    """Equal bits; or, after a function of the mathematical library, the last digit may differ."""
    assert got.shape == expected.shape
    if exact:
        np.testing.assert_array_equal(got, expected)
        return
    rtol = TOLERANCES[got.dtype.name]
    wide = np.complex128 if got.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(got.astype(wide), expected.astype(wide), rtol, 1e-14)


def assert_same_state(generator: Generator, other: Any) -> None:
    """The bytes agree, but for a waiting normal, which may differ in its last digit."""
    mine, theirs = generator.get_state(), other.get_state().numpy()
    normal = slice(5024, 5032)
    np.testing.assert_allclose(
        mine[normal].view(np.float64), theirs[normal].view(np.float64), 1e-15
    )
    mine[normal] = theirs[normal]
    np.testing.assert_array_equal(mine, theirs)


def layouts(framework: Any, size: int, dtype: Any) -> Iterator[Any]:
    """A dense, a strided, a transposed and a permuted, strided array."""
    yield framework.zeros(size, dtype=dtype)
    yield framework.zeros((size, 2), dtype=dtype)[:, 0]
    yield framework.zeros((size, 3), dtype=dtype).T
    yield framework.zeros((2, size, 4), dtype=dtype)[:, :, ::2].swapaxes(0, 2)


@EACH
def test_torchs_numbers(draw: Draw, dtype: str, torch: ModuleType, on_intel: bool) -> None:
    if on_intel and not draw.portable:
        pytest.skip("torch on Intel processors draws this from MKL")
    mine, other = Generator(), torch.Generator()
    for size in SIZES:
        arrays = layouts(np, size, array_dtype(dtype))
        tensors = layouts(torch, size, getattr(torch, dtype))
        for x, t in zip(arrays, tensors, strict=True):
            getattr(t, draw.method)(*draw.arguments, generator=other)
            result = getattr(kernels, draw.method)(x, *draw.kernel_arguments(), mine)
            assert result is x
            assert_drawn(x, to_array(t), draw.exact)
            assert_same_state(mine, other)


@pytest.mark.parametrize("method", ["uniform_", "normal_", "bernoulli_", "random_", "exponential_"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_torchs_numbers_in_bulk(method: str, dtype: str, torch: ModuleType, on_intel: bool) -> None:
    draw = next(d for d in DRAWS if d.method == method)
    if on_intel and not draw.portable:
        pytest.skip("torch on Intel processors draws this from MKL")
    mine, other = Generator(), torch.Generator()
    t = torch.zeros(100_003, dtype=getattr(torch, dtype))
    x = np.zeros(100_003, array_dtype(dtype))
    getattr(t, method)(*draw.arguments, generator=other)
    getattr(kernels, method)(x, *draw.kernel_arguments(), mine)
    assert_drawn(x, to_array(t), draw.exact)
    assert_same_state(mine, other)


def test_normals_are_torchs_bit_for_bit(torch: ModuleType) -> None:
    """The float32 kernel does not lean on the machine's mathematical library."""
    if "AVX" not in torch.backends.cpu.get_cpu_capability():
        pytest.skip("this torch has no AVX2 kernel")
    t = torch.empty(200_000).normal_(0.1, 2.5, generator=torch.Generator().manual_seed(3))
    x = kernels.normal_(np.empty(200_000, np.float32), 0.1, 2.5, Generator().manual_seed(3))
    np.testing.assert_array_equal(x, t.numpy())


@pytest.mark.parametrize("size", [*range(20), 999, 20_011])
def test_randperm(size: int, torch: ModuleType) -> None:
    mine, other = Generator().manual_seed(size), torch.Generator().manual_seed(size)
    for _ in range(2):
        order = kernels.randperm(size, np.dtype(np.int64), mine)
        np.testing.assert_array_equal(order, torch.randperm(size, generator=other).numpy())
    assert_same_state(mine, other)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", [1, 17, 300])
def test_draws_from_arrays(size: int, dtype: str, torch: ModuleType, on_intel: bool) -> None:
    mine, other = Generator(), torch.Generator()
    p = torch.rand(4, size, generator=torch.Generator()).to(getattr(torch, dtype))
    x = to_array(p)
    for a, t in ((x, p), (x.T, p.T)):
        drawn = kernels.bernoulli(a, mine)
        assert drawn.dtype == a.dtype
        assert_drawn(drawn, to_array(torch.bernoulli(t, generator=other)), True)
    target = torch.zeros(size, 4).T.bernoulli_(p, generator=other)
    assert_drawn(
        kernels.bernoulli_from_(np.zeros((size, 4), np.float32).T, x, mine), target.numpy(), True
    )
    for rates, t in ((x * 30, p * 30), (x.T, p.T)):
        counts = kernels.poisson(rates, mine)
        assert_drawn(counts, to_array(torch.poisson(t, generator=other)), True)
    if dtype in ("float32", "float64"):
        for a, t in ((x, p), (x.T, p.T)):
            for scale in (4, 60):
                drawn = torch._standard_gamma(t * scale, generator=other).numpy()
                # The library's power may differ in its last bit.
                eps = np.finfo(drawn.dtype).eps
                np.testing.assert_allclose(kernels.standard_gamma(a * scale, mine), drawn, 4 * eps)
                counts, trials = np.floor(a * scale), (t * scale).floor()
                drawn = torch.binomial(trials, t, generator=other).numpy()
                assert_drawn(kernels.binomial(counts, a, mine), drawn, True)
    drawn = torch.multinomial(p, 50, True, generator=other)
    assert_drawn(kernels.multinomial(x, 50, True, mine), drawn.numpy(), True)
    if not on_intel:
        for a, t in ((x, p), (x[0], p[0])):
            drawn = torch.multinomial(t, 1, generator=other)
            assert_drawn(kernels.multinomial(a, 1, False, mine), drawn.numpy(), True)
        if dtype in ("float32", "float64"):  # the halves tie, and torch's sort is not stable
            drawn = torch.multinomial(p, size, generator=other)
            assert_drawn(kernels.multinomial(x, size, False, mine), drawn.numpy(), True)
    assert_same_state(mine, other)


@pytest.mark.parametrize("dtype", FLOATS)
def test_dropout_masks(dtype: str, torch: ModuleType, on_intel: bool) -> None:
    if on_intel:
        pytest.skip("torch on Intel processors draws this from MKL")
    torch.manual_seed(1)
    mine = Generator().set_state(torch.get_rng_state().numpy())
    for size in SIZES[1:]:
        dense = torch.ones(2, size, 3, dtype=getattr(torch, dtype))
        views = (
            dense,
            dense.transpose(0, 2),
            dense[:, ::2].permute(1, 2, 0),
            dense[:1].expand(2, size, 3).transpose(0, 1),
        )
        for t in views:
            x = np.lib.stride_tricks.as_strided(
                np.ones(dense.numel(), array_dtype(dtype)),
                t.shape,
                [s * t.element_size() for s in t.stride()],
            )
            for p in (0.3, 0.5):
                expected = torch.nn.functional.dropout(t, p) != 0
                np.testing.assert_array_equal(kernels.dropout_mask(x, p, mine), expected.numpy())
    assert_same_state(mine, torch.default_generator)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rrelu_noise(dtype: str, torch: ModuleType) -> None:
    torch.manual_seed(1)
    mine = Generator().set_state(torch.get_rng_state().numpy())
    for size in SIZES[1:]:
        t = torch.linspace(-1, 1, size * 3, dtype=getattr(torch, dtype)).reshape(size, 3)
        for view in (t, t.T):
            noise = torch.empty(view.shape, dtype=view.dtype)
            torch._C._nn.rrelu_with_noise(view, noise, 1 / 8, 1 / 3, True)
            drawn = kernels.rrelu_noise(view.numpy(), 1 / 8, 1 / 3, mine)
            np.testing.assert_array_equal(drawn, noise.numpy())
    assert_same_state(mine, torch.default_generator)


def test_states_travel_both_ways(torch: ModuleType) -> None:
    mine, other = Generator().manual_seed(5), torch.Generator()
    for words in (0, 1, 5, 623, 1, 624, 3):  # in and around a block of the twister
        kernels.uniform_(np.empty(words, np.float32), 0.0, 1.0, mine)
        kernels.normal_(np.empty(3, np.float32), 0.0, 1.0, mine)
        other.set_state(torch.from_numpy(mine.get_state()))
        np.testing.assert_array_equal(other.get_state().numpy(), mine.get_state())
        back = Generator().set_state(other.get_state().numpy())
        for count in (5, 700):
            expected = torch.empty(count).normal_(generator=other).numpy()
            drawn = kernels.normal_(np.empty(count, np.float32), 0.0, 1.0, back)
            assert_drawn(drawn, expected, False)
    mine.next_float_normal_sample = 0.5
    other.set_state(torch.from_numpy(mine.get_state()))
    assert Generator().set_state(other.get_state().numpy()).next_float_normal_sample == 0.5


@pytest.mark.parametrize("seed", [0, 1, -1, 2**32, 2**63, 2**64 - 1, -(2**63), 123456789012345])
def test_seeds(seed: int, torch: ModuleType) -> None:
    mine, other = Generator().manual_seed(seed), torch.Generator().manual_seed(seed)
    assert mine.initial_seed() == other.initial_seed()
    assert_same_state(mine, other)
    np.testing.assert_array_equal(
        kernels.uniform_(np.empty(5), 0.0, 1.0, mine),
        torch.empty(5, dtype=torch.float64).uniform_(generator=other).numpy(),
    )


# What follows needs no torch.


@pytest.fixture(scope="module")
def answers() -> dict[str, np.ndarray]:
    with np.load(Path(__file__).parent / "expected" / "random.npz") as archive:
        return dict(archive)


def test_frozen_numbers(answers: dict[str, np.ndarray]) -> None:
    """One generator through every draw, and the state it is left in."""
    g = Generator().manual_seed(2024)
    for draw, dtype, size in frozen():
        x = np.zeros(size, array_dtype(dtype))
        getattr(kernels, draw.method)(x, *draw.kernel_arguments(), g)
        assert_drawn(x, answers[key(draw, dtype, size)].astype(x.dtype), draw.exact)
    p = np.arange(40, dtype=np.float32) / np.float32(40)
    for name, drawn in {
        "randperm": kernels.randperm(50, np.dtype(np.int64), g),
        "bernoulli": kernels.bernoulli(p, g),
        "bernoulli_double": kernels.bernoulli(p.astype(np.float64), g),
        "multinomial": kernels.multinomial(p, 20, False, g),
        "multinomial_replacement": kernels.multinomial(p.reshape(4, 10), 20, True, g),
        "poisson": kernels.poisson(p * np.float32(60), g),
        "dropout_mask": kernels.dropout_mask(np.ones((6, 7)), 0.3, g),
        "rrelu_noise": kernels.rrelu_noise(-np.ones(40, np.float32), 1 / 8, 1 / 3, g),
    }.items():
        np.testing.assert_array_equal(drawn, answers[name], name)
    kernels.normal_(np.empty(3, np.float32), 0.0, 1.0, g)
    expected = Generator().set_state(answers["state"])
    waiting = (g.next_double_normal_sample, expected.next_double_normal_sample)
    assert waiting == (pytest.approx(waiting[1], 1e-15), waiting[1]) and waiting[1] is not None
    g.next_double_normal_sample = expected.next_double_normal_sample
    np.testing.assert_array_equal(g.get_state(), answers["state"])


def test_generator() -> None:
    g = Generator()
    assert (g.initial_seed(), g.device, g.engine) == (DEFAULT_SEED, "cpu", "mt19937")
    assert g.manual_seed(7) is g
    assert g.seed() == g.initial_seed() != Generator().seed()
    for twin in (g.clone_state(), copy.copy(g), copy.deepcopy(g), pickle.loads(pickle.dumps(g))):
        np.testing.assert_array_equal(twin.get_state(), g.get_state())
        np.testing.assert_array_equal(twin.words(3), g.clone_state().words(3))


def test_none_is_the_default_generator() -> None:
    default_generator.manual_seed(3)
    x = kernels.uniform_(np.empty(4), 0.0, 1.0, None)
    y = kernels.uniform_(np.empty(4), 0.0, 1.0, Generator().manual_seed(3))
    np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize(
    ("seed", "error"),
    [(1.5, RuntimeError), (True, RuntimeError), (None, RuntimeError), ("1", RuntimeError),
     (2**64, ValueError), (-(2**63) - 1, ValueError)],
)  # fmt: skip
def test_bad_seeds(seed: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="manual_seed"):
        Generator().manual_seed(seed)


def test_bad_generators_and_states() -> None:
    with pytest.raises(RuntimeError, match="device must be 'cpu' or 'cuda', got 'mps'"):
        Generator("mps")
    with pytest.raises(ValueError, match="engine must be 'mt19937' or 'philox' on cpu, got 'pcg'"):
        Generator(engine="pcg")
    g = Generator()
    state = g.get_state()
    bad: Any
    for bad in (state.astype(np.int64), state.tolist(), None):
        with pytest.raises(TypeError, match="RNG state must be a uint8"):
            g.set_state(bad)
    with pytest.raises(RuntimeError, match="5056 bytes, got 10"):
        g.set_state(np.zeros(10, np.uint8))
    with pytest.raises(RuntimeError, match="invalid mt19937 state"):
        g.set_state(np.zeros(5056, np.uint8))
    with pytest.raises(RuntimeError, match="16 bytes, got 5056"):
        Generator(engine="philox").set_state(state)


@pytest.mark.parametrize("dtype", ["float32", "float64", *INTEGERS])
def test_bounds_hold(dtype: str) -> None:
    x = kernels.random_(np.empty(1000, dtype), 3, 9, None)
    assert set(x.tolist()) == {3, 4, 5, 6, 7, 8}
    if dtype.startswith("float"):
        u = kernels.uniform_(np.empty(1000, dtype), -2.0, -1.5, None)
        assert u.min() >= -2 and u.max() < -1.5
