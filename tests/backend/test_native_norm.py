"""The compiled normalizations against their twins."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from nnkit.backend.cpu import BACKEND as B
from tests.backend.native_cases import (
    FLOATS,
    FOREIGN,
    LAYOUTS,
    channels_last,
    compare,
    needs_native,
    numbers,
    order,
    served,
    unit,
)  # fmt: skip

pytestmark = needs_native
# With the number of normalized axes, or of groups.
ROWS = (((5,), 1), ((3, 17), 1), ((1, 1), 1), ((40, 128), 1), ((2, 5000), 1), ((3, 4, 5, 6), 2),
        ((300, 65), 1))  # fmt: skip
GROUPS = (((3, 6), 3), ((2, 6, 5), 2), ((2, 8, 9, 9), 8), ((4, 4, 1), 2), ((3, 12, 40, 30), 3))
# Images and volumes whose channels are last in memory.
LAST = ((5, 6, 9, 11), (3, 70, 4, 5), (2, 300, 1, 3), (2, 5, 3, 4, 6))
BATCHES = ((7, 3), (1, 2), (300, 40), (100, 600), (4, 3, 5), (5, 6, 9, 11), (3, 2, 70, 80))


def _parameters(count: int | tuple[int, ...], dtype: np.dtype) -> Iterator[tuple]:
    shape = count if isinstance(count, tuple) else (count,)
    weight, bias = numbers(shape, dtype), numbers(shape, dtype)[::-1].copy()
    yield from ((weight, bias), (None, None), (weight, None), (None, bias))


def _layer_norms() -> Iterator[tuple]:
    for dtype in FLOATS:
        for shape, ndim in ROWS:
            for weight, bias in _parameters(shape[len(shape) - ndim :], dtype):
                yield numbers(shape, dtype) + np.ones((), dtype), weight, bias, ndim, 1e-5
        for layout in LAYOUTS.values():
            (weight, bias), *_ = _parameters((3, 17), dtype)
            yield layout(numbers((2, 3, 17), dtype)), layout(weight), layout(bias), 2, 1e-5
    yield numbers((4, 9), edges=True), None, None, 1, 1e-5
    yield numbers((0, 9)), None, None, 1, 1e-5


def _group_norms() -> Iterator[tuple]:
    for dtype in FLOATS:
        for shape, groups in GROUPS:
            for weight, bias in _parameters(shape[1], dtype):
                yield numbers(shape, dtype) + np.ones((), dtype), weight, bias, groups, 1e-5
        for layout in LAYOUTS.values():
            (weight, bias), *_ = _parameters(4, dtype)
            yield layout(numbers((2, 4, 17), dtype)), layout(weight), layout(bias), 2, 1e-5


def _batch_norms() -> Iterator[tuple]:
    for dtype in FLOATS:
        for shape in BATCHES:
            for weight, bias in _parameters(shape[1], dtype):
                yield numbers(shape, dtype) + np.ones((), dtype), weight, bias, 1e-5
        for shape in LAST:
            (weight, bias), *_ = _parameters(shape[1], dtype)
            yield channels_last(numbers(shape, dtype)), weight, bias, 1e-5
        for layout in LAYOUTS.values():
            (weight, bias), *_ = _parameters(4, dtype)
            yield layout(numbers((5, 4, 17), dtype)), layout(weight), layout(bias), 1e-5
            yield layout(numbers((5, 4), dtype)), layout(weight), layout(bias), 1e-5


def _gradients(forward: str) -> Iterator[tuple]:
    centred = forward != "rms_norm"
    for arguments in CASES[forward]():
        x, weight, *rest = arguments
        _, *statistics = getattr(B, forward).twin(*arguments)
        g = np.empty_like(x)
        g[...] = numbers(x.shape, x.dtype)[::-1]
        yield g, x, weight, *statistics, *(rest[1:] if centred else rest)


def _evaluations() -> Iterator[tuple]:
    for x, weight, bias, _ in _batch_norms():
        mean, scale = numbers((x.shape[1],), x.dtype), np.abs(numbers((x.shape[1],), x.dtype))
        yield x, weight, bias, mean, scale


def _gradients_of_evaluations() -> Iterator[tuple]:
    for x, weight, _, mean, scale in _evaluations():
        yield np.flip(x).copy(order="K"), x, weight, mean, scale, True


def _updates() -> Iterator[tuple]:
    for dtype in FLOATS:
        new = numbers((1, 9, 1), np.promote_types(dtype, np.float32))
        for lay in (np.copy, LAYOUTS["sliced"]):
            running = lay(numbers((9,), dtype)), lay(np.ones((9,), dtype))
            yield *running, new, np.abs(new), 0.1, 1.25
            yield *running, new, np.abs(new), 1.0, float("nan")


CASES = {
    "layer_norm": _layer_norms,
    "rms_norm": lambda: ((x, w, n, eps) for x, w, _, n, eps in _layer_norms()),
    "group_norm": _group_norms,
    "batch_norm": _batch_norms,
    "batch_norm_eval": _evaluations,
    "update_running_": _updates,
    "layer_norm_grad": lambda: _gradients("layer_norm"),
    "rms_norm_grad": lambda: _gradients("rms_norm"),
    "group_norm_grad": lambda: _gradients("group_norm"),
    "batch_norm_grad": lambda: _gradients("batch_norm"),
    "batch_norm_eval_grad": _gradients_of_evaluations,
}


def _tolerance(want: np.ndarray) -> float:
    """Units in the last place of the largest value, which sums of products may reach."""
    finite = np.abs(want[np.isfinite(want)].astype(np.float64))
    return 32 * float(unit(np.asarray(1 + finite.max(initial=0), want.dtype)))


@pytest.mark.parametrize("name", CASES)
def test_equals_twin(name: str) -> None:
    for arguments in CASES[name]():
        compare(getattr(B, name), *arguments, tolerance=_tolerance, same_order=False)


def test_serves_every_layout() -> None:
    statistics = np.ones(4, np.float32), np.ones(4, np.float32)
    for layout, lay in LAYOUTS.items():
        if layout not in FOREIGN:
            x, weight = lay(numbers((5, 4, 17))), lay(numbers((4,)))
            assert served(B.batch_norm, x, weight, weight, 1e-5)
            assert served(B.batch_norm_grad, x, x, weight, *statistics, 1e-5)
            assert served(B.batch_norm_eval, x, weight, weight, *statistics)
            assert served(B.batch_norm_eval_grad, x, x, weight, *statistics, True)
            assert served(B.group_norm, x, weight, weight, 2, 1e-5)
            assert served(B.layer_norm, x, lay(numbers((17,))), None, 1, 1e-5)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("shape", LAST)
def test_channels_that_are_last_stay_last(shape: tuple[int, ...], dtype: np.dtype) -> None:
    x, rows = channels_last(numbers(shape, dtype)), numbers(shape, dtype)
    out, mean, variance = B.batch_norm(x, None, None, 1e-5)
    for g in (x, rows):
        g_x, _ = B.batch_norm_grad(g, x, None, mean, variance, 1e-5)
        assert order(out) == order(g_x) == order(x)
    g_x, _ = B.batch_norm_grad(x, rows, None, mean, variance, 1e-5)
    assert order(g_x) == order(rows)


@pytest.mark.parametrize("shape", [(20000, 3), (2, 3, 200, 300)])
def test_variance_survives_a_large_mean(shape: tuple[int, ...]) -> None:
    x = numbers(shape) + np.float32(1000)
    axes = (0, *range(2, len(shape)))
    _, mean, variance = B.batch_norm(x, None, None, 1e-5)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(mean.reshape(-1), wide.mean(axes), rtol=2e-7)
    np.testing.assert_allclose(variance.reshape(-1), wide.var(axes), rtol=2e-5)
