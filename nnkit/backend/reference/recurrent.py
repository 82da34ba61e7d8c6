"""The recurrent layers over the algebra: one layer in one direction over all time steps.

Sequences are packed: the rows of all time steps stand one below the other, ``batch_sizes[t]`` of
them for step ``t``. Sequences are sorted by falling length, so a step's rows belong to the first
ones of the batch; with ``reverse`` they are read from their ends.

The gradients run the layer once more instead of reading what it saved: so they can be
differentiated with respect to its inputs alone.
"""

from __future__ import annotations

from collections.abc import Callable

from nnkit.backend.reference.linalg import linear


def scan(B, step: Callable, states: tuple, batch_sizes: tuple, backwards: bool) -> tuple:
    """Call ``step(t, *states) -> states`` for each ``t`` and return the last states.

    Going forward, rows of the states leave when their sequence ends; going backwards they join.
    """
    order = range(len(batch_sizes))
    order = order[::-1] if backwards else order
    rows = batch_sizes[order[0]]
    current = [B.getitem(s, (slice(0, rows),)) for s in states]
    ended: list[list] = [[] for _ in states]
    for t in order:
        n = batch_sizes[t]
        if n > rows:
            current = [
                B.concat((s, B.getitem(first, (slice(rows, n),))), 0)
                for s, first in zip(current, states, strict=True)
            ]
        elif n < rows:
            for s, done in zip(current, ended, strict=True):
                done.append(B.getitem(s, (slice(n, rows),)))
            current = [B.getitem(s, (slice(0, n),)) for s in current]
        rows = n
        current = step(t, *current)
    return tuple(
        B.concat((s, *done[::-1]), 0) if done else s for s, done in zip(current, ended, strict=True)
    )


def _stack_steps(B, pieces: dict) -> tuple:
    """The pieces of all steps, in the order of time, one below the other."""
    return B.concat([pieces[t] for t in sorted(pieces)], 0)


def _before(B, values, first, batch_sizes, reverse):
    """Each row of ``values`` one step earlier; ``first`` stands before the first step."""
    pieces = B.split(values, batch_sizes, 0)
    earlier = {}

    def shift(t, last):
        earlier[t] = last
        return (pieces[t],)

    scan(B, shift, (first,), batch_sizes, reverse)
    return _stack_steps(B, earlier)


def parameter_gradients(B, g_inner, g_hidden, x, before, bias):
    """The gradients of weight_ih, weight_hh, bias_ih and bias_hh, from those of the projections."""
    weights = B.matmul(B.mT(g_inner), x), B.matmul(B.mT(g_hidden), before)
    if bias is None:
        return (*weights, None, None)
    return (*weights, B.sum(g_inner, 0, False), B.sum(g_hidden, 0, False))


def rnn_layer(B, x, h0, weight_ih, weight_hh, bias_ih, bias_hh, nonlinearity, batch_sizes, reverse):
    inner = B.split(linear(B, x, weight_ih, bias_ih), batch_sizes, 0)
    activation = getattr(B, nonlinearity)
    outputs = {}

    def step(t, h):
        h = outputs[t] = activation(B.add(inner[t], linear(B, h, weight_hh, bias_hh)))
        return (h,)

    (h_n,) = scan(B, step, (h0,), batch_sizes, reverse)
    return _stack_steps(B, outputs), h_n


def rnn_layer_grad(
    B, g_output, g_h_n, x, h0, weight_ih, weight_hh, bias_ih, bias_hh, output,
    nonlinearity, batch_sizes, reverse, needs,
):  # fmt: skip
    output, _ = rnn_layer(
        B, x, h0, weight_ih, weight_hh, bias_ih, bias_hh, nonlinearity, batch_sizes, reverse
    )
    g_outputs = B.split(g_output, batch_sizes, 0)
    outputs = B.split(output, batch_sizes, 0)
    activation_grad = getattr(B, nonlinearity + "_grad_x")
    g_inner = {}

    def step(t, g_h):
        g = g_inner[t] = activation_grad(B.add(g_h, g_outputs[t]), outputs[t])
        return (B.matmul(g, weight_hh),)

    (g_h0,) = scan(B, step, (g_h_n,), batch_sizes, not reverse)
    g = _stack_steps(B, g_inner)
    before = _before(B, output, h0, batch_sizes, reverse)
    return (B.matmul(g, weight_ih), g_h0, *parameter_gradients(B, g, g, x, before, bias_ih))


def lstm_layer(
    B, x, h0, c0, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr, batch_sizes, reverse
):
    inner = B.split(linear(B, x, weight_ih, bias_ih), batch_sizes, 0)
    widths = (c0.shape[1],) * 4
    outputs, gates, cells = {}, {}, {}

    def step(t, h, c):
        before_activation = B.add(inner[t], linear(B, h, weight_hh, bias_hh))
        i, f, g, o = B.split(before_activation, widths, 1)
        i, f, g, o = B.sigmoid(i), B.sigmoid(f), B.tanh(g), B.sigmoid(o)
        c = B.add(B.mul(f, c), B.mul(i, g))
        h = B.mul(o, B.tanh(c))
        if weight_hr is not None:
            h = B.matmul(h, B.mT(weight_hr))
        outputs[t], gates[t], cells[t] = h, B.concat((i, f, g, o), 1), c
        return h, c

    h_n, c_n = scan(B, step, (h0, c0), batch_sizes, reverse)
    return _stack_steps(B, outputs), h_n, c_n, _stack_steps(B, gates), _stack_steps(B, cells)


def lstm_layer_grad(
    B, g_output, g_h_n, g_c_n, x, h0, c0, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr,
    output, gates, cells, batch_sizes, reverse, needs,
):  # fmt: skip
    output, _, _, gates, cells = lstm_layer(
        B, x, h0, c0, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr, batch_sizes, reverse
    )
    widths = (c0.shape[1],) * 4
    g_outputs, gates, tanh_cells, c_before = (
        B.split(rows, batch_sizes, 0)
        for rows in (g_output, gates, B.tanh(cells), _before(B, cells, c0, batch_sizes, reverse))
    )
    g_gates, g_hidden, hidden = {}, {}, {}

    def step(t, g_h, g_c):
        i, f, g, o = B.split(gates[t], widths, 1)
        tanh_c = tanh_cells[t]
        g_h = B.add(g_h, g_outputs[t])
        if weight_hr is not None:
            g_hidden[t], hidden[t] = g_h, B.mul(o, tanh_c)
            g_h = B.matmul(g_h, weight_hr)
        g_c = B.add(g_c, B.tanh_grad_x(B.mul(g_h, o), tanh_c))
        g_gates[t] = B.concat(
            (
                B.sigmoid_grad_x(B.mul(g_c, g), i),
                B.sigmoid_grad_x(B.mul(g_c, c_before[t]), f),
                B.tanh_grad_x(B.mul(g_c, i), g),
                B.sigmoid_grad_x(B.mul(g_h, tanh_c), o),
            ),
            1,
        )
        return B.matmul(g_gates[t], weight_hh), B.mul(g_c, f)

    g_h0, g_c0 = scan(B, step, (g_h_n, g_c_n), batch_sizes, not reverse)
    g = _stack_steps(B, g_gates)
    before = _before(B, output, h0, batch_sizes, reverse)
    g_weight_hr = None
    if weight_hr is not None:
        g_weight_hr = B.matmul(B.mT(_stack_steps(B, g_hidden)), _stack_steps(B, hidden))
    parameters = parameter_gradients(B, g, g, x, before, bias_ih)
    return (B.matmul(g, weight_ih), g_h0, g_c0, *parameters, g_weight_hr)


def gru_layer(B, x, h0, weight_ih, weight_hh, bias_ih, bias_hh, batch_sizes, reverse):
    inner = B.split(linear(B, x, weight_ih, bias_ih), batch_sizes, 0)
    widths = (h0.shape[1],) * 3
    outputs, gates, candidates = {}, {}, {}

    def step(t, h):
        r, z, n = B.split(inner[t], widths, 1)
        hidden_r, hidden_z, hidden_n = B.split(linear(B, h, weight_hh, bias_hh), widths, 1)
        r, z = B.sigmoid(B.add(r, hidden_r)), B.sigmoid(B.add(z, hidden_z))
        n = B.tanh(B.add(n, B.mul(r, hidden_n)))
        h = outputs[t] = B.add(n, B.mul(z, B.sub(h, n)))
        gates[t], candidates[t] = B.concat((r, z, n), 1), hidden_n
        return (h,)

    (h_n,) = scan(B, step, (h0,), batch_sizes, reverse)
    return _stack_steps(B, outputs), h_n, _stack_steps(B, gates), _stack_steps(B, candidates)


def gru_layer_grad(
    B, g_output, g_h_n, x, h0, weight_ih, weight_hh, bias_ih, bias_hh, output, gates, candidates,
    batch_sizes, reverse, needs,
):  # fmt: skip
    output, _, gates, candidates = gru_layer(
        B, x, h0, weight_ih, weight_hh, bias_ih, bias_hh, batch_sizes, reverse
    )
    widths = (h0.shape[1],) * 3
    before = _before(B, output, h0, batch_sizes, reverse)
    g_outputs, gates, candidates, h_before = (
        B.split(rows, batch_sizes, 0) for rows in (g_output, gates, candidates, before)
    )
    g_inner, g_hidden = {}, {}

    def step(t, g_h):
        r, z, n = B.split(gates[t], widths, 1)
        g_h = B.add(g_h, g_outputs[t])
        g_n = B.tanh_grad_x(B.sub(g_h, B.mul(g_h, z)), n)
        g_z = B.sigmoid_grad_x(B.mul(g_h, B.sub(h_before[t], n)), z)
        g_r = B.sigmoid_grad_x(B.mul(g_n, candidates[t]), r)
        g_inner[t] = B.concat((g_r, g_z, g_n), 1)
        g_hidden[t] = B.concat((g_r, g_z, B.mul(g_n, r)), 1)
        return (B.add(B.mul(g_h, z), B.matmul(g_hidden[t], weight_hh)),)

    (g_h0,) = scan(B, step, (g_h_n,), batch_sizes, not reverse)
    g, g_h = _stack_steps(B, g_inner), _stack_steps(B, g_hidden)
    return (B.matmul(g, weight_ih), g_h0, *parameter_gradients(B, g, g_h, x, before, bias_ih))
