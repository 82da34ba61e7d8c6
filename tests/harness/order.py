"""The order in which results lie in memory, of every op with operands that lie in many ways."""

from __future__ import annotations

import random
import warnings
import zlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

from tests.harness.call import Call, Layout, cotangent, flatten, to_tensor
from tests.harness.cases import plain_arrays, resized_sample
from tests.harness.row import Maker, OpRow, Sample


def _in_order(axes: tuple[int, ...]) -> Layout:
    """The same values with axis ``axes[0]`` the slowest in memory, and so on."""

    def ordered(array: np.ndarray) -> np.ndarray:
        turn = [a % array.ndim for a in axes] if len(axes) == array.ndim else range(array.ndim)
        return array.transpose(turn).copy().transpose(np.argsort(turn))

    return ordered


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


def calls(row: OpRow) -> Iterator[tuple[str, Sample, list[Layout]]]:
    """Each sample with all operands laid out alike, and each differently."""
    dtype = next((d for d in ("float32", "float64") if d in row.dtypes), row.dtypes[0])
    for number, sample in enumerate(samples(row, dtype)):
        count = len(plain_arrays(sample))
        if not count:
            continue
        choose = random.Random(zlib.crc32(f"{row.name}/{number}".encode()))
        alike = [[layout] * count for layout in ALIKE]
        mixed = [choose.choices(LAYOUTS, k=count) for _ in range(MIXED if count > 1 else 0)]
        for layouts in alike + mixed:
            names = ",".join(layout.__name__ for layout in layouts)
            yield f"{number}/{names}", sample, layouts


def samples(row: OpRow, dtype: str) -> Iterator[Sample]:
    own = list(row.samples(Maker(row, dtype)))
    yield from own
    if row.elementwise:
        seen = set()
        for sample in own:
            count = len(plain_arrays(sample))
            if count not in seen:
                seen.add(count)
                for shapes in SHAPES if row.broadcasts else SHAPES[:4]:
                    if count <= len(shapes):
                        yield resized_sample(sample, shapes[:count])


def strides(framework: ModuleType, row: OpRow, sample: Sample, layouts: list[Layout]) -> Any:
    """The strides of all outputs, then those of all gradients; or the name of an error."""
    each = iter(layouts)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call = Call(framework, row, sample, row.differentiable, lambda a: next(each)(a))
            outputs = [o for o in flatten(call()) if isinstance(o, framework.Tensor)]
            found = [_steps(o) for o in outputs]
            tracked = [o for o in outputs if o.requires_grad]
            grads: list = []
            if tracked:
                grad = framework.autograd.grad
                cotangents = [to_tensor(framework, cotangent(o)) for o in tracked]
                got = grad(tracked, call.leaves, cotangents, allow_unused=True)
                grads = [None if g is None else _steps(g) for g in got]
    except Exception as error:
        return type(error).__name__
    return found, grads


def _steps(tensor: Any) -> tuple:
    """The strides along the dimensions in which there are neighbours."""
    shape = tuple(tensor.shape)
    if 0 in shape:
        return ()
    return tuple(s for n, s in zip(shape, tensor.stride(), strict=True) if n > 1)
