"""The compiled connectionist temporal classification against its twin."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from nnkit.backend.cpu import BACKEND as B
from tests.backend.native_cases import LAYOUTS, compare, needs_native, numbers, served, unit

pytestmark = needs_native
# Steps, samples, classes, labels.
SIZES = ((1, 1, 2, 0), (1, 3, 3, 1), (5, 4, 4, 3), (12, 2, 9, 5), (40, 9, 21, 17))


def _arguments() -> Iterator[tuple]:
    """Log probabilities, labels, their lengths and those of the inputs, blank, zero_infinity."""
    rng = np.random.default_rng(0)
    for dtype in (np.dtype("float32"), np.dtype("float64")):
        for steps, samples, classes, most in SIZES:
            scores = numbers((steps, samples, classes), dtype)
            scores -= np.log(np.exp(scores).sum(-1, keepdims=True))
            if steps == 12:
                scores[3, 0, 2] = scores[7, 1, 0] = -np.inf
            for blank in (0, classes - 1):
                # Few classes: neighbouring labels are often the same, and some are the blank.
                labels = rng.integers(0, classes, (samples, most))
                inputs = rng.integers(steps // 2, steps + 1, samples)
                lengths = rng.integers(0, most + 1, samples)
                inputs[0] = 0 if blank else steps
                yield scores, labels, inputs, lengths, blank, bool(blank)
                yield scores, labels, inputs, lengths, blank, not blank
    counts = np.full(4, 6), np.full(4, 2)
    for layout in LAYOUTS.values():
        yield layout(numbers((6, 4, 5))), layout(np.ones((4, 2), np.int64)), *counts, 0, False


def _gradients() -> Iterator[tuple]:
    for *given, blank, zero_infinity in _arguments():
        losses, log_alpha = B.ctc_loss.twin(*given, blank, zero_infinity)
        y = numbers(losses.shape, losses.dtype)
        yield y, *given, losses, log_alpha, blank, zero_infinity


CASES = {"ctc_loss": _arguments, "ctc_loss_grad": _gradients}


def _tolerance(want: np.ndarray) -> float:
    """Units in the last place of the largest result: sums of many steps."""
    finite = np.abs(want[np.isfinite(want)].astype(np.float64))
    return 64 * float(unit(np.asarray(max(8.0, finite.max(initial=0)), want.dtype)))


@pytest.mark.filterwarnings("ignore:invalid value|divide by zero")
@pytest.mark.parametrize("name", CASES)
def test_equals_twin(name: str) -> None:
    for arguments in CASES[name]():
        with np.errstate(all="ignore"):
            compare(getattr(B, name), *arguments, tolerance=_tolerance, same_order=False)


def test_is_served() -> None:
    for name, cases in CASES.items():
        assert served(getattr(B, name), *next(cases()))


@pytest.mark.parametrize(("place", "value"), [(1, 9), (1, -1), (2, 7), (3, 5), (3, -1)])
def test_what_lies_outside_is_left_to_the_twin(place: int, value: int) -> None:
    arguments = [numbers((6, 4, 5)), np.ones((4, 2), int), np.full(4, 6), np.full(4, 2), 0, False]
    arguments[place] = arguments[place].copy()
    arguments[place].flat[1] = value
    assert not served(B.ctc_loss, *arguments)
