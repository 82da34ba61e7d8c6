"""Convolution by columns, depthwise and pointwise, and folding, emulated, against the CPU."""

from __future__ import annotations

import numpy as np
import pytest

from nnkit.backend.cpu import conv as cpu
from nnkit.backend.cpu import folding as cpu_folding
from nnkit.backend.cuda import conv, folding
from nnkit.backend.cuda.conv import tensor_cores
from nnkit.backend.cuda.geometry import divisor
from nnkit.backend.cuda.geometry import geometry as windows
from tests.cuda.compare import BF, F4, F8, assert_same
from tests.cuda.marks import needs_compiler

pytestmark = needs_compiler
# shape of x and of the weight; stride, padding, dilation, groups
CASES = {
    "1d": ((2, 3, 11), (4, 3, 3), (2,), (1,), (1,), 1),
    "2d": ((2, 4, 7, 6), (5, 4, 3, 2), (1, 2), (1, 0), (1, 1), 1),
    "3d": ((1, 2, 4, 5, 4), (3, 2, 2, 3, 1), (1, 1, 1), (0, 1, 0), (1, 1, 1), 1),
    "dilated": ((2, 2, 9, 9), (3, 2, 3, 3), (2, 1), (2, 3), (2, 3), 1),
    "steps together": ((3, 3, 13, 12), (2, 3, 3, 2), (4, 6), (3, 2), (2, 4), 1),
    "padding beyond the window": ((2, 3, 5), (4, 3, 2), (3,), (7,), (1,), 1),
    "depthwise, nine planes": ((3, 3, 9, 5), (3, 1, 3, 2), (3, 1), (2, 1), (2, 1), 3),
    "grouped": ((2, 6, 6, 5), (4, 3, 3, 3), (1, 1), (1, 1), (1, 1), 2),
    "depthwise": ((2, 3, 7, 6), (3, 1, 3, 3), (2, 1), (1, 1), (1, 2), 3),
    "depthwise of two": ((2, 3, 7), (6, 1, 3), (2,), (1,), (1,), 3),
    "pointwise": ((2, 4, 3, 3), (6, 2, 1, 1), (1, 1), (0, 0), (1, 1), 2),
    "strided pointwise": ((2, 4, 5, 5), (3, 4, 1, 1), (2, 2), (0, 0), (1, 1), 1),
}


@pytest.fixture(autouse=True)
def by_columns(monkeypatch):
    monkeypatch.setattr(tensor_cores, "MOST_TAPS", 0)


@pytest.mark.parametrize("name", CASES)
def test_conv(name):
    shape, weight_shape, *geometry = CASES[name]
    rng = np.random.default_rng(0)
    for dtype in (F4, F8, BF) if name in ("2d", "depthwise") else (F4,):
        x = rng.standard_normal(shape).astype(dtype)
        weight = rng.standard_normal(weight_shape).astype(dtype)
        bias = rng.standard_normal(weight_shape[0]).astype(dtype)
        near = 0.1 if dtype == BF else 1e-4
        for b in (bias, None):
            assert_same(conv.conv, cpu.conv, x, weight, b, *geometry, tolerance=near)
        g = rng.standard_normal(cpu.conv(x, weight, None, *geometry).shape).astype(dtype)
        given = (g, weight, shape, *geometry)
        assert_same(conv.conv_grad_input, cpu.conv_grad_input, *given, tolerance=near)
        given = (g, x, weight_shape, *geometry)
        assert_same(conv.conv_grad_weight, cpu.conv_grad_weight, *given, tolerance=2 * near)


def test_tiles_of_the_batch(monkeypatch):
    monkeypatch.setattr(conv, "TILE", 1)
    shape, weight_shape, *geometry = CASES["2d"]
    rng = np.random.default_rng(0)
    x, weight = (rng.standard_normal(s).astype(F4) for s in (shape, weight_shape))
    assert_same(conv.conv, cpu.conv, x, weight, None, *geometry)
    g = cpu.conv(x, weight, None, *geometry)
    given = (g, x, weight_shape, *geometry)
    assert_same(conv.conv_grad_weight, cpu.conv_grad_weight, *given, tolerance=1e-4)
    given = (g, weight, shape, *geometry)
    assert_same(conv.conv_grad_input, cpu.conv_grad_input, *given, tolerance=1e-4)


def test_folding():
    x = np.random.default_rng(0).standard_normal((2, 3, 6, 5)).astype(F4)
    given = ((2, 3), (1, 1), (1, 0), (2, 1))
    assert_same(folding.im2col, cpu_folding.im2col, x, *given)
    columns = cpu_folding.im2col(x, *given)
    assert_same(folding.col2im, cpu_folding.col2im, columns, x.shape, *given)


def test_windows_beyond_what_kernels_count():
    for spatial in ((2**31,), (2**16, 2**15)):
        ones, zeros = (1,) * len(spatial), (0,) * len(spatial)
        with pytest.raises(RuntimeError, match="2147483647"):
            windows(spatial, ones, ones, ones, zeros, ones)


def test_divisor():
    for number in (*range(1, 70), 641, 2**16 - 1, 2**16, 2**16 + 1, 2**30 + 1, 2**31 - 1):
        by = divisor(number)
        assert by.factor < 2**32
        for x in (0, 1, number - 1, number, 2**31 // number * number - 1, 2**31 - 2, 2**31 - 1):
            assert (2 * x * by.factor >> 32) >> by.shift == x // number
