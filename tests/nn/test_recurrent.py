"""The recurrent layers and their cells against torch's, for all kinds of input."""

from __future__ import annotations

import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit
from tests.frameworks import raises
from tests.nn.parity import assert_same, numbers

KINDS = ("RNN", "LSTM", "GRU")
OPTIONS: list[dict[str, Any]] = [
    {},
    {"num_layers": 2, "bidirectional": True, "dropout": 0.3},
    {"num_layers": 2, "bias": False, "batch_first": True},
]
each_kind = pytest.mark.parametrize("kind", KINDS)
each_option = pytest.mark.parametrize("options", OPTIONS, ids=[str(o) for o in OPTIONS])


def packed(lib: ModuleType, layer: Any, x: Any, lengths: Any) -> Any:
    rnn = lib.nn.utils.rnn
    output, last = layer(
        rnn.pack_padded_sequence(x, lengths, layer.batch_first, enforce_sorted=False)
    )
    assert isinstance(output, rnn.PackedSequence)
    return rnn.pad_packed_sequence(output, layer.batch_first), last


@each_kind
@each_option
def test_layer(torch: ModuleType, kind: str, options: dict) -> None:
    def make(nn: Any) -> Any:
        return getattr(nn, kind)(5, 4, **options)

    assert_same(torch, make, numbers(3, 2, 5))
    assert_same(torch, make, numbers(3, 5))
    assert_same(torch, make, numbers(3, 3, 5), np.array([2, 3, 1]), call=packed)


def test_given_first_states(torch: ModuleType) -> None:
    x, h, c = numbers(3, 2, 5), numbers(2, 2, 4), numbers(2, 2, 4, seed=1)
    assert_same(torch, lambda nn: nn.GRU(5, 4, 2), x, h)
    assert_same(torch, lambda nn: nn.RNN(5, 4, 2, "relu"), x[:, 0], h[:, 0])
    pair: Any = lambda lib, layer, x, h, c: layer(x, (h, c))
    assert_same(torch, lambda nn: nn.LSTM(5, 4, bidirectional=True), x, h, c, call=pair)
    assert_same(torch, lambda nn: nn.LSTM(5, 4, 2), x[:, 0], h[:, 0], c[:, 0], call=pair)


def test_projection(torch: ModuleType) -> None:
    def make(nn: Any) -> Any:
        return nn.LSTM(5, 4, 2, bidirectional=True, proj_size=3)

    assert_same(torch, make, numbers(3, 2, 5))
    assert_same(torch, make, numbers(3, 3, 5), np.array([3, 1, 2]), call=packed)


def test_states_of_packed_sequences_are_in_the_callers_order(torch: ModuleType) -> None:
    def call(lib: ModuleType, layer: Any, x: Any, lengths: Any, h: Any) -> Any:
        sequences = lib.nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
        output, last = layer(sequences, h)
        return output.data, last

    x, lengths, h = numbers(3, 3, 5), np.array([1, 3, 2]), numbers(1, 3, 4)
    assert_same(torch, lambda nn: nn.GRU(5, 4), x, lengths, h, call=call)


@pytest.mark.parametrize("options", [{}, {"bias": False}])
@pytest.mark.parametrize("kind", ["RNNCell", "LSTMCell", "GRUCell"])
def test_cell(torch: ModuleType, kind: str, options: dict) -> None:
    def make(nn: Any) -> Any:
        return getattr(nn, kind)(5, 4, **options)

    assert_same(torch, make, numbers(3, 5))
    assert_same(torch, make, numbers(5))


def test_cell_with_state(torch: ModuleType) -> None:
    x, h, c = numbers(3, 5), numbers(3, 4), numbers(3, 4, seed=1)
    assert_same(torch, lambda nn: nn.RNNCell(5, 4, nonlinearity="relu"), x, h)
    pair: Any = lambda lib, layer, x, h, c: layer(x, (h, c))
    assert_same(torch, lambda nn: nn.LSTMCell(5, 4), x[0], h[0], c[0], call=pair)


def test_layer_is_its_cell_step_by_step() -> None:
    lstm, cell = nnkit.nn.LSTM(3, 2), nnkit.nn.LSTMCell(3, 2)
    cell.load_state_dict({k.removesuffix("_l0"): v for k, v in lstm.state_dict().items()})
    x = nnkit.randn(4, 2, 3)
    output, (h_n, c_n) = lstm(x)
    states: Any = None
    for step in range(4):
        states = cell(x[step], states)
        assert nnkit.allclose(states[0], output[step], atol=1e-6)
    assert nnkit.equal(h_n[0], output[-1]) and nnkit.allclose(states[1], c_n[0], atol=1e-6)


def test_parameters(lib: ModuleType) -> None:
    lstm = lib.nn.LSTM(5, 4, 2, bidirectional=True, proj_size=3)
    assert len(lstm.all_weights) == 4
    assert lstm.all_weights[1][0] is lstm.weight_ih_l0_reverse
    assert [tuple(w.shape) for w in lstm.all_weights[2]] == [(16, 6), (16, 3), (16,), (16,), (3, 4)]
    assert lstm.flatten_parameters() is None
    assert lstm.mode == "LSTM" and lib.nn.RNN(2, 2, nonlinearity="relu").mode == "RNN_RELU"
    lstm.weight_hr_l0 = lib.nn.Parameter(lib.zeros(3, 4))
    assert lstm.all_weights[0][-1] is lstm.weight_hr_l0


def test_dropout_acts_in_training_only() -> None:
    layer = nnkit.nn.GRU(3, 4, 2, dropout=1.0)
    x = nnkit.randn(2, 1, 3)
    output, _ = layer(x)
    layer.weight_ih_l1.data.zero_()
    assert nnkit.equal(output, layer(x)[0])
    assert nnkit.equal(layer.eval()(x)[0], layer(x)[0])


def test_warns_of_dropout_without_effect(lib: ModuleType) -> None:
    with pytest.warns(UserWarning, match="num_layers=1"):
        lib.nn.LSTM(3, 4, dropout=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lib.nn.LSTM(3, 4, num_layers=2, dropout=0.5)


@pytest.mark.parametrize(
    ("error", "noun", "make"),
    [
        (ValueError, "input_size", lambda nn: nn.LSTM(0, 4)),
        (ValueError, "hidden_size", lambda nn: nn.GRU(3, -1)),
        (ValueError, "num_layers", lambda nn: nn.LSTM(3, 4, 0)),
        (ValueError, "dropout", lambda nn: nn.RNN(3, 4, dropout=2)),
        (ValueError, "dropout", lambda nn: nn.RNN(3, 4, dropout=True)),
        (ValueError, "proj_size", lambda nn: nn.LSTM(3, 4, proj_size=4)),
        (ValueError, "proj_size", lambda nn: nn.LSTM(3, 4, proj_size=-1)),
        (ValueError, "proj_size", lambda nn: nn.GRU(3, 4, proj_size=2)),
        (ValueError, "nonlinearity", lambda nn: nn.RNN(3, 4, nonlinearity="sine")),
        (ValueError, "mode", lambda nn: nn.RNNBase("NONE", 3, 4)),
        (TypeError, "input_size", lambda nn: nn.LSTM(3.0, 4)),
        (TypeError, "bias", lambda nn: nn.LSTM(3, 4, bias=1)),
        (TypeError, "batch_first", lambda nn: nn.LSTM(3, 4, batch_first=1)),
    ],
)
def test_wrong_settings(lib: ModuleType, error: type[Exception], noun: str, make: Any) -> None:
    with raises(lib, error, noun):
        make(lib.nn)


def test_wrong_inputs(lib: ModuleType) -> None:
    lstm, gru = lib.nn.LSTM(3, 4), lib.nn.GRU(3, 4)
    x, state = lib.zeros(2, 2, 3), lib.zeros(1, 2, 4)
    cases: list[tuple[type[Exception], str, Any, tuple]] = [
        (ValueError, "2D or 3D", lstm, (lib.zeros(3),)),
        (RuntimeError, "input_size", lstm, (lib.zeros(2, 2, 5),)),
        (ValueError, "dtype", lstm, (x.double(),)),
        (RuntimeError, r"hidden\[0\] size", lstm, (x, (lib.zeros(1, 2, 5), state))),
        (RuntimeError, r"hidden\[1\] size", lstm, (x, (state, lib.zeros(1, 1, 4)))),
        (RuntimeError, "3-D", lstm, (x, (state[0], state[0]))),
        (RuntimeError, "2-D", lstm, (x[0], (state, state))),
        (RuntimeError, "hidden size", gru, (x, lib.zeros(2, 2, 4))),
        (RuntimeError, "2-D", gru, (x[0], state)),
        (RuntimeError, "sequence length", gru, (x[:0],)),
    ]
    for error, noun, layer, arguments in cases:
        with raises(lib, error, noun):
            layer(*arguments)


def test_wrong_inputs_of_cells(lib: ModuleType) -> None:
    cell = lib.nn.GRUCell(3, 4)
    with raises(lib, ValueError, "1D or 2D"):
        cell(lib.zeros(2, 2, 3))
    with raises(lib, ValueError, "1D or 2D"):
        lib.nn.LSTMCell(3, 4)(lib.zeros(2, 3), (lib.zeros(2, 2, 4), lib.zeros(2, 4)))
    with raises(lib, RuntimeError, "hidden0"):
        cell(lib.zeros(2, 3), lib.zeros(3, 4))
    with raises(lib, RuntimeError, "input_size"):
        cell(lib.zeros(2, 5))
    with raises(lib, RuntimeError, "nonlinearity"):
        lib.nn.RNNCell(3, 4, nonlinearity="sine")(lib.zeros(2, 3))


def test_network_of_mixed_dtypes_is_refused() -> None:
    weights = [nnkit.zeros(12, 3), nnkit.zeros(12, 4, dtype=nnkit.float64)]
    with pytest.raises(RuntimeError, match="'w_hh'.*float64"):
        nnkit.gru(
            nnkit.zeros(2, 2, 3), nnkit.zeros(1, 2, 4), weights, False, 1, 0.0, False, False, False
        )
