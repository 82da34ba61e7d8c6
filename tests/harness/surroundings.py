"""The memory around what a call reads and writes, which it must leave alone."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from tests.harness.call import Call, dtype_name, flatten, to_array, to_tensor
from tests.harness.checks import assert_same, writer
from tests.harness.row import Maker, OpRow, Sample, numpy_dtype
from tests.harness.tolerances import assert_close

AROUND = 7
Layout = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def amid(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A contiguous copy in the middle of a longer vector, and that vector."""
    whole = np.full(array.size + 6, AROUND, array.dtype)
    part = whole[3:-3].reshape(array.shape)
    part[...] = array
    return part, whole


def spaced(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A copy whose elements are apart along every axis of a larger array, and that array."""
    if not array.ndim:
        return amid(array)
    whole = np.full([2 * n + 1 for n in array.shape], AROUND, array.dtype)
    part = whole[(slice(1, None, 2),) * array.ndim]
    part[...] = array
    return part, whole


LAYOUTS = (amid, spaced)


def around(layout: Layout, shape: tuple[int, ...], whole: np.ndarray) -> np.ndarray:
    """The elements of ``whole`` that a part of that shape leaves out."""
    part, mask = layout(np.zeros(shape, np.int8))
    part[...] = 0
    return whole[mask != 0]


def check_out(framework: ModuleType, row: OpRow) -> None:
    """``out=`` fills a part of a larger tensor, and that alone."""
    for layout in LAYOUTS:
        call = Call(framework, row, row.samples(Maker(row, row.dtypes[0]))[0])
        plain = call()
        wanted = [_in_numpy(tensor) for tensor in flatten(plain)]
        parts, wholes = zip(*(layout(np.zeros_like(array)) for array in wanted), strict=True)
        outs = tuple(to_tensor(framework, part) for part in parts)
        call(out=outs if isinstance(plain, (tuple, list)) else outs[0])
        for array, part, whole in zip(wanted, parts, wholes, strict=True):
            wide = np.float32 if row.dtypes[0] == "bfloat16" else part.dtype
            assert_close(part.astype(wide), array.astype(wide), row.dtypes[0], layout.__name__, row)
            left = around(layout, array.shape, whole)
            np.testing.assert_array_equal(left, np.full_like(left, AROUND))


def _in_numpy(tensor: Any) -> np.ndarray:
    """The array of a tensor, in its own dtype."""
    return to_array(tensor).astype(numpy_dtype(dtype_name(tensor)))


def check_inputs(framework: ModuleType, row: OpRow) -> None:
    """Arguments that are parts of larger tensors give the same, and nothing is written."""
    dtype = "float64" if "float64" in row.dtypes else row.dtypes[0]
    for layout in LAYOUTS:
        for index, sample in enumerate(row.samples(Maker(row, dtype))):
            wholes: list[np.ndarray] = []
            call = Call(framework, row, sample, track=True, layout=_kept(layout, wholes))
            before = [whole.copy() for whole in wholes]
            key = f"{row.name}/{layout.__name__}/{index}"
            may_raise = not row.differentiable
            plain = Call(framework, row, sample, track=True).result(may_raise)
            assert_same(call.result(may_raise), plain, key, row)
            for whole, was in zip(wholes, before, strict=True):
                np.testing.assert_array_equal(whole, was, err_msg=key)


def check_in_place(framework: ModuleType, row: OpRow, name: str) -> None:
    """What writes in place writes the part that it is called on, and that alone."""
    write = writer(framework, row, name)
    dtype = "float64" if "float64" in row.dtypes else row.dtypes[0]
    for layout in LAYOUTS:
        for sample in row.samples(Maker(row, dtype)):
            target = sample.args[0]
            plain = Call(framework, row, sample)
            if not _fits(plain, sample):
                continue
            wanted = to_array(plain(function=write))
            wholes: list[np.ndarray] = []
            call = Call(framework, row, sample, layout=_kept(layout, wholes))
            before = [whole.copy() for whole in wholes]
            assert_close(to_array(call(function=write)), wanted, dtype, name, row)
            first = around(layout, target.shape, wholes[0])
            np.testing.assert_array_equal(first, around(layout, target.shape, before[0]))
            for whole, was in zip(wholes[1:], before[1:], strict=True):
                np.testing.assert_array_equal(whole, was)


def _kept(layout: Layout, wholes: list[np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    def place(array: np.ndarray) -> np.ndarray:
        part, whole = layout(array)
        wholes.append(whole)
        return part

    return place


def _fits(call: Call, sample: Sample) -> bool:
    """Whether the result has the shape of the first argument, which it can be written into."""
    target = sample.args[0]
    return isinstance(target, np.ndarray) and next(flatten(call())).shape == target.shape
