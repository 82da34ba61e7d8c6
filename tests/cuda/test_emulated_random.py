"""Philox on the GPU, emulated, against the same stream on the CPU."""

from __future__ import annotations

import numpy as np
import pytest

from nnkit.backend.cpu import random_philox
from nnkit.backend.cuda import dropout
from nnkit.backend.cuda.source import kernel
from nnkit.backend.philox import Philox
from nnkit.backend.random import Generator
from tests.cuda.compare import F2, F4, F8
from tests.cuda.emulation import COMPILER, emulated

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no g++")
SEED = 12345678901234
COUNTS = (1, 1000, 132 * 2048 + 5)  # the last one takes a second round


def generator() -> Generator:
    return Generator(engine="philox").manual_seed(SEED)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", ("uniform", "normal"))
@pytest.mark.parametrize("dtype", (F4, F8, F2), ids=str)
def test_numbers(name, dtype, count):
    if dtype != F4 and count == COUNTS[-1]:
        count //= 200
    expected, got = np.empty(count, dtype), np.empty(count, dtype)
    twin = generator()
    getattr(random_philox, name + "_")(expected, -1.0, 3.0, twin)
    with emulated():
        stream = Philox(SEED)
        part = dropout.drawn(stream, count, 2 if dtype == F8 else 4)
        run = kernel("random", name, dtype)
        run((2,), (256,), (got, np.int64(count), part, np.float64(-1.0), np.float64(3.0)))
    assert stream.offset == twin.philox.offset
    near = {F4: 2e-6, F8: 1e-13, F2: 2e-3}[dtype]
    np.testing.assert_allclose(got.astype(F8), expected.astype(F8), rtol=near, atol=near)


def test_bernoulli():
    for dtype in (F4, F8):
        expected, got = np.empty(700, dtype), np.empty(700, dtype)
        random_philox.bernoulli_(expected, 0.3, generator())
        with emulated():
            part = dropout.drawn(Philox(SEED), 700, 2 if dtype == F8 else 4)
            run = kernel("random", "bernoulli", dtype)
            run((2,), (256,), (got, np.int64(700), part, np.float64(0.3)))
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("layout", ("C", "turned", "gaps"))
def test_dropout(layout, monkeypatch):
    monkeypatch.setattr(dropout, "stream_of_gpu", lambda: Philox(SEED))
    x = np.random.default_rng(0).standard_normal((20, 30)).astype(F4)
    x = {"C": x, "turned": x.T, "gaps": x[:, ::2]}[layout]
    with emulated():
        out, noise = dropout.dropout(x, 0.25, False)
    kept = random_philox.dropout_mask(x, 0.25, generator())
    np.testing.assert_allclose(noise, kept / np.float32(0.75), rtol=1e-6)
    np.testing.assert_allclose(out, x * noise, rtol=1e-6)
