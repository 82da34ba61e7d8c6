"""LSTM and GRU layers, emulated, against the CPU backend."""

from __future__ import annotations

import numpy as np
import pytest

from nnkit.backend.cpu import recurrent as cpu
from nnkit.backend.cuda import recurrent
from tests.cuda.compare import F2, F4, assert_same
from tests.cuda.marks import needs_compiler

pytestmark = needs_compiler
PACKED = ((3, 3, 3), (4, 2, 1))


def numbers(*shape: int, dtype: np.dtype = F4) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("reverse", (False, True))
@pytest.mark.parametrize("batch_sizes", PACKED, ids=str)
def test_lstm(batch_sizes, reverse):
    rows, n, size = sum(batch_sizes), batch_sizes[0], 5
    x, h0, c0 = numbers(rows, 4), numbers(n, size), numbers(n, size) * 2
    weights = numbers(4 * size, 4), numbers(4 * size, size), numbers(4 * size), numbers(4 * size)
    given = (x, h0, c0, *weights, None, batch_sizes, reverse)
    assert_same(recurrent.lstm_layer, cpu.lstm_layer, *given)
    output, h, c, gates, cells = cpu.lstm_layer(*given)
    given = (numbers(rows, size), h, c, *given[:-2], output, gates, cells, batch_sizes, reverse)
    needs = (True,) * 7 + (False,)
    assert_same(recurrent.lstm_layer_grad, cpu.lstm_layer_grad, *given, needs, tolerance=1e-4)


@pytest.mark.parametrize("reverse", (False, True))
@pytest.mark.parametrize("batch_sizes", PACKED, ids=str)
def test_gru(batch_sizes, reverse):
    rows, n, size = sum(batch_sizes), batch_sizes[0], 5
    x, h0 = numbers(rows, 4), numbers(n, size)
    weights = numbers(3 * size, 4), numbers(3 * size, size), numbers(3 * size), numbers(3 * size)
    given = (x, h0, *weights, batch_sizes, reverse)
    assert_same(recurrent.gru_layer, cpu.gru_layer, *given)
    output, h, gates, candidates = cpu.gru_layer(*given)
    given = (numbers(rows, size), h, *given[:-2], output, gates, candidates, batch_sizes, reverse)
    assert_same(recurrent.gru_layer_grad, cpu.gru_layer_grad, *given, (True,) * 6, tolerance=1e-4)


def test_half_precision():
    x, h0 = numbers(6, 4, dtype=F2), numbers(3, 5, dtype=F2)
    weights = numbers(15, 4, dtype=F2), numbers(15, 5, dtype=F2)
    given = (x, h0, *weights, None, None, (3, 3), False)
    assert_same(recurrent.gru_layer, cpu.gru_layer, *given)
