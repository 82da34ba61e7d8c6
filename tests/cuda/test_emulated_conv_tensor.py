"""Convolution on tensor cores, emulated, against the CPU backend.

Arrays hold small whole numbers, whose products and sums are exact in every dtype: so results are
the CPU's to the last bit, but for one rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nnkit.backend import switches
from nnkit.backend.cpu import conv as cpu
from nnkit.backend.cuda import conv
from nnkit.backend.cuda.conv import tensor_cores
from nnkit.backend.cuda.launch import shared_limit
from nnkit.backend.windows import window_counts
from tests.cuda.arrays import on_arrays
from tests.cuda.compare import BF, F2, F4, F8
from tests.cuda.emulation import Emulator, emulated
from tests.cuda.marks import needs_compiler

conv = on_arrays(conv)

pytestmark = needs_compiler
DTYPES = (F4, F2, BF)
# shape of x and of the weight; stride, padding, dilation, groups
CASES: dict[str, Any] = {
    "1d": ((2, 3, 11), (4, 3, 3), (2,), (1,), (1,), 1),
    "2d, whole packs": ((2, 8, 8, 4), (5, 8, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "2d, odd planes": ((2, 9, 7, 5), (3, 9, 3, 2), (1, 1), (1, 0), (1, 1), 1),
    "3d": ((1, 2, 4, 5, 4), (3, 2, 2, 3, 2), (1, 2, 1), (0, 1, 1), (2, 1, 1), 1),
    "strided": ((1, 5, 9, 8), (6, 5, 3, 3), (2, 2), (1, 1), (1, 1), 1),
    "strided unlike": ((1, 5, 9, 8), (6, 5, 4, 3), (3, 1), (2, 0), (1, 2), 1),
    "dilated": ((2, 2, 9, 9), (3, 2, 3, 3), (2, 1), (2, 3), (2, 3), 1),
    "steps together": ((3, 3, 13, 20), (2, 3, 5, 5), (4, 6), (3, 2), (2, 4), 1),
    "stride above the input": ((2, 3, 2, 9), (2, 3, 3, 4), (5, 1), (2, 1), (1, 1), 1),
    "padding beyond the window": ((2, 3, 5), (4, 3, 4), (3,), (7,), (1,), 1),
    "one tap meets the input": ((5, 3, 1, 1), (4, 3, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "grouped": ((2, 6, 6, 5), (4, 3, 3, 3), (1, 1), (1, 1), (1, 1), 2),
    "grouped, strided": ((1, 27, 5, 6), (6, 9, 3, 3), (2, 1), (1, 1), (1, 1), 3),
    "tiles of columns": ((3, 4, 10, 9), (3, 4, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "tiles of rows": ((3, 70, 6, 5), (67, 70, 2, 2), (1, 1), (1, 1), (1, 1), 1),
}


def whole_numbers(seed: int, shape: tuple, dtype: np.dtype) -> Any:
    return np.random.default_rng(seed).integers(-2, 3, shape).astype(dtype)


def same(got: Any, wanted: Any) -> None:
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    np.testing.assert_array_equal(np.asarray(got, F8), np.asarray(wanted, F8))


def check(case: tuple, dtype: np.dtype, kernels: int = 2, gpu: Emulator | None = None) -> set[str]:
    """All three products of a case; the tensor-core kernels that ran, of which there are some."""
    shape, weight_shape, *geometry = case
    x, weight = whole_numbers(0, shape, dtype), whole_numbers(1, weight_shape, dtype)
    bias = whole_numbers(2, weight_shape[:1], dtype)
    size = window_counts(shape[2:], weight_shape[2:], *geometry[:3])
    g = whole_numbers(3, (shape[0], weight_shape[0], *size), dtype)
    with emulated(gpu) as machine:
        for b in (bias, None):
            same(conv.conv(x, weight, b, *geometry), cpu.conv(x, weight, b, *geometry))
        given = (g, weight, shape, *geometry)
        same(conv.conv_grad_input(*given), cpu.conv_grad_input(*given))
        given = (g, x, weight_shape, *geometry)
        same(conv.conv_grad_weight(*given), cpu.conv_grad_weight(*given))
    names = {name for name in machine.launched if name.startswith(("nnkit::conv<", "nnkit::conv_"))}
    assert len(names) == kernels, machine.launched
    return names


@pytest.mark.parametrize("name", CASES)
def test_geometries(name: str) -> None:
    number = list(CASES).index(name)
    check(CASES[name], DTYPES[number % 3])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes(dtype: np.dtype) -> None:
    check(CASES["2d, whole packs"], dtype)
    check(CASES["grouped, strided"], dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_large_tiles(dtype: np.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensor_cores, "BLOCKS", 1)
    case = ((3, 66, 5, 4), (70, 66, 2, 2), (1, 1), (1, 1), (1, 1), 1)
    assert all("128>" in name for name in check(case, dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sums_in_parts(dtype: np.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensor_cores, "FEWEST_STEPS", 2)
    check(((5, 3, 9, 7), (4, 3, 3, 3), (1, 1), (1, 1), (1, 1), 1), dtype)


def test_nothing_to_add_up() -> None:
    check(((0, 3, 5, 5), (4, 3, 3, 3), (1, 1), (1, 1), (1, 1), 1), F2, 0)
    check(((2, 0, 5, 5), (4, 0, 3, 3), (1, 1), (1, 1), (1, 1), 1), F2, 0)


def test_factors_of_float32_have_ten_bits() -> None:
    """Rounded to the nearest, not cut: with products of 1 the sums tell."""
    shape, weight_shape, *geometry = CASES["1d"]
    x = np.random.default_rng(0).standard_normal(shape).astype(F4)
    ones = np.ones(weight_shape, F4)
    bits = (x.view(np.uint32) + np.uint32(0x1000)) & np.uint32(0xFFFFE000)
    with emulated():
        got = conv.conv(x, ones, None, *geometry)
    wanted = cpu.conv(bits.view(F4), ones, None, *geometry)
    np.testing.assert_allclose(got, wanted, 1e-6, 1e-6)
    assert np.abs(got - cpu.conv(x, ones, None, *geometry)).max() > 1e-5


def test_what_the_kernels_are_not_for(monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES["1d"]
    check(case, F8, 0)
    older = Emulator()
    older.capability = "75"
    check(case, F2, 0, older)
    apart = ((1, 4, 8, 8), (3, 4, 2, 2), (2, 2), (0, 0), (1, 1), 1)  # as little as their columns
    check(apart, F2, 0)
    # A weight that is larger than the columns; its gradient is added up by a kernel all the same.
    few = ((1, 4, 3, 3), (9, 4, 2, 2), (1, 1), (0, 0), (1, 1), 1)
    assert check(few, F2, 1) == {"nnkit::conv_grad_weight<nnkit::float16, 64>"}
    monkeypatch.setattr(tensor_cores, "MOST_TAPS", 2)
    check(case, F2, 0)


def test_float32_obeys_the_switch_of_what_computes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switches.cudnn, "allow_tf32", False)
    check(CASES["1d"], F4, 0)
    check(CASES["1d"], F2)
    monkeypatch.setattr(switches.cudnn, "allow_tf32", True)
    monkeypatch.setattr(switches.cudnn, "enabled", False)
    check(CASES["1d"], F4, 0)  # cuBLAS' switch
    monkeypatch.setattr(switches.matmul, "allow_tf32", True)
    check(CASES["1d"], F4)


def test_shared_memory_of_gpus() -> None:
    assert tensor_cores._shared(128, tensor_cores.MOST_TAPS) <= shared_limit("86")
    two_blocks = 2 * (tensor_cores._shared(128, 27) + 2048)
    assert two_blocks <= shared_limit("80") < shared_limit("90")
