"""The compiled resampling of images, and its gradient, against their twins."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from nnkit.backend.cpu import BACKEND as B
from tests.backend.native_cases import (
    FLOATS,
    LAYOUTS,
    channels_last,
    compare,
    needs_native,
    numbers,
    order,
    served,
)

pytestmark = needs_native
# The shape of the images, and the new size.
SHAPES = (
    ((2, 3, 9), (4,)), ((1, 2, 40), (81,)), ((2, 3, 5, 4), (10, 8)), ((1, 17, 6, 33), (3, 5)),
    ((2, 1, 1, 7), (3, 7)), ((2, 2, 3, 4, 5), (6, 2, 5)),
)  # fmt: skip
MODES = ("nearest", "nearest-exact", "bilinear", "bicubic")


def _images() -> Iterator[tuple]:
    """Images, size, factors, mode, aligned."""
    for i, ((shape, size), mode, aligned) in enumerate(product(SHAPES, MODES, (False, True))):
        if aligned and mode.startswith("nearest"):
            continue
        factors = [None if k % 2 else n / o * 0.97 for k, (n, o) in enumerate(zip(size, shape[2:]))]
        for given in ((None,) * len(size), tuple(factors)):
            yield numbers(shape, FLOATS[i % 2]), size, given, mode, aligned
    for name, dtype in product(LAYOUTS, FLOATS):
        if (
            name != "swapped"
        ):  # float64 of another order of bytes has weights of float32 in the body
            yield (
                LAYOUTS[name](numbers((2, 3, 5, 4), dtype)),
                (7, 8),
                (None, 2.0),
                "bilinear",
                False,
            )


def _gradients() -> Iterator[tuple]:
    for x, size, *rest in _images():
        yield numbers((*x.shape[:2], *size), x.dtype), x.shape, *rest


CASES = {"resample": _images, "resample_adjoint": _gradients}
# Units of the sums' size: gradients are added up in another order.
TOLERANCES = dict(zip(map(str, FLOATS), (1e-6, 1e-14, 2**-10, 2**-7)))


def _tolerance(want: np.ndarray) -> float:
    return 8 * TOLERANCES[str(want.dtype.newbyteorder("="))] * np.abs(want.astype(float)).max()


@pytest.mark.parametrize("name", CASES)
def test_equals_twin(name: str) -> None:
    for arguments in CASES[name]():
        compare(getattr(B, name), *arguments, tolerance=_tolerance)


@pytest.mark.parametrize("name", CASES)
def test_is_served(name: str) -> None:
    assert all(served(getattr(B, name), *arguments) for arguments in CASES[name]())


def test_samples_have_the_bits_of_the_body() -> None:
    for arguments in _images():
        if arguments[0].dtype in FLOATS[:2]:
            np.testing.assert_array_equal(B.resample(*arguments), B.resample.twin(*arguments))


@pytest.mark.parametrize("mode", MODES)
def test_channels_that_are_last_stay_last(mode: str) -> None:
    x = channels_last(numbers((2, 5, 6, 7)))
    out = B.resample(x, (4, 9), (None, None), mode, False)
    assert order(out) == order(x)
    compare(
        B.resample, x, (4, 9), (None, None), mode, False, tolerance=_tolerance, same_order=False
    )
    g = channels_last(numbers(out.shape))
    assert order(B.resample_adjoint(g, x.shape, (None, None), mode, False)) == order(x)
