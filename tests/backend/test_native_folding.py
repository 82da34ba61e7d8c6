"""The compiled windows as columns, and columns added up, against their twins."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from nnkit.backend.cpu import BACKEND as B
from nnkit.backend.windows import window_counts
from tests.backend.native_cases import FLOATS, LAYOUTS, compare, needs_native, numbers, served

pytestmark = needs_native
SPACES = ((9,), (9, 8), (5, 40), (4, 6, 7), (70, 60))
# Kernel, dilation, padding, stride.
WINDOWS = ((2, 1, 0, 1), (3, 1, 1, 2), (3, 2, 1, 1), (1, 1, 0, 3), (2, 3, 4, 1), (4, 1, 3, 4))


def _folds() -> Iterator[tuple]:
    for space in SPACES:
        for window in WINDOWS:
            statics = tuple((n,) * len(space) for n in window)
            kernel, dilation, padding, stride = statics
            counts = window_counts(space, kernel, stride, padding, dilation)
            if min(counts) > 0:
                yield (2, 3, *space), (2, 3 * int(np.prod(kernel)), int(np.prod(counts))), statics


def _im2col() -> Iterator[tuple]:
    for shape, _, statics in _folds():
        for dtype in FLOATS:
            for layout in LAYOUTS.values():
                yield layout(numbers(shape, dtype)), *statics


def _col2im() -> Iterator[tuple]:
    for shape, columns, statics in _folds():
        for dtype in FLOATS:
            for layout in LAYOUTS.values():
                yield layout(numbers(columns, dtype)), shape, *statics


CASES = {"im2col": _im2col, "col2im": _col2im}


@pytest.mark.parametrize("name", CASES)
def test_equals_twin(name: str) -> None:
    for arguments in CASES[name]():
        compare(getattr(B, name), *arguments, same_order=False)


def test_they_are_served() -> None:
    x, statics = numbers((1, 2, 5, 6)), ((2, 3), (1, 1), (1, 0), (1, 2))
    assert served(B.im2col, x, *statics)
    assert served(B.col2im, B.im2col(x, *statics), x.shape, *statics)
