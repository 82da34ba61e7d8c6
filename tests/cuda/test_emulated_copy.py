"""Copies between arrays of different layouts, emulated, against NumPy."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from nnkit.backend.cuda import creation
from tests.cuda import arrays
from tests.cuda.emulation import emulated
from tests.cuda.marks import needs_compiler

pytestmark = needs_compiler
DTYPES = "bool int8 uint16 int32 uint32 float32 int64 uint64 float64 float16".split()


def numbers(shape: tuple, dtype: np.dtype) -> np.ndarray:
    bits = np.random.default_rng(1).integers(0, 256, (*shape, dtype.itemsize), np.uint8)
    return (bits % 2 if dtype == np.bool_ else bits).view(dtype)[..., 0]


@pytest.mark.parametrize("dtype", [*map(np.dtype, DTYPES), np.dtype(ml_dtypes.bfloat16)], ids=str)
@pytest.mark.parametrize("shape", ((70, 33), (3, 40, 66), (2, 3, 64, 36), (5, 2)), ids=str)
def test_bits_stay_as_they_are_in_every_order_of_axes(shape: tuple, dtype: np.dtype) -> None:
    host = numbers(shape, dtype)
    with emulated():
        given: Any = arrays.on_device(host)
        for axes in itertools.permutations(range(len(shape))):
            wanted = np.ascontiguousarray(host.transpose(axes))
            got = creation.contiguous(given.transpose(axes))
            assert arrays.host(got).tobytes() == wanted.tobytes(), axes


def test_a_part_that_lies_at_an_odd_place() -> None:
    host = numbers((65, 70), np.dtype(np.float16))
    with emulated():
        got = creation.contiguous(arrays.on_device(host)[1:64, 3:68].T)
        assert arrays.host(got).tobytes() == host[1:64, 3:68].T.tobytes()


@pytest.mark.parametrize("dtype", ("int8", "float16", "float32", "float64"))
def test_rows_at_odd_places(dtype: str) -> None:
    host = numbers((9, 700), np.dtype(dtype))
    with emulated():
        for first, length in ((0, 690), (1, 691), (3, 256), (5, 129), (7, 333), (2, 5)):
            narrow = arrays.on_device(host)[:, first : first + length]
            got = creation.contiguous(narrow)
            assert arrays.host(got).tobytes() == host[:, first : first + length].tobytes()
            target = arrays.on_device(np.zeros((9, 701), dtype))
            creation.copy_(target[:, 4 : 4 + length], got)
            wanted = np.zeros((9, 701), dtype)
            wanted[:, 4 : 4 + length] = host[:, first : first + length]
            assert arrays.host(target).tobytes() == wanted.tobytes()


def test_what_is_repeated_and_what_runs_backwards() -> None:
    host = numbers((40, 48), np.dtype(np.float32))
    with emulated():
        x = arrays.on_device(host)
        for view in (lambda a: a[::-1, ::2].T, lambda a: a[:, :1].T, lambda a: a[None].T[::-1]):
            got = creation.contiguous(view(x))
            assert arrays.host(got).tobytes() == view(host).tobytes()
