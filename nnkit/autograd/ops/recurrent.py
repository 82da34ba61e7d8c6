"""Recurrent networks: whole layers over all time steps, and single steps.

Everything below the public functions works on packed sequences, of which a batch of sequences of
one length is a special case: the same number of rows for each step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nnkit.autograd.arguments.annotations import held
from nnkit.autograd.arguments.dims import check_tensors, size_at
from nnkit.autograd.op.promotion import cast_inside, check_defined
from nnkit.autograd.op.public import public
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.op.rule import rule
from nnkit.autograd.ops.dropout import dropout as drop
from nnkit.autograd.tensor import Tensor
from nnkit.autograd.views.counters import without_base
from nnkit.backend.dtype import COMPLEX, FLOATING, int64, promote_types


def _named(step: str) -> Callable[[Any, Any], str]:
    """The node of a layer's output: that of its one step, in which ``{}`` stands for the first of
    the statics, or of all of them side by side."""

    def name(operands: Any, statics: Any) -> str:
        if len(statics[-2]) > 1:
            return "CatBackward0"
        return f"{step.format(str(statics[0]).title())}Backward0"

    return name


_rnn_layer = rule(
    "rnn_layer",
    node=_named("{}"), alone="composed",
    private=("bias_ih", "bias_hh", "output"),
    joint=lambda B, g_output, g_h_n, x, h0, weight_ih, weight_hh, bias_ih, bias_hh, output,
    nonlinearity, batch_sizes, reverse, needs: B.rnn_layer_grad(
        g_output, g_h_n, x, h0, weight_ih, weight_hh, bias_ih, bias_hh, output,
        nonlinearity, batch_sizes, reverse, needs,
    ),
)
_lstm_layer = rule(
    "lstm_layer", node=_named("Mul"), alone="composed",
    nondifferentiable=("gates", "cells"), private=("bias_ih", "bias_hh", "output"),
    joint=lambda B, g_output, g_h_n, g_c_n, x, h0, c0, weight_ih, weight_hh, bias_ih, bias_hh,
    weight_hr, output, gates, cells, batch_sizes, reverse, needs: B.lstm_layer_grad(
        g_output, g_h_n, g_c_n, x, h0, c0, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr,
        output, gates, cells, batch_sizes, reverse, needs,
    ),
)
_gru_layer = rule(
    "gru_layer", node=_named("Add"), alone="composed",
    nondifferentiable=("gates", "candidates"), private=("bias_ih", "bias_hh", "output"),
    joint=lambda B, g_output, g_h_n, x, h0, weight_ih, weight_hh, bias_ih, bias_hh, output, gates,
    candidates, batch_sizes, reverse, needs: B.gru_layer_grad(
        g_output, g_h_n, x, h0, weight_ih, weight_hh, bias_ih, bias_hh, output, gates, candidates,
        batch_sizes, reverse, needs,
    ),
)


GATES = {"rnn_tanh": 1, "rnn_relu": 1, "gru": 3, "lstm": 4}


def _layer(
    kind: str, x: Tensor, states: Sequence[Tensor], weights: Sequence[Tensor | None],
    batch_sizes: tuple[int, ...], reverse: bool,
) -> tuple[Tensor, Sequence[Tensor]]:
    """One direction of one layer: the output of all steps and the last states."""
    if kind == "lstm":
        output, h_n, c_n, _, _ = _lstm_layer(x, *states, *weights, batch_sizes, reverse)
        return output, (h_n, c_n)
    if kind == "gru":
        output, h_n, _, _ = _gru_layer(x, *states, *weights[:4], batch_sizes, reverse)
    else:
        output, h_n = _rnn_layer(x, *states, *weights[:4], kind[4:], batch_sizes, reverse)
    return output, (h_n,)


def _checked(
    kind: str, name: str, x: Tensor, states: Sequence[Tensor], weights: Sequence[Tensor | None]
) -> list[Tensor | None]:
    """The weights of one layer, with biases of their full size.

    Raises:
        RuntimeError: sizes or dtypes do not fit each other.
    """
    weight_ih, weight_hh, *biases, weight_hr = weights
    assert weight_ih is not None and weight_hh is not None
    if weight_ih.ndim != 2 or weight_hh.ndim != 2:
        raise RuntimeError(
            f"{name}(): expected w_ih and w_hh of 2 dimensions, "
            f"got shapes {list(weight_ih.shape)} and {list(weight_hh.shape)}"
        )
    _check_input_size(name, x.shape[-1], weight_ih.shape[1])
    rows = weight_hh.shape[0]
    for number, state in enumerate(states):
        size = rows // GATES[kind] if number else weight_hh.shape[1]
        _check_hidden_size(name, number, state.shape[-1], size)
    hidden = weight_hh.shape[1] if weight_hr is None else rows // GATES[kind]
    _check_rows(name, GATES[kind], hidden, weight_ih.shape[0], rows)
    names = ("hx", "cx")[: len(states)] + ("w_ih", "w_hh", "b_ih", "b_hh", "w_hr")
    given = list(zip(names, (*states, *weights)))
    # As torch, which multiplies the hidden state by its weight first in a cell, but for a GRU's.
    factors = [("w_ih", x, weight_ih), ("w_hh", states[0], weight_hh)]
    if name not in GATES and kind != "gru":
        factors.reverse()
    for parameter, value, weight in factors:
        if value.dtype is not weight.dtype:
            raise RuntimeError(
                f"{name}(): expected argument '{parameter}' to have the dtype {value.dtype} of "
                f"what it multiplies, got {weight.dtype}"
            )
        check_defined(name, "linear", value)
    if kind == "rnn_relu" and x.dtype.category == COMPLEX:
        raise NotImplementedError(f"{name}(): not implemented for complex tensors")
    if kind != "rnn_relu" and x.dtype.category < FLOATING:
        raise RuntimeError(f"{name}(): expected floating point tensors, got {x.dtype}")
    for parameter, value in given:
        is_number = name in GATES and parameter == "b_ih" and value is not None and not value.ndim
        if value is not None and value.dtype is not x.dtype and not is_number:
            raise RuntimeError(
                f"{name}(): expected argument '{parameter}' to have the input's dtype {x.dtype}, "
                f"got {value.dtype}"
            )
    own = [None if b is None else _full_bias(name, cast_inside(b, x.dtype), rows) for b in biases]
    return [weight_ih, weight_hh, *own, weight_hr]


def _full_bias(name: str, bias: Tensor, rows: int) -> Tensor:
    """A bias as a vector of ``rows``, to which one number is repeated as in torch."""
    if bias._array.shape == (rows,):
        return bias
    if bias._array.size not in (1, rows) or bias.shape[-1:] not in ((), (1,), (rows,)):
        raise RuntimeError(
            f"{name}(): expected biases of shape [{rows}], got shape {list(bias.shape)}"
        )
    flat = OPS["reshape"](bias, (bias._array.size,))
    return flat if bias._array.size == rows else OPS["expand"](flat, (rows,))


def _weights_of_layers(
    kind: str, params: Sequence[Tensor], has_biases: bool, count: int
) -> list[list[Tensor | None]]:
    """``params`` cut into weight_ih, weight_hh, bias_ih, bias_hh, weight_hr of ``count`` layers."""
    each = len(params) // max(count, 1)
    biases = 2 if has_biases else 0
    weights = (2, 3) if kind == "lstm" else (2,)
    if count < 1 or each * count != len(params) or each - biases not in weights:
        raise RuntimeError(
            f"{kind}(): got {len(params)} params for {count} layers and directions "
            f"with has_biases={has_biases}"
        )
    layers = []
    for k in range(0, len(params), each):
        own: list[Tensor | None] = list(params[k : k + each])
        if not has_biases:
            own[2:2] = None, None
        layers.append(own if len(own) == 5 else [*own, None])
    return layers


def run(
    kind: str, x: Tensor, batch_sizes: tuple[int, ...], states: Sequence[Tensor],
    params: Sequence[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool,
    bidirectional: bool,
) -> tuple[Tensor, ...]:
    """All layers on packed rows: the output of the last one, and the last states, stacked."""
    directions = 2 if bidirectional else 1
    count = num_layers * directions
    weights = _weights_of_layers(kind, params, has_biases, count)
    first = [OPS["unbind"](s, 0) for s in states]
    if any(len(s) != count for s in first):
        raise RuntimeError(
            f"{kind}(): expected first states of {count} layers and directions, "
            f"got shapes {[list(s.shape) for s in states]}"
        )
    last: list[list[Tensor]] = [[] for _ in states]
    for k in range(0, count, directions):
        outputs = []
        for direction in range(directions):
            begin = [s[k + direction] for s in first]
            own = _checked(kind, kind, x, begin, weights[k + direction])
            output, end = _layer(kind, x, begin, own, batch_sizes, direction == 1)
            outputs.append(output)
            for collected, state in zip(last, end):
                collected.append(state)
        x = outputs[0] if directions == 1 else OPS["concat"](outputs, 1)
        if dropout and train and k + directions < count:
            x = drop(x, dropout, True)
    return x, *(OPS["stack"](s, 0) for s in last)


def _sequences(
    kind: str, input: Tensor, states: Sequence[Tensor], batch_first: bool, *options: Any
) -> tuple[Tensor, ...]:
    """`run` on sequences of one length, (T, N, size) or with ``batch_first`` (N, T, size)."""
    for state in states:
        size_at(kind, state, 0, "hx")
    if input.ndim != 3:
        raise RuntimeError(f"{kind}(): input must have 3 dimensions, got shape {list(input.shape)}")
    x = OPS["swapaxes"](input, 0, 1) if batch_first else input
    steps, batch, size = x.shape
    if not steps:
        raise RuntimeError(f"{kind}(): Expected sequence length to be larger than 0 in RNN")
    for state in states:
        if state.ndim != 3 or state.shape[1] != batch:
            raise RuntimeError(
                f"{kind}(): expected first states of {batch} sequences, "
                f"got shape {list(state.shape)}"
            )
    x, *last = run(
        kind, OPS["reshape"](x, (steps * batch, size)), (batch,) * steps, states, *options
    )
    output = without_base(OPS["reshape"](x, (steps, batch, x.shape[1])))
    if batch_first:
        output = OPS["swapaxes"](output, 0, 1)
        output = output if kind == "lstm" else without_base(output)
    return output, *last


def _network_forms(kind: str) -> tuple[Callable, Callable]:
    """torch's two forms of a network: on sequences of one length, and on packed ones."""

    def check(hx: Any, params: Any) -> Any:
        states = check_tensors(kind, hx if kind == "lstm" else (hx,), "hx")
        check_tensors(kind, params, "params")
        if kind == "lstm" and len(states) != 2:
            raise RuntimeError(f"lstm(): expected two states in argument 'hx', got {len(states)}")
        return states

    def on_sequences(
        input: Tensor, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float,
        train: bool, bidirectional: bool, batch_first: bool,
    ) -> tuple[Tensor, ...]:
        return _sequences(
            kind, input, check(hx, params), batch_first, params, has_biases, num_layers, dropout,
            train, bidirectional,
        )

    def on_packed(
        data: Tensor, batch_sizes: Tensor, hx: Any, params: Any, has_biases: bool, num_layers: int,
        dropout: float, train: bool, bidirectional: bool,
    ) -> tuple[Tensor, ...]:
        states = check(hx, params)
        if batch_sizes.dtype is not int64 or batch_sizes.ndim != 1:
            raise RuntimeError(
                f"{kind}(): expected argument 'batch_sizes' to be a vector of int64, got "
                f"{batch_sizes.dtype} of shape {list(batch_sizes.shape)}"
            )
        if not batch_sizes.numel():
            raise ValueError(f"{kind}(): expected argument 'batch_sizes' of at least one step")
        sizes = tuple(batch_sizes.tolist())
        rows = size_at(kind, data, 0, "data") if data.ndim else 0
        if data.ndim != 2 or sum(sizes) > rows or (kind == "lstm" and sum(sizes) < rows):
            raise RuntimeError(
                f"{kind}(): expected data of {sum(sizes)} rows, the sum of batch_sizes, got shape "
                f"{list(data.shape)}"
            )
        if any(after > before for before, after in zip(sizes, sizes[1:])) or min(sizes) < 0:
            raise RuntimeError(
                f"{kind}(): expected argument 'batch_sizes' to fall, and no negative ones, got "
                f"{list(sizes)}"
            )
        if any(state.ndim != 3 or state.shape[1] != sizes[0] for state in states):
            raise RuntimeError(
                f"{kind}(): expected first states of {sizes[0]} sequences, got shapes "
                f"{[list(state.shape) for state in states]}"
            )
        data = OPS["getitem"](data, (slice(sum(sizes)), ...)) if sum(sizes) < rows else data
        return run(
            kind, data, sizes, states, params, has_biases, num_layers, dropout, train,
            bidirectional,
        )

    return held(on_sequences, kind), held(on_packed, kind)


_FORMS = {kind: _network_forms(kind) for kind in GATES}


def _network(kind: str, arguments: tuple) -> tuple[Tensor, ...]:
    """Sort out the two forms: a second tensor is the batch sizes of packed sequences."""
    packed = isinstance(arguments[1 if kind == "lstm" else 2], Tensor)
    return _FORMS[kind][packed](*arguments)


def _check_input_size(name: str, size: int, expected: int) -> None:
    if size != expected:
        raise RuntimeError(
            f"{name}(): input has inconsistent input_size: got {size} expected {expected}"
        )


def _check_hidden_size(name: str, number: int, size: int, expected: int) -> None:
    if size != expected:
        raise RuntimeError(
            f"{name}(): hidden{number} has inconsistent hidden_size: got {size}, expected "
            f"{expected}"
        )


def _check_rows(name: str, gates: int, hidden: int, *rows: int) -> None:
    """RuntimeError where a weight, of the input or then of the state, has other rows than gates."""
    for parameter, count in zip(("weight_ih", "weight_hh"), rows):
        if count != gates * hidden:
            raise RuntimeError(
                f"{name}(): {parameter} first dim must be {gates} * hidden_size = "
                f"{gates * hidden}, but got {count}"
            )


def _cell(kind: str, input: Tensor, states: Sequence[Tensor], *weights: Any) -> Any:
    """The states after one step on a batch (N, input_size)."""
    name = f"{kind}_cell"
    states = check_tensors(name, states, "hx")
    if kind == "lstm" and len(states) != 2:
        raise RuntimeError(f"{name}(): expected two states in argument 'hx', got {len(states)}")
    if GATES[kind] == 1:  # torch counts the rows of these first
        hidden = size_at(name, weights[1], 1, "w_hh")
        rows = size_at(name, weights[0], 0, "w_ih"), size_at(name, weights[1], 0, "w_hh")
        _check_rows(name, 1, hidden, *rows)
    expected, size, hidden = [
        size_at(name, value, 1, parameter)
        for parameter, value in (("w_ih", weights[0]), ("input", input), ("w_hh", weights[1]))
    ]
    _check_input_size(name, size, expected)
    if kind == "lstm":
        _check_rows(name, GATES[kind], hidden, weights[0].shape[0])
    for number, state in enumerate(states):
        batch = size_at(name, state, 0, "hx")
        if batch != input._array.shape[0]:
            raise RuntimeError(
                f"{name}(): Input batch size {input.shape[0]} doesn't match hidden{number} batch "
                f"size {batch}"
            )
        _check_hidden_size(name, number, size_at(name, state, 1, "hx"), hidden)
        if state.ndim != 2 or input.ndim != 2:
            raise RuntimeError(
                f"{name}(): input of shape {list(input.shape)} doesn't match hidden{number} "
                f"of shape {list(state.shape)}: expected (N, input_size) and (N, hidden_size)"
            )
    if kind == "lstm" and promote_types(states[1].dtype, input.dtype) is input.dtype:
        states = (states[0], cast_inside(states[1], input.dtype))
    own = _checked(kind, name, input, states, (*weights, None))
    return _layer(kind, input, states, own, (input.shape[0],), False)[1]


@public(method=False)
def lstm(
    input: Tensor, hx: Any, params: Any, has_biases: Any, num_layers: Any, dropout: Any,
    train: Any, bidirectional: Any, batch_first: Any,
) -> tuple[Tensor, Tensor, Tensor]:
    """Layers of long short-term memory over whole sequences; `nnkit.nn.LSTM` is the layer.

    ::

        i, f, g, o = W_ih x + b_ih + W_hh h + b_hh
        c = sigmoid(f) c + sigmoid(i) tanh(g)
        h = sigmoid(o) tanh(c)

    Also called as ``lstm(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train,
    bidirectional)`` for packed sequences. Hochreiter and Schmidhuber, "Long short-term memory",
    1997.

    Args:
        input: (T, N, input_size), or (N, T, input_size) with ``batch_first``.
        hx: the first states h and c, each (num_layers * directions, N, size).
        params: for each layer and direction ``weight_ih``, ``weight_hh``, with ``has_biases``
            ``bias_ih`` and ``bias_hh``, and with a projection ``weight_hr``.
        has_biases: whether ``params`` holds biases.
        num_layers: how many layers stand one on the other.
        dropout: the probability that an element of a layer's output is dropped before the next one.
        train: whether to drop out at all.
        bidirectional: whether each layer also reads backwards.
        batch_first: whether input and output begin with the batch.

    Returns:
        The output of the last layer, and the last h and c of all layers and directions.

    Raises:
        RuntimeError: sizes or dtypes do not fit each other.
    """
    return _network(
        "lstm",
        (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first),
    )  # pyright: ignore[reportReturnType]


def _make_network(kind: str, about: str) -> Any:
    def network(
        input: Tensor, hx: Any, params: Any, has_biases: Any, num_layers: Any, dropout: Any,
        train: Any, bidirectional: Any, batch_first: Any,
    ) -> tuple[Tensor, Tensor]:
        return _network(
            kind,
            (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first),
        )  # pyright: ignore[reportReturnType]

    network.__name__ = network.__qualname__ = kind
    network.__doc__ = f"""{about}

    The arguments are those of `lstm`, except that there is one first state ``hx`` and no
    projection.

    Returns:
        The output of the last layer, and the last state of all layers and directions.

    Raises:
        RuntimeError: sizes or dtypes do not fit each other.
    """
    return public(network, method=False)


gru = _make_network(
    "gru",
    """Layers of gated recurrent units over whole sequences; `nnkit.nn.GRU` is the layer.

    ::

        r = sigmoid(W_ir x + b_ir + W_hr h + b_hr)
        z = sigmoid(W_iz x + b_iz + W_hz h + b_hz)
        n = tanh(W_in x + b_in + r (W_hn h + b_hn))
        h = (1 - z) n + z h

    Cho et al., "Learning phrase representations using RNN encoder-decoder", 2014.""",
)
rnn_tanh = _make_network(
    "rnn_tanh", "Layers of ``h = tanh(W_ih x + b_ih + W_hh h + b_hh)`` over whole sequences."
)
rnn_relu = _make_network(
    "rnn_relu", "Layers of ``h = relu(W_ih x + b_ih + W_hh h + b_hh)`` over whole sequences."
)


@public(method=False)
def lstm_cell(
    input: Tensor, hx: Any, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """One step of `lstm` on a batch.

    Args:
        input: (N, input_size).
        hx: the states h and c, each (N, hidden_size).
        w_ih: (4 * hidden_size, input_size).
        w_hh: (4 * hidden_size, hidden_size).
        b_ih: (4 * hidden_size,).
        b_hh: (4 * hidden_size,).

    Returns:
        The new h and c.

    Raises:
        RuntimeError: sizes or dtypes do not fit each other.

    Example:
        >>> import nnkit
        >>> x, h, w = nnkit.ones(1, 2), nnkit.zeros(1, 3), nnkit.zeros(12, 3)
        >>> h, c = nnkit.lstm_cell(x, (h, h), w[:, :2], w)
        >>> h, c
        (tensor([[0., 0., 0.]]), tensor([[0., 0., 0.]]))
    """
    return _cell("lstm", input, hx, w_ih, w_hh, b_ih, b_hh)


def _make_cell(kind: str) -> Any:
    def cell(
        input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
        b_hh: Tensor | None = None,
    ) -> Tensor:
        return _cell(kind, input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]

    cell.__name__ = cell.__qualname__ = f"{kind}_cell"
    cell.__doc__ = f"""One step of `{kind}` on a batch (N, input_size) with states (N, hidden_size).

    Raises:
        RuntimeError: sizes or dtypes do not fit each other.
    """
    return public(cell, method=False)


gru_cell = _make_cell("gru")
rnn_tanh_cell = _make_cell("rnn_tanh")
rnn_relu_cell = _make_cell("rnn_relu")
