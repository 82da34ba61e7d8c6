"""Translations of recurrent layers."""

from __future__ import annotations

from typing import Any

from nnkit.onnx.writer import Meta, Value, Writer, refuse, translates

_GATES = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2)}  # where ONNX's gates are among PyTorch's


def _recurrent(kind: str) -> Any:
    def translate(
        w: Writer, meta: Meta, input: Value, hx: Any, params: list[Value], has_biases: bool,
        num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool,
    ) -> list[Value]:  # fmt: skip
        states = list(hx) if isinstance(hx, (tuple, list)) else [hx]
        directions = 2 if bidirectional else 1
        per_layer = (4 if has_biases else 2) * directions
        if len(params) != per_layer * num_layers or input.ndim != 3:
            raise refuse("a recurrent layer with projections, or without a batch")
        x = w.call("Transpose", input, perm=[1, 0, 2]) if batch_first else input
        last: list[list[Value]] = [[] for _ in states]
        for layer in range(num_layers):
            mine = params[layer * per_layer : (layer + 1) * per_layer]
            inputs = _weights(w, kind, mine, directions, has_biases)
            begin = w.ints([layer * directions]), w.ints([(layer + 1) * directions])
            starts = [w.call("Slice", state, *begin) for state in states]
            hidden = mine[1].shape[1]
            found = w.calls(
                kind, 1 + len(states), x, *inputs, None, *starts, hidden_size=hidden,
                direction="bidirectional" if bidirectional else "forward",
                linear_before_reset=1 if kind == "GRU" else None,
            )  # fmt: skip
            turned = w.call("Transpose", found[0], perm=[0, 2, 1, 3])
            x = w.call("Reshape", turned, w.ints([0, 0, -1]))
            for place, state in enumerate(found[1:]):
                last[place].append(state)
        if batch_first:
            x = w.call("Transpose", x, perm=[1, 0, 2])
        x.shape = input.shape
        ends = [w.call("Concat", *parts, axis=0) for parts in last]
        for end in ends:
            end.shape = (1, 1, 1)
        return [x, *ends]

    return translate


def _weights(
    w: Writer, kind: str, params: list[Value], directions: int, has_biases: bool
) -> list[Value | None]:
    """The matrices and the bias of a layer, of all directions, with the gates in ONNX's order."""
    found: list[Value | None] = []
    count = 4 if has_biases else 2
    each = [params[count * i : count * (i + 1)] for i in range(directions)]
    one = w.ints([0])
    for place in range(2):
        parts = [w.call("Unsqueeze", _gates(w, kind, own[place]), one) for own in each]
        found.append(w.call("Concat", *parts, axis=0))
    if not has_biases:
        return [*found, None]
    parts = [
        w.call("Concat", _gates(w, kind, own[2]), _gates(w, kind, own[3]), axis=0) for own in each
    ]
    found.append(w.call("Concat", *[w.call("Unsqueeze", p, one) for p in parts], axis=0))
    return found


def _gates(w: Writer, kind: str, value: Value) -> Value:
    order = _GATES[kind]
    size = value.shape[0] // len(order)
    parts = w.calls("Split", len(order), value, w.ints([size] * len(order)), axis=0)
    return w.call("Concat", *[parts[i] for i in order], axis=0)


translates("lstm")(_recurrent("LSTM"))
translates("gru")(_recurrent("GRU"))
