"""The compiled sums and maxima of bags of rows against their twins."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from nnkit.backend.cpu import BACKEND as B
from tests.backend.native_cases import FLOATS, LAYOUTS, compare, needs_native, numbers, served

pytestmark = needs_native
# Bags of no rows at the beginning, in between and at the end; none at all; many.
BAGS = ([0, 0, 0, 1, 3, 3], [2, 2, 2, 2], [], [*range(9)] * 1, [*np.repeat(np.arange(40), 25)])
WIDTHS = (1, 7, 16, 37, 64, 83)


def _places() -> Iterator[tuple[np.ndarray, int]]:
    for bags in BAGS:
        numbered = np.array(bags, np.int64)
        yield numbered, int(numbered.max(initial=-1)) + 2


def _sums() -> Iterator[tuple]:
    for width in WIDTHS:
        for i, (bags, count) in enumerate(_places()):
            index = np.arange(len(bags)) * 7 % 11
            dtype = FLOATS[(i + width) % 2]
            table = numbers((11, width), dtype, edges=width == 7)
            for factors in (None, numbers((len(bags),), dtype)):
                yield table, index, bags, factors, count
    for layout in LAYOUTS.values():
        bags = np.array([0, 0, 1, 1, 1, 4])
        yield layout(numbers((5, 6))), np.array([3, 3, 0, 4, 1, 2], np.int32), bags, None, 5


def _maxima() -> Iterator[tuple]:
    for width in WIDTHS:
        for i, (bags, count) in enumerate(_places()):
            dtype = FLOATS[(i + width) % 2]
            yield numbers((len(bags), width), dtype, edges=True), bags, count


CASES = {"bag_sum": _sums, "bag_max": _maxima}


@pytest.mark.filterwarnings("ignore:invalid value|overflow")
@pytest.mark.parametrize("name", CASES)
def test_equals_twin(name: str) -> None:
    for arguments in CASES[name]():
        with np.errstate(all="ignore"):
            compare(getattr(B, name), *arguments, same_order=False)


def test_leaves_wrong_indices_and_orders_to_the_twin() -> None:
    table, bags = numbers((3, 4)), np.array([0, 0, 1])
    assert served(B.bag_sum, table, np.array([0, 2, 1]), bags, None, 2)
    assert served(B.bag_sum, table, np.array([0, 2, 1]), bags, numbers((3,)), 2)
    assert not served(B.bag_sum, table, np.array([0, 3, 1]), bags, None, 2)
    assert not served(B.bag_sum, table, np.array([0, -1, 1]), bags, None, 2)
    assert not served(B.bag_sum, table, np.array([0, 2, 1]), bags[::-1].copy(), None, 2)
    assert not served(B.bag_max, table, np.array([1, 0, 1]), 2)
