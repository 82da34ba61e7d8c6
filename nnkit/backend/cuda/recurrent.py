"""LSTM and GRU layers, one direction over all time steps; kernels/recurrent.cu.

What does not depend on the previous step is done for all steps at once; a step is one product by
cuBLAS and one kernel. The state lives in a buffer of full batch size, of which a step uses the
first rows. Plain RNN layers, and LSTM with projections, are the bodies of reference/recurrent.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nnkit.backend.cpu.recurrent import one_step_before, steps
from nnkit.backend.cuda.creation import copy
from nnkit.backend.cuda.differences import contiguous, empty, widened
from nnkit.backend.cuda.launch import THREADS, blocks_for
from nnkit.backend.cuda.linalg import linear, matmul, product
from nnkit.backend.cuda.source import current_machine, kernel
from nnkit.backend.reference import recurrent as body


def _backend() -> Any:
    from nnkit.backend.cuda import BACKEND

    return BACKEND


def _launch(name: str, rows: int, size: int, like: Any, arrays: tuple) -> None:
    if rows * size:
        blocks = blocks_for(rows * size, THREADS, current_machine().processors)
        sizes = (np.int64(rows), np.int64(size))
        kernel("recurrent", name, like.dtype)((blocks,), (THREADS,), (*arrays, *sizes))


def _gradients(g, g_hidden, x, before, weight_ih, bias, needs_x) -> tuple:
    """The gradients of x, weight_ih, weight_hh, bias_ih and bias_hh."""
    parameters = body.parameter_gradients(_backend(), g, g_hidden, x, before, bias)
    return (matmul(g, weight_ih) if needs_x else None, *parameters)


@widened
def lstm_layer(x, h0, c0, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr, batch_sizes, reverse):
    B = _backend()
    if weight_hr is not None:
        return body.lstm_layer(
            B, x, h0, c0, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr, batch_sizes, reverse
        )
    size = c0.shape[1]
    gates = contiguous(linear(x, weight_ih, bias_ih))
    if bias_hh is not None:
        B.add_(gates, bias_hh)
    h, c = contiguous(copy(h0)), contiguous(copy(c0))
    output, cells = (empty((len(x), size), x.dtype, x) for _ in range(2))
    hidden = empty((len(h0), 4 * size), x.dtype, x)
    for rows, n in steps(batch_sizes, reverse):
        product(h[:n], weight_hh.T, out=hidden[:n])
        _launch("lstm_cell", n, size, x, (gates[rows], hidden, c, cells[rows], h, output[rows]))
    return output, h, c, gates, cells


@widened
def lstm_layer_grad(
    g_output, g_h_n, g_c_n, x, h0, c0, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr,
    output, gates, cells, batch_sizes, reverse, needs,
):  # fmt: skip
    if weight_hr is not None:
        return body.lstm_layer_grad(
            _backend(), g_output, g_h_n, g_c_n, x, h0, c0, weight_ih, weight_hh, bias_ih, bias_hh,
            weight_hr, output, gates, cells, batch_sizes, reverse, needs,
        )  # fmt: skip
    size = c0.shape[1]
    g_output, gates, cells = (contiguous(a) for a in (g_output, gates, cells))
    cells_before = one_step_before(cells, c0, batch_sizes, reverse)
    g_gates = empty(gates.shape, gates.dtype, gates)
    g_h, g_c = contiguous(copy(g_h_n)), contiguous(copy(g_c_n))
    for rows, n in steps(batch_sizes, not reverse):
        of_step = (gates[rows], cells[rows], cells_before[rows], g_h, g_output[rows], g_c)
        _launch("lstm_cell_grad", n, size, x, (*of_step, g_gates[rows]))
        product(g_gates[rows], weight_hh, out=g_h[:n])
    before = one_step_before(output, h0, batch_sizes, reverse)
    g_x, *parameters = _gradients(g_gates, g_gates, x, before, weight_ih, bias_ih, needs[0])
    return (g_x, g_h, g_c, *parameters, None)


@widened
def gru_layer(x, h0, weight_ih, weight_hh, bias_ih, bias_hh, batch_sizes, reverse):
    B, size = _backend(), h0.shape[1]
    gates = contiguous(linear(x, weight_ih, bias_ih))
    h = contiguous(copy(h0))
    output, candidates = (empty((len(x), size), x.dtype, x) for _ in range(2))
    hidden = empty((len(h0), 3 * size), x.dtype, x)
    for rows, n in steps(batch_sizes, reverse):
        product(h[:n], weight_hh.T, out=hidden[:n])
        if bias_hh is not None:
            B.add_(hidden[:n], bias_hh)
        of_step = (gates[rows], hidden, candidates[rows], h, output[rows])
        _launch("gru_cell", n, size, x, of_step)
    return output, h, gates, candidates


@widened
def gru_layer_grad(
    g_output, g_h_n, x, h0, weight_ih, weight_hh, bias_ih, bias_hh, output, gates, candidates,
    batch_sizes, reverse, needs,
):  # fmt: skip
    size = h0.shape[1]
    g_output, gates, candidates = (contiguous(a) for a in (g_output, gates, candidates))
    before = one_step_before(output, h0, batch_sizes, reverse)
    g_gates, g_hidden = (empty(gates.shape, gates.dtype, gates) for _ in range(2))
    g_h = contiguous(copy(g_h_n))
    for rows, n in steps(batch_sizes, not reverse):
        of_step = (gates[rows], candidates[rows], before[rows], g_output[rows], g_h)
        _launch("gru_cell_grad", n, size, x, (*of_step, g_gates[rows], g_hidden[rows]))
        product(g_hidden[rows], weight_hh, 1.0, 1.0, g_h[:n])
    g_x, *parameters = _gradients(g_gates, g_hidden, x, before, weight_ih, bias_ih, needs[0])
    return (g_x, g_h, *parameters)
