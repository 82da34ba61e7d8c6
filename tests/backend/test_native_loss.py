"""The compiled losses on class labels against their twins."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from nnkit.backend.cpu import BACKEND as B
from tests.backend.native_cases import (
    FLOATS,
    FOREIGN,
    LAYOUTS,
    compare,
    needs_native,
    numbers,
    served,
    unit,
)  # fmt: skip

pytestmark = needs_native
SHAPES = ((3,), (1, 1), (3, 2), (64, 10), (70, 1000), (2, 3000), (5, 4, 7), (3, 20, 9, 11))
REDUCTIONS = ("none", "mean", "sum")


def _labels(shape: tuple[int, ...], ignore_index: int, dtype=np.int64) -> np.ndarray:
    classes = shape[1] if len(shape) > 1 else shape[0]  # pyright: ignore
    rng = np.random.default_rng(classes)
    labels = np.asarray(rng.integers(0, classes, shape[:1] + shape[2:] if shape[1:] else ()))
    if ignore_index < 0 and labels.size > 2:
        labels.reshape(-1)[::3] = ignore_index
    return labels.astype(dtype)


def _arguments() -> Iterator[tuple]:
    """Scores, labels, weight, ignore_index, reduction and label_smoothing."""
    for dtype in FLOATS:
        for shape in SHAPES:
            classes = shape[1] if len(shape) > 1 else shape[0]
            weight = np.abs(numbers((classes,), dtype)) + np.ones((), dtype)
            x = numbers(shape, dtype)
            for reduction in REDUCTIONS:
                for ignored in (-100, -1, 1):
                    yield x, _labels(shape, ignored), None, ignored, reduction, 0.0
                    yield x, _labels(shape, ignored), weight, ignored, reduction, 0.0
                    yield x, _labels(shape, ignored), None, ignored, reduction, 0.1
                    yield x, _labels(shape, ignored), weight, ignored, reduction, 0.3
    x = numbers((6, 5, 4))
    for layout in LAYOUTS.values():
        labels = layout(_labels(x.shape, 1))
        yield layout(x), labels, layout(np.ones(5, np.float32)), -100, "none", 0.1
        yield layout(x), labels, None, -100, "mean", 0.0
    for dtype in (np.uint8, np.int32):
        yield numbers((8, 5)), _labels((8, 5), 1, dtype), None, -100, "mean", 0.0  # pyright: ignore
    yield numbers((0, 5)), np.zeros(0, np.int64), None, -100, "mean", 0.0
    yield numbers((4, 5), edges=True), _labels((4, 5), 1), None, -100, "none", 0.0
    yield numbers((4, 5)), np.full(4, -100), None, -100, "mean", 0.0  # all are ignored


def _losses(labels: np.ndarray, reduction: str, dtype: np.dtype) -> np.ndarray:
    return np.asarray(numbers(labels.shape if reduction == "none" else (), dtype))


def _cross_entropy_gradients() -> Iterator[tuple]:
    for x, labels, *rest in _arguments():
        p = np.empty_like(x)
        p[...] = B.softmax.twin(x, 1 if x.ndim > 1 else 0)
        yield _losses(labels, rest[2], x.dtype), p, labels, *rest
    g = np.broadcast_to(np.float32(0.5), (6, 4))
    yield g, np.full((6, 5, 4), 0.2, np.float32), _labels((6, 5, 4), 1), None, -100, "none", 0.0


def _nll_gradients() -> Iterator[tuple]:
    for x, labels, *rest, _ in _arguments():
        yield _losses(labels, rest[2], x.dtype), x, labels, *rest


CASES = {
    "cross_entropy": _arguments,
    "cross_entropy_grad": _cross_entropy_gradients,
    "nll_loss": lambda: (arguments[:-1] for arguments in _arguments()),
    "nll_loss_grad": _nll_gradients,
}


def _tolerance(want: np.ndarray) -> float:
    """Units in the last place of the largest loss, or of the largest score."""
    finite = np.abs(want[np.isfinite(want)].astype(np.float64))
    return 8 * float(unit(np.asarray(max(8.0, finite.max(initial=0)), want.dtype)))


@pytest.mark.parametrize("name", CASES)
def test_equals_twin(name: str) -> None:
    for arguments in CASES[name]():
        compare(getattr(B, name), *arguments, tolerance=_tolerance, same_order=False)


@pytest.mark.parametrize("name", CASES)
def test_serves_every_layout(name: str) -> None:
    for layout, lay in LAYOUTS.items():
        if layout in FOREIGN:
            continue
        x, labels = lay(numbers((6, 5, 4))), lay(_labels((6, 5, 4), 1))
        g = () if not name.endswith("grad") else (np.ones((), np.float32),)
        smoothing = (0.0,) if name.startswith("cross") else ()
        assert served(getattr(B, name), *g, x, labels, None, -100, "mean", *smoothing)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("wrong", [-1, 5, 1 << 40])
def test_labels_that_are_no_classes(name: str, wrong: int) -> None:
    x, labels = numbers((4, 5)), np.array([0, 1, wrong, 2])
    g = () if not name.endswith("grad") else (np.ones((), np.float32),)
    smoothing = (0.0,) if name.startswith("cross") else ()
    with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds for 5 classes"):
        getattr(B, name)(*g, x, labels, None, -100, "mean", *smoothing)
