"""Recurrent layers, one direction over all time steps; `reference.recurrent` says what they are.

What does not depend on the previous step is done for all steps at once: the projection of the
input, the factors of the gradients, the gradients of the parameters. The state lives in a buffer
of full batch size, of which a step uses the first rows: rows whose sequence has ended, or has not
begun, just stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nnkit.backend.cpu.half import widened

Array = np.ndarray
_add, _multiply, _matmul, _tanh = np.add, np.multiply, np.matmul, np.tanh


def steps(batch_sizes: tuple[int, ...], backwards: bool) -> Iterator[tuple[slice, int]]:
    """The packed rows of each step and how many they are, in the order of computation."""
    ends = np.cumsum(batch_sizes).tolist()
    pairs = [(slice(end - n, end), n) for end, n in zip(ends, batch_sizes)]
    return reversed(pairs) if backwards else iter(pairs)


def one_step_before(
    values: Array, first: Array, batch_sizes: tuple[int, ...], reverse: bool
) -> Array:
    """Each row of ``values`` one step earlier; ``first`` stands before the first step.

    CuPy's arrays serve as well.
    """
    result = np.empty_like(values)
    n = batch_sizes[0]
    if n == batch_sizes[-1]:
        if reverse:
            result[:-n], result[-n:] = values[n:], first
        else:
            result[n:], result[:n] = values[:-n], first
        return result
    state = first.copy()
    for rows, n in steps(batch_sizes, reverse):
        result[rows] = state[:n]
        state[:n] = values[rows]
    return result


def _project(x: Array, weight: Array, *biases: Array | None) -> Array:
    projected = _matmul(x, weight.T)
    for bias in biases:
        if bias is not None:
            projected += bias
    return projected


def _sigmoid_slope(y: Array) -> Array:
    return y * (1 - y)


def _tanh_slope(y: Array) -> Array:
    return 1 - y * y


def _parameter_gradients(g, g_hidden, x, before, weight_ih, bias, needs):
    """The gradients of x, weight_ih, weight_hh, bias_ih and bias_hh, where ``needs`` says so."""
    needs_x, *needs_weights = needs
    biased = bias is not None
    return (
        _matmul(g, weight_ih) if needs_x else None,
        _matmul(g.T, x) if needs_weights[0] else None,
        _matmul(g_hidden.T, before) if needs_weights[1] else None,
        g.sum(0) if biased and needs_weights[2] else None,
        g_hidden.sum(0) if biased and needs_weights[3] else None,
    )


@widened
def rnn_layer(x, h0, weight_ih, weight_hh, bias_ih, bias_hh, nonlinearity, batch_sizes, reverse):
    output = _project(x, weight_ih, bias_ih, bias_hh)
    h, w, scratch = h0.copy(), weight_hh.T, np.empty_like(h0)
    for rows, n in steps(batch_sizes, reverse):
        a = output[rows]
        a += _matmul(h[:n], w, scratch[:n])
        if nonlinearity == "tanh":
            _tanh(a, a)
        else:
            np.maximum(a, 0, out=a)
        h[:n] = a
    return output, h


@widened
def rnn_layer_grad(
    g_output, g_h_n, x, h0, weight_ih, weight_hh, bias_ih, bias_hh, output,
    nonlinearity, batch_sizes, reverse, needs,
):  # fmt: skip
    g = _tanh_slope(output) if nonlinearity == "tanh" else (output > 0).astype(output.dtype)
    g_h = g_h_n.copy()
    for rows, n in steps(batch_sizes, not reverse):
        state, a = g_h[:n], g[rows]
        state += g_output[rows]
        a *= state
        _matmul(a, weight_hh, state)
    before = one_step_before(output, h0, batch_sizes, reverse)
    needs = (needs[0], *needs[2:])
    g_x, *parameters = _parameter_gradients(g, g, x, before, weight_ih, bias_ih, needs)
    return (g_x, g_h, *parameters)


@widened
def lstm_layer(x, h0, c0, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr, batch_sizes, reverse):
    size = c0.shape[1]
    gates = _project(x, weight_ih, bias_ih, bias_hh)
    # sigmoid(x) = (tanh(x / 2) + 1) / 2, so one call of tanh serves all four gates.
    scale = np.full(4 * size, 0.5, x.dtype)
    scale[2 * size : 3 * size] = 1
    shift = 1 - scale
    h, c, w = h0.copy(), c0.copy(), weight_hh.T
    output = np.empty((len(x), h.shape[1]), x.dtype)
    cells = np.empty((len(x), size), x.dtype)
    hidden, scratch = np.empty_like(c0), np.empty((len(h0), 4 * size), x.dtype)
    for rows, n in steps(batch_sizes, reverse):
        a, new, tanh_c, h_now = gates[rows], cells[rows], hidden[:n], output[rows]
        a += _matmul(h[:n], w, scratch[:n])
        a *= scale
        _tanh(a, a)
        a *= scale
        a += shift
        _multiply(a[:, size : 2 * size], c[:n], new)
        _multiply(a[:, :size], a[:, 2 * size : 3 * size], tanh_c)
        new += tanh_c
        _tanh(new, tanh_c)
        if weight_hr is None:
            _multiply(a[:, 3 * size :], tanh_c, h_now)
        else:
            tanh_c *= a[:, 3 * size :]
            _matmul(tanh_c, weight_hr.T, h_now)
        c[:n] = new
        h[:n] = h_now
    return output, h, c, gates, cells


@widened
def lstm_layer_grad(
    g_output, g_h_n, g_c_n, x, h0, c0, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr,
    output, gates, cells, batch_sizes, reverse, needs,
):  # fmt: skip
    i, f, g, o = gates.reshape(len(x), 4, c0.shape[1]).swapaxes(0, 1)
    tanh_c = _tanh(cells)
    # The factors of g_c (for i, f, g) and of g_h (for o): the loop turns these factors
    # into the gradients of the gates.
    g_gates = np.empty((len(x), 4, c0.shape[1]), x.dtype)
    _multiply(_sigmoid_slope(i), g, g_gates[:, 0])
    _multiply(_sigmoid_slope(f), one_step_before(cells, c0, batch_sizes, reverse), g_gates[:, 1])
    _multiply(_tanh_slope(g), i, g_gates[:, 2])
    _multiply(_sigmoid_slope(o), tanh_c, g_gates[:, 3])
    through_tanh = _tanh_slope(tanh_c)
    through_tanh *= o
    flat = g_gates.reshape(gates.shape)
    g_h, g_c = g_h_n.copy(), g_c_n.copy()
    projected = np.empty_like(output) if weight_hr is not None else output
    scratch = np.empty_like(c0)
    for rows, n in steps(batch_sizes, not reverse):
        g_state, g_cell, a = g_h[:n], g_c[:n], g_gates[rows]
        g_state += g_output[rows]
        g_hidden = g_state
        if weight_hr is not None:
            projected[rows] = g_state
            g_hidden = _matmul(g_state, weight_hr)
        g_cell += _multiply(g_hidden, through_tanh[rows], scratch[:n])
        a[:, :3] *= g_cell[:, None]
        a[:, 3] *= g_hidden
        _matmul(flat[rows], weight_hh, g_state)
        g_cell *= f[rows]
    before = one_step_before(output, h0, batch_sizes, reverse)
    needs_parameters = (needs[0], *needs[3:])
    g_x, *parameters = _parameter_gradients(
        flat, flat, x, before, weight_ih, bias_ih, needs_parameters
    )
    g_weight_hr = None if weight_hr is None else _matmul(projected.T, o * tanh_c)
    return (g_x, g_h, g_c, *parameters, g_weight_hr)


@widened
def gru_layer(x, h0, weight_ih, weight_hh, bias_ih, bias_hh, batch_sizes, reverse):
    size = h0.shape[1]
    gates = _project(x, weight_ih, bias_ih)
    h, w = h0.copy(), weight_hh.T
    output = np.empty((len(x), size), x.dtype)
    candidates = np.empty_like(output)
    hidden = np.empty((len(h0), 3 * size), x.dtype)
    for rows, n in steps(batch_sizes, reverse):
        a, b, candidate, h_now, state = (
            gates[rows], hidden[:n], candidates[rows], output[rows], h[:n],
        )  # fmt: skip
        _matmul(state, w, b)
        if bias_hh is not None:
            b += bias_hh
        # sigmoid(x) = (tanh(x / 2) + 1) / 2
        r_z, new = a[:, : 2 * size], a[:, 2 * size :]
        r_z += b[:, : 2 * size]
        r_z *= 0.5
        _tanh(r_z, r_z)
        r_z += 1
        r_z *= 0.5
        candidate[:] = b[:, 2 * size :]
        new += _multiply(a[:, :size], candidate, h_now)
        _tanh(new, new)
        np.subtract(state, new, h_now)
        h_now *= a[:, size : 2 * size]
        h_now += new
        state[:] = h_now
    return output, h, gates, candidates


@widened
def gru_layer_grad(
    g_output, g_h_n, x, h0, weight_ih, weight_hh, bias_ih, bias_hh, output, gates, candidates,
    batch_sizes, reverse, needs,
):  # fmt: skip
    r, z, n = gates.reshape(len(x), 3, h0.shape[1]).swapaxes(0, 1)
    before = one_step_before(output, h0, batch_sizes, reverse)
    # The factors of g_h; the loop turns these factors into the gradients of what is
    # computed from h. Those of what is computed from x differ in their last third, by the factor r.
    g_hidden = np.empty((len(x), 3, h0.shape[1]), x.dtype)
    through_new = _tanh_slope(n)
    through_new *= 1 - z
    _multiply(through_new, r, g_hidden[:, 2])
    _multiply(before - n, _sigmoid_slope(z), g_hidden[:, 1])
    _multiply(through_new, candidates, g_hidden[:, 0])
    g_hidden[:, 0] *= _sigmoid_slope(r)
    flat = g_hidden.reshape(gates.shape)
    g_h = g_h_n.copy()
    for rows, count in steps(batch_sizes, not reverse):
        state, a = g_h[:count], g_hidden[rows]
        state += g_output[rows]
        a *= state[:, None]
        through_new[rows] *= state
        state *= z[rows]
        state += _matmul(flat[rows], weight_hh)
    g_inner = np.concatenate((flat[:, : 2 * h0.shape[1]], through_new), 1)
    needs = (needs[0], *needs[2:])
    g_x, *parameters = _parameter_gradients(g_inner, flat, x, before, weight_ih, bias_ih, needs)
    return (g_x, g_h, *parameters)
