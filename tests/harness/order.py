"""The order in which results lie in memory, of every op with operands that lie in many ways."""

from __future__ import annotations

import random
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from tests.harness.call import Call, Layout, flatten
from tests.harness.cases import plain_arrays, resized_sample
from tests.harness.row import Maker, OpRow, Sample


def by_columns(array: np.ndarray) -> np.ndarray:
    return array.copy("F")


def channels_last(array: np.ndarray) -> np.ndarray:
    if array.ndim < 2:
        return array.copy()
    return np.moveaxis(np.moveaxis(array, 1, -1).copy(), -1, 1)


def first_last(array: np.ndarray) -> np.ndarray:
    """The first axis is the fastest, the others by rows."""
    return np.moveaxis(np.moveaxis(array, 0, -1).copy(), -1, 0) if array.ndim else array.copy()


def last_two_exchanged(array: np.ndarray) -> np.ndarray:
    return array.swapaxes(-1, -2).copy().swapaxes(-1, -2) if array.ndim > 1 else array.copy()


def stepped(array: np.ndarray) -> np.ndarray:
    """By columns, with gaps."""
    wide = np.zeros([2 * n for n in array.shape], array.dtype, "F")
    inner = wide[tuple(slice(0, n) for n in array.shape)]
    inner[...] = array
    return inner


def repeated_rows(array: np.ndarray) -> np.ndarray:
    """The first slice, in the place of all."""
    if not array.size or not array.ndim:
        return array.copy()
    first = array[:1].copy("F")
    return np.lib.stride_tricks.as_strided(first, array.shape, (0, *first.strides[1:]))


def repeated_columns(array: np.ndarray) -> np.ndarray:
    if not array.size or not array.ndim:
        return array.copy()
    first = array[..., :1].copy()
    return np.lib.stride_tricks.as_strided(first, array.shape, (*first.strides[:-1], 0))


def plain(array: np.ndarray) -> np.ndarray:
    return array.copy()


ALIKE = (by_columns, channels_last, first_last, stepped, repeated_rows)
LAYOUTS = (*ALIKE, last_two_exchanged, repeated_columns, plain)
MIXED = 5  # how many calls of a sample have operands that lie in different ways
# Shapes of operands of element-wise ops; where there are fewer operands, the first ones.
SHAPES = [
    ((2, 3, 4),) * 3,
    ((2, 3, 4, 2),) * 3,
    ((1, 2, 3, 2),) * 3,
    ((2, 1, 3),) * 3,
    ((2, 3, 4), (3, 1), (4,)),
    ((3, 4), (2, 3, 4), ()),
    ((2, 1, 4), (3, 1), (2, 3, 1)),
    ((2, 2, 3, 2), (2, 3, 2), (2, 1, 1)),
]  # fmt: skip


@dataclass
class StridedCall:
    """A sample of a row whose operands lie in memory in certain ways."""

    row: OpRow
    key: str
    sample: Sample
    layouts: list[Layout]

    def outputs(self, framework: ModuleType) -> list[list[int]] | None:
        """The strides of all outputs; None where the call is refused."""
        each = iter(self.layouts)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call = Call(framework, self.row, self.sample, layout=lambda a: next(each)(a))
                return [steps(out) for out in flatten(call()) if hasattr(out, "stride")]
        except Exception:
            return None


def steps(tensor: Any) -> list[int]:
    """The strides along the dimensions in which there are neighbours."""
    shape = tuple(tensor.shape)
    if 0 in shape:
        return []
    return [step for size, step in zip(shape, tensor.stride(), strict=True) if size > 1]


def calls(row: OpRow) -> Iterator[StridedCall]:
    """Each sample with all operands laid out alike, and each differently."""
    for number, sample in enumerate(_samples(row)):
        count = len(plain_arrays(sample))
        if not count:
            continue
        choose = random.Random(zlib.crc32(f"{row.name}/{number}".encode()))
        alike = [[layout] * count for layout in ALIKE]
        mixed = [choose.choices(LAYOUTS, k=count) for _ in range(MIXED if count > 1 else 0)]
        for layouts in alike + mixed:
            names = ",".join(layout.__name__ for layout in layouts)
            yield StridedCall(row, f"{row.name}/{number}/{names}", sample, layouts)


def _samples(row: OpRow) -> Iterator[Sample]:
    """The row's own; of an element-wise op also operands of many shapes, in complex numbers too,
    which no compiled kernel takes."""
    own = list(row.samples(Maker(row, "float32" if "float32" in row.dtypes else row.dtypes[0])))
    yield from own
    if not row.elementwise:
        return
    complex_ones = row.samples(Maker(row, "complex128")) if "complex128" in row.dtypes else []
    for samples in (own, complex_ones):
        found = {len(plain_arrays(sample)): sample for sample in samples}
        for count, sample in found.items():
            for shapes in SHAPES if row.broadcasts else SHAPES[:4]:
                if count <= len(shapes):
                    yield resized_sample(sample, shapes[:count])
