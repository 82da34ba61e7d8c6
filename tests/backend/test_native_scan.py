"""The compiled running totals and records against their twins in NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest

from nnkit.backend.cpu import BACKEND as B
from tests.backend.native_cases import LAYOUTS, SHAPES, close, compare, needs_native, numbers

pytestmark = needs_native

DTYPES = tuple(np.dtype(d) for d in ("float32", "float64", "int64", "int32", "float16"))
# NumPy's own running totals refuse another byte order, in which no tensor is.
OWN_LAYOUTS = [layout for name, layout in LAYOUTS.items() if name != "swapped"]
LARGE = ((20_000,), (70, 600), (3, 40, 700))
TOLERANCES = {"float32": 1e-6, "float64": 1e-13, "float16": 2e-3}


def cases(edges: bool, dtypes: tuple = DTYPES) -> Iterator[tuple]:
    for dtype in dtypes:
        for shape in SHAPES:
            for layout in OWN_LAYOUTS:
                x = layout(numbers(shape, dtype, edges))
                yield from ((x, axis) for axis in range(-1, x.ndim) if x.ndim)
        for shape in LARGE:
            yield from ((numbers(shape, dtype, edges), axis) for axis in range(len(shape)))


def _recurrences() -> Iterator[tuple]:
    for x, axis in cases(True, tuple(d for d in DTYPES if d.kind == "f")):
        yield numbers(x.shape, x.dtype.newbyteorder("=")), x, axis


CASES = {
    "cumsum": partial(cases, False),
    "cumprod": partial(cases, False),
    "logcumsumexp": partial(cases, False, tuple(d for d in DTYPES if d.kind == "f")),
    "cummax": partial(cases, True),
    "cummin": partial(cases, True),
    "recurrence": _recurrences,
}
EXACT = ("cummax", "cummin", "recurrence")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", CASES)
def test_equals_twin(name: str) -> None:
    for arguments in CASES[name]():
        dtype = arguments[0].dtype.newbyteorder("=")
        relative = 0.0 if name in EXACT else TOLERANCES.get(dtype.name, 0.0)
        tolerance = close(relative, relative * 100)
        compare(getattr(B, name), *arguments, tolerance=tolerance, same_order=False)


def test_logcumsumexp_of_infinities() -> None:
    x = np.array([-np.inf, -np.inf, 0.0, np.inf, 1.0, np.nan, 0.0], np.float32)
    expected = [-np.inf, -np.inf, 0.0, np.inf, np.inf, np.nan, np.nan]
    np.testing.assert_array_equal(B.logcumsumexp(x, 0), expected)
    np.testing.assert_array_equal(B.logcumsumexp(np.stack([x, x], 1), 0)[:, 1], expected)
