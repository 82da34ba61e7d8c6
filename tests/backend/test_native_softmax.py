"""The compiled softmax kernels against their twins."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from nnkit.backend.cpu import BACKEND as B
from tests.backend.native_cases import (
    FLOATS,
    FOREIGN,
    LAYOUTS,
    SHAPES,
    compare,
    needs_native,
    numbers,
    served,
    unit,
)  # fmt: skip

pytestmark = needs_native
# Rows and columns, short and long, of one tile and of several; shape and axis.
MORE = (((64, 10), 1), ((64, 1000), 1), ((3, 5000), 1), ((64, 1000), 0), ((5, 33, 3), 1),
        ((2, 70, 300), 1), ((2, 4100, 20), 1), ((40, 33), 0))  # fmt: skip


def _shapes() -> Iterator[tuple]:
    for shape in SHAPES:
        for axis in range(len(shape) or 1):
            yield shape, axis
    yield from MORE


def _inputs() -> Iterator[tuple]:
    for dtype in FLOATS:
        for shape, axis in _shapes():
            yield numbers(shape, dtype), axis
        for layout in LAYOUTS.values():
            for axis in (-1, 1):
                yield layout(numbers((5, 3, 17), dtype)), axis
        for axis in (0, 1):
            yield numbers((9, 21), dtype, edges=True), axis


def _gradients(forward: str) -> Iterator[tuple]:
    """A gradient, and the result that it belongs to."""
    for x, axis in _inputs():
        out = np.empty_like(x)
        out[...] = getattr(B, forward).twin(x, axis)
        yield x, out, axis


CASES = {
    "softmax": _inputs,
    "log_softmax": _inputs,
    "softmax_grad": lambda: _gradients("softmax"),
    "log_softmax_grad": lambda: _gradients("log_softmax"),
}


def _tolerance(x: np.ndarray, axis: int):
    """Units in the last place of what was added up."""
    finite = np.abs(x.astype(np.float64), where=np.isfinite(x), out=np.zeros(x.shape))
    count = x.shape[axis] if x.ndim else 1
    scale = np.asarray(max(1.0, finite.max(initial=0)) * max(count, 1) ** 0.5, x.dtype)
    return 4 * float(unit(scale))


@pytest.mark.parametrize("name", CASES)
def test_equals_twin(name: str) -> None:
    for arguments in CASES[name]():
        compare(getattr(B, name), *arguments, tolerance=_tolerance(arguments[0], arguments[-1]))


@pytest.mark.parametrize("name", CASES)
def test_serves_every_layout(name: str) -> None:
    kernel = getattr(B, name)
    for layout, lay in LAYOUTS.items():
        if layout not in FOREIGN:
            x = lay(numbers((5, 3, 17)))
            assert served(kernel, *([x] if kernel.__name__[-4:] != "grad" else [x, x]), 1)


def test_long_sums_are_exact_to_the_last_bits() -> None:
    x = np.zeros((1, 1 << 20), np.float32)
    for axis, values in ((1, x), (0, x.T.copy())):
        assert (B.softmax(values, axis) == np.float32(2.0**-20)).all()
