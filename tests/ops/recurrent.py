"""Rows of the recurrent networks and their cells."""

from __future__ import annotations

import numpy as np

from tests.harness.row import Maker, OpRow, Raises, Sample

INPUT, BATCH = 2, 2
DTYPES = ("float32", "float64")
ONE_LAYER = (True, 1, 0.0, False, False, False)


def parameters(
    make: Maker, gates: int, hidden: int = 2, layers: int = 1, directions: int = 1,
    bias: bool = True, proj: int = 0,
) -> list[np.ndarray]:  # fmt: skip
    """The weights of all layers, in torch's order."""
    rows, output = gates * hidden, proj or hidden
    result = []
    for layer in range(layers):
        for _ in range(directions):
            result.append(make(rows, output * directions if layer else INPUT))
            result.append(make(rows, output))
            result += [make(rows), make(rows)] if bias else []
            result += [make(proj, hidden)] if proj else []
    return result


def network(name: str, gates: int) -> OpRow:
    lstm = name == "lstm"

    def states(make: Maker, count: int, batch: int = BATCH, hidden: int = 2, proj: int = 0):
        h = make(count, batch, proj or hidden)
        return [h, make(count, batch, hidden)] if lstm else h

    def samples(make: Maker) -> list[Sample]:
        x = make(2, BATCH, INPUT)
        # Second derivatives, which are checked in float64, take time with the square of the size.
        hidden = 1 if gates > 1 and make.dtype == "float64" else 2
        found = [
            Sample(x, states(make, 1, hidden=hidden), parameters(make, gates, hidden), *ONE_LAYER),
            Sample(
                make(1, 3, INPUT), states(make, 4, 1, 1),
                parameters(make, gates, 1, 2, 2, bias=False), False, 2, 0.5, False, True, True,
            ),
            Sample(
                x, states(make, 2, hidden=1), parameters(make, gates, 1, 2),
                True, 2, 0.5, True, False, False,
            ),
            Sample(
                make(4, INPUT), np.array([2, 1, 1]), states(make, 2, 2, 1),
                parameters(make, gates, 1, 1, 2), True, 1, 0.0, False, True,
            ),
        ]  # fmt: skip
        if lstm:
            projected = parameters(make, gates, proj=1)
            found.append(Sample(x[:, :1], states(make, 1, 1, proj=1), projected, *ONE_LAYER))
        return found[:1] + found[3:] if make.dtype == "float64" else found

    def edges(make: Maker) -> list[Sample]:
        return [Sample(make(2, 0, INPUT), states(make, 1, 0), parameters(make, gates), *ONE_LAYER)]

    def errors(make: Maker) -> list[Raises]:
        params, x = parameters(make, gates), make(3, BATCH, INPUT)
        return [
            Raises(RuntimeError, "sequence length", x[:0], states(make, 1), params, *ONE_LAYER),
            Raises(RuntimeError, "params", x, states(make, 1), params[:3], *ONE_LAYER),
        ]

    return OpRow(name, samples, dtypes=DTYPES, edges=edges, errors=errors)


def cell(name: str, gates: int) -> OpRow:
    def states(make: Maker, batch: int = BATCH):
        if name == "lstm_cell":
            return [make(batch, 2), make(batch, 2)]
        return make(batch, 2)

    def samples(make: Maker) -> list[Sample]:
        x = make(BATCH, INPUT)
        return [
            Sample(x, states(make), *parameters(make, gates)),
            Sample(x, states(make), *parameters(make, gates, bias=False)),
        ]

    def errors(make: Maker) -> list[Raises]:
        weights = parameters(make, gates)
        return [
            Raises(RuntimeError, "hidden0", make(BATCH + 1, INPUT), states(make), *weights),
            Raises(RuntimeError, "input_size", make(BATCH, INPUT + 1), states(make), *weights),
        ]

    def edges(make: Maker) -> list[Sample]:
        return [Sample(make(0, INPUT), states(make, 0), *parameters(make, gates))]

    again = "torch's is made of others, each with a node" if name == "rnn_relu_cell" else ""
    return OpRow(name, samples, dtypes=DTYPES, edges=edges, errors=errors, again=again)


ROWS = [
    maker(name + suffix, gates)
    for name, gates in (("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1))
    for maker, suffix in ((network, ""), (cell, "_cell"))
]
