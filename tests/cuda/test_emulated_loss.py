"""Cross-entropy and its relatives, emulated, against the CPU backend."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nnkit.backend.cpu import loss as cpu
from nnkit.backend.cuda import failures, loss
from tests.cuda.arrays import on_arrays
from tests.cuda.compare import BF, F4, F8, assert_same
from tests.cuda.emulation import emulated
from tests.cuda.marks import needs_compiler

loss = on_arrays(loss)

pytestmark = needs_compiler
SHAPES: Any = ((5, 7), (3, 5, 4), (6,), (2, 600))


def case(shape: tuple[int, ...], dtype: np.dtype, weighted: bool) -> tuple:
    rng = np.random.default_rng(0)
    classes = shape[1 if len(shape) > 1 else 0]
    labels = (*shape[:1], *shape[2:]) if len(shape) > 1 else ()
    x = rng.standard_normal(shape).astype(dtype)
    target = np.asarray(rng.integers(0, classes, labels))
    if target.ndim:
        target.reshape(-1)[0] = -100
    weight = rng.random(classes).astype(dtype) if weighted else None
    return x, target, weight


@pytest.mark.parametrize("reduction", ("none", "mean", "sum"))
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_cross_entropy(shape, reduction):
    for dtype, weighted, smoothing in ((F4, False, 0.0), (F4, True, 0.1), (F8, True, 0.0)):
        x, target, weight = case(shape, dtype, weighted)
        statics = (-100, reduction, smoothing)
        assert_same(loss.cross_entropy, cpu.cross_entropy, x, target, weight, *statics)
        loss_shape = target.shape if reduction == "none" else ()
        g = np.asarray(np.random.default_rng(1).standard_normal(loss_shape)).astype(dtype)
        p = cpu.cross_entropy(x, target, weight, *statics)[1]
        given = (g, p, target, weight, *statics)
        assert_same(loss.cross_entropy_grad, cpu.cross_entropy_grad, *given)


@pytest.mark.parametrize("reduction", ("none", "mean", "sum"))
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_nll_loss(shape, reduction):
    x, target, weight = case(shape, F4, True)
    assert_same(loss.nll_loss, cpu.nll_loss, x, target, weight, -100, reduction)
    g = np.asarray(np.ones(target.shape if reduction == "none" else (), F4) * 2)
    given = (g, x, target, weight, -100, reduction)
    assert_same(loss.nll_loss_grad, cpu.nll_loss_grad, *given)


def test_half_precision():
    x, target, weight = case((5, 7), BF, False)
    assert_same(loss.cross_entropy, cpu.cross_entropy, x, target, weight, -100, "mean", 0.0)
    assert_same(loss.nll_loss, cpu.nll_loss, x, target, weight, -100, "none")


@pytest.mark.parametrize("label", (7, -1))
def test_class_out_of_range(label):
    x, target, _ = case((5, 7), F4, False)
    target[3] = label
    with emulated():
        loss.cross_entropy(x, target, None, -100, "mean", 0.0)
    with pytest.raises(IndexError, match=f"Target {label} is out of bounds for 7 classes"):
        failures.check()
    failures.check()  # the record was cleared


@pytest.mark.parametrize("dtype", (F4, F8), ids=str)
def test_ctc(dtype):
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((9, 4, 5))
    log_probs = (scores - np.log(np.exp(scores).sum(2, keepdims=True))).astype(dtype)
    log_probs[3, 1, 2] = -np.inf
    targets = np.array([[1, 2, 2], [3, 1, 1], [4, 4, 4], [2, 1, 1]])
    inputs, labels = np.array([9, 7, 4, 0]), np.array([3, 1, 3, 0])
    for zero_infinity in (False, True):
        given = (log_probs, targets, inputs, labels, 0, zero_infinity)
        assert_same(loss.ctc_loss, cpu.ctc_loss, *given)
        losses, log_alpha = cpu.ctc_loss(*given)
        y = rng.standard_normal(4).astype(dtype)
        given = (y, *given[:4], losses, log_alpha, *given[4:])
        assert_same(loss.ctc_loss_grad, cpu.ctc_loss_grad, *given)


def test_ctc_of_more_states_than_shared_memory_holds(monkeypatch):
    monkeypatch.setattr("nnkit.backend.cuda.ctc.shared_limit", lambda capability: 0)
    test_ctc(F4)
