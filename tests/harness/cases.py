"""The calls whose values and gradients must be torch's: those of the row, and what follows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from tests.harness.call import Call, Result, arrays_in, replace_arrays
from tests.harness.row import COMPLEX, Fixed, Maker, OpRow, Sample

GRADIENT_DTYPES = ("float32", "float64", *COMPLEX)
BROADCASTS = {
    2: [((3, 1), (1, 4)), ((4,), (2, 3, 4)), ((2, 1, 3), (4, 1)), ((2, 3), ()), ((), (2,))],
    3: [((3, 1), (1, 4), (4,)), ((), (2, 1, 3), (4, 1)), ((2, 3), (), (1, 1))],
}


@dataclass
class Case:
    """One sample of one row, to be run on either framework under a key that names it for good."""

    row: OpRow
    key: str
    sample: Sample
    track: bool = False
    may_raise: bool = False

    def run(self, framework: ModuleType) -> Result:
        return Call(framework, self.row, self.sample, self.track).result(self.may_raise)


def forward(row: OpRow) -> Iterator[Case]:
    """Every sample in every dtype."""
    for dtype in row.dtypes:
        for index, sample in enumerate(row.samples(Maker(row, dtype))):
            yield Case(row, f"{row.name}/forward/{dtype}/{index}", sample)


def gradient(row: OpRow) -> Iterator[Case]:
    """Every sample with every floating tensor requiring a gradient."""
    yield from _tracked(row, "gradient", lambda make: row.samples(make))


def same_tensor(row: OpRow) -> Iterator[Case]:
    """One tensor as both operands, the classic way to lose half a gradient."""
    if row.elementwise:
        yield from _tracked(row, "same", lambda make: _same(row.samples(make)))


def broadcasting(row: OpRow) -> Iterator[Case]:
    """Operands whose shapes and ranks differ."""
    if row.elementwise and row.broadcasts:
        yield from _tracked(row, "broadcast", lambda make: _broadcast(row.samples(make)), True)


def shapes(row: OpRow) -> Iterator[Case]:
    """No elements, no dimensions."""
    if row.elementwise:
        yield from _tracked(row, "shapes", lambda make: _shapes(row.samples(make)), True)


def edges(row: OpRow) -> Iterator[Case]:
    """The row's own edge cases; for element-wise ops, every combination of special values."""
    if row.elementwise:
        yield from _tracked(row, "specials", lambda make: _specials(row, row.samples(make)))
    if row.edges is not None:
        yield from _tracked(row, "edges", row.edges, may_raise=True)


def numbers(row: OpRow) -> Iterator[Case]:
    """Every number among the arguments as a 0-dim tensor, which torch takes where it takes one."""
    dtype = "float64" if "float64" in row.dtypes else row.dtypes[0]
    seen = set()
    for sample in row.samples(Maker(row, dtype)):
        for place, value in (*enumerate(sample.args), *sample.kwargs.items()):
            number = isinstance(value, (int, float, complex)) and not isinstance(value, bool)
            if number and place not in seen:
                seen.add(place)
                args, kwargs = list(sample.args), dict(sample.kwargs)
                target: dict | list = args if isinstance(place, int) else kwargs
                target[place] = np.asarray(value)  # type: ignore
                key = f"{row.name}/numbers/{dtype}/{place}"
                yield Case(row, key, Sample(*args, **kwargs), may_raise=True)


PARITY = (forward, gradient, same_tensor, broadcasting, shapes, edges, numbers)


def _tracked(row: OpRow, name: str, samples: Callable, may_raise: bool = False) -> Iterator[Case]:
    for dtype in row.dtypes:
        if dtype in GRADIENT_DTYPES:
            for index, sample in enumerate(samples(Maker(row, dtype))):
                key = f"{row.name}/{name}/{dtype}/{index}"
                yield Case(row, key, sample, True, may_raise or not row.differentiable)


def plain_arrays(sample: Sample) -> list[np.ndarray]:
    """The arrays of a sample, out of their wrappers."""
    arrays = arrays_in((sample.args, sample.kwargs))
    return [array.array if isinstance(array, Fixed) else array for array in arrays]


def _with_arrays(sample: Sample, arrays: list[np.ndarray]) -> Sample:
    remaining = iter(arrays)
    args, kwargs = replace_arrays((sample.args, sample.kwargs), lambda _: next(remaining))
    return Sample(*args, **kwargs)


def _resized(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The array's own values, repeated or cut to the shape, so that they stay in its domain."""
    return np.resize(array.ravel(), shape)


def resized_sample(sample: Sample, shapes: Sequence[tuple[int, ...]]) -> Sample:
    """The same call of arrays of other shapes."""
    arrays = plain_arrays(sample)
    return _with_arrays(sample, [_resized(a, s) for a, s in zip(arrays, shapes, strict=True)])


def _same(samples: Sequence[Sample]) -> Iterator[Sample]:
    for sample in samples:
        arrays = plain_arrays(sample)
        floats = [array for array in arrays if array.dtype.kind in "fc"]
        if len(floats) > 1:
            first = floats[0]
            yield _with_arrays(sample, [first if a.dtype == first.dtype else a for a in arrays])


def _broadcast(samples: Sequence[Sample]) -> Iterator[Sample]:
    for sample in samples:
        for combination in BROADCASTS.get(len(plain_arrays(sample)), ()):
            yield resized_sample(sample, combination)


def _shapes(samples: Sequence[Sample]) -> Iterator[Sample]:
    for sample, shape in itertools.product(samples, [(0,), (2, 0, 3), ()]):
        yield _with_arrays(sample, [_resized(array, shape) for array in plain_arrays(sample)])


def _specials(row: OpRow, samples: Sequence[Sample]) -> Iterator[Sample]:
    for sample in samples:
        arrays = plain_arrays(sample)
        count = sum(array.dtype.kind == "f" for array in arrays)
        if count:
            # Three operands at once: every second value, or the product grows past use.
            values = row.specials if count < 3 else row.specials[::2]
            grids = iter(np.meshgrid(*[np.array(values)] * count, indexing="ij"))
            shape = (len(values) ** count,)
            yield _with_arrays(
                sample,
                [
                    next(grids).reshape(shape).astype(array.dtype)
                    if array.dtype.kind == "f"
                    else _resized(array, shape)
                    for array in arrays
                ],
            )
