"""Bools whose bytes are not 0 and 1, as those of bytes that are viewed as bools may be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType

import numpy as np

from tests.harness import cases
from tests.harness.call import Call, Layout, arrays_in, flatten, replace_arrays, to_array
from tests.harness.checks import stepped, writer
from tests.harness.row import Maker, OpRow, Sample

AS_BOOLS = (np.float32, np.float64, np.bool_)
LONG = 70  # elements: more than NumPy's loops take at a time
SHAPES = {
    1: [((),), ((3,),), ((LONG,),)],
    2: [((), ()), ((), (3,)), ((3,), ()), ((), (LONG,)), ((LONG,), ()), ((3, 1), (1, 5))],
    3: [((), (3,), ()), ((LONG,), (), (LONG,))],
}


def check_odd_bytes(framework: ModuleType, row: OpRow) -> None:
    """All bytes but 0 are true: results are those of bools that are made otherwise."""
    names = (row.inplace,) if isinstance(row.inplace, str) else row.inplace
    forms = [None, *(writer(framework, row, name) for name in names)]
    for sample in _of_bools(row):
        for layout in (np.copy, stepped):
            for form in forms:
                plain = _outputs(Call(framework, row, sample, layout=layout), form)
                if plain is not None:
                    odd = Call(framework, row, sample, layout=_both(layout, odd_bytes))
                    for mine, array in zip(_outputs(odd, form) or (), plain, strict=True):
                        np.testing.assert_array_equal(mine, array, row.name)


def _both(first: Layout, second: Layout) -> Layout:
    return lambda array: second(first(array))


def odd_bytes(array: np.ndarray) -> np.ndarray:
    """The same array, if it is of bools with other bytes written into it."""
    if array.dtype == np.bool_ and array.size:
        array.view(np.uint8)[...] *= np.resize(np.array([2, 255, 1, 128, 3], np.uint8), array.shape)
    return array


def _of_bools(row: OpRow) -> Iterator[Sample]:
    """The row's samples, as far as they hold bools, also with bools in place of floats."""
    for dtype in dict.fromkeys((row.dtypes[0], *(d for d in row.dtypes if d == "bool"))):
        for made in row.samples(Maker(row, dtype)):
            for sample in (made, _as_bools(made, True), _as_bools(made, False)):
                arrays = cases.plain_arrays(sample)
                if any(array.dtype == np.bool_ for array in arrays):
                    yield sample
                    if row.elementwise:
                        for shapes in SHAPES.get(len(arrays), ()):
                            yield cases.resized_sample(sample, shapes)


def _as_bools(sample: Sample, wanted: bool) -> Sample:
    """The sample with bools in place of floats, and, if they are not wanted, the opposite ones."""
    values = (sample.args, sample.kwargs)
    found = {id(a): a for a in arrays_in(values) if isinstance(a, np.ndarray)}
    # One array stays one.
    bools = {key: (a > 0) == wanted for key, a in found.items() if a.dtype in AS_BOOLS}
    args, kwargs = replace_arrays(values, lambda array: bools.get(id(array), array))
    return Sample(*args, **kwargs)


def _outputs(call: Call, form: Callable | None) -> list[np.ndarray] | None:
    """The results, in bytes of 0 and 1 where they are bools; None where the op takes no bools."""
    try:
        arrays = [to_array(out) for out in flatten(call(function=form))]
    except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):
        return None
    return [a.view(np.uint8) != 0 if a.dtype == np.bool_ else a for a in arrays]
