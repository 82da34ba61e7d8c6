"""The base of the recurrent layers: parameters, checks, and all kinds of input."""

from __future__ import annotations

import math
import numbers
from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.arguments.casting import CASTING
from nnkit.autograd.ops import recurrent as ops
from nnkit.autograd.ops.creation.factories import empty, zeros
from nnkit.backend.warning import warn
from nnkit.nn import init
from nnkit.nn.modules.module import Module
from nnkit.nn.parameter import Parameter
from nnkit.nn.utils.rnn import PackedSequence

__all__ = ["RNNBase"]


class RNNBase(Module):
    """The base of the recurrent layers; ``mode`` is "RNN_TANH", "RNN_RELU", "LSTM" or "GRU".

    Args:
        mode: the kind of network.
        input_size: features of an element of the input.
        hidden_size: features of the state.
        num_layers: how many layers stand one on the other.
        bias: whether there are biases.
        batch_first: whether input and output are (N, T, features) instead of (T, N, features).
        dropout: the probability that an element between two layers is dropped.
        bidirectional: whether a second network reads the sequences from their ends.
        proj_size: features that the state of an LSTM is projected to, 0 for none.
        device: where the parameters are.
        dtype: their dtype.

    For each layer k, and once more with the suffix ``_reverse``, there are parameters
    ``weight_ih_l{k}`` and ``weight_hh_l{k}``, ``bias_ih_l{k}`` and ``bias_hh_l{k}``, and
    ``weight_hr_l{k}`` with a projection, all drawn uniformly from [-s, s], s = 1/sqrt(hidden_size).

    Raises:
        TypeError: an argument has the wrong type.
        ValueError: a size is not positive, or another argument is out of its range.
    """

    _kept_by_torch = ("_flat_weights_names", "_flat_weights")

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_settings(mode, **{k: v for k, v in locals().items() if k in _SETTINGS})
        if not isinstance(mode, str) or mode not in _MODES:
            kind = ValueError if isinstance(mode, str) else TypeError
            raise kind(f"Unrecognized RNN mode: {mode!r}, expected one of {list(_MODES)}")
        if dropout > 0 and num_layers == 1:
            warn(
                f"{type(self).__name__}: dropout acts between layers, so it has no effect with "
                f"num_layers=1, got dropout={dropout}"
            )
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._all_weights: list[list[str]] = []
        directions = 2 if bidirectional else 1
        rows = ops.GATES[_MODES[mode]] * hidden_size
        output_size = proj_size or hidden_size
        for layer in range(num_layers):
            layer_input = output_size * directions if layer else input_size
            shapes: dict[str, tuple[int, ...]]
            shapes = {"weight_ih": (rows, layer_input), "weight_hh": (rows, output_size)}
            if bias:
                shapes.update(bias_ih=(rows,), bias_hh=(rows,))
            if proj_size:
                shapes["weight_hr"] = (proj_size, hidden_size)
            for suffix in ("", "_reverse")[:directions]:
                names = [f"{name}_l{layer}{suffix}" for name in shapes]
                self._all_weights.append(names)
                for name, shape in zip(names, shapes.values()):
                    setattr(self, name, Parameter(empty(shape, device=device, dtype=dtype)))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Parameter]:
        return [weight for weights in self.all_weights for weight in weights]

    def flatten_parameters(self) -> None:
        """Does nothing: torch's name for bringing the parameters into cuDNN's order."""

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """ValueError or RuntimeError for an input of the wrong dtype or shape."""
        weight = getattr(self, self._all_weights[0][0])
        if input.dtype is not weight.dtype and not CASTING.enabled:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). "
                f"Convert input: input.to({weight.dtype}), or convert model: "
                f"model.to({input.dtype})"
            )
        dimensions = 3 if batch_sizes is None else 2
        if input.ndim != dimensions:
            raise RuntimeError(f"input must have {dimensions} dimensions, got {input.ndim}")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"{self.mode.lower()}(): input.size(-1) must be equal to input_size. "
                f"Expected {self.input_size}, got {input.shape[-1]}"
            )

    def get_expected_hidden_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """The shape of the first state: (num_layers * directions, N, features)."""
        if batch_sizes is not None:
            batch = int(batch_sizes[0])
        else:
            batch = input.shape[0 if self.batch_first else 1]
        return len(self._all_weights), batch, self.proj_size or self.hidden_size

    def get_expected_cell_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """The shape of an LSTM's first cell: (num_layers * directions, N, hidden_size)."""
        return (*self.get_expected_hidden_size(input, batch_sizes)[:2], self.hidden_size)

    def check_hidden_size(
        self,
        hx: Tensor,
        expected_hidden_size: tuple[int, int, int],
        msg: str = "Expected hidden size {}, got {}",
    ) -> None:
        """RuntimeError for a first state of the wrong shape."""
        if tuple(hx.shape) != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.shape)))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """`check_input`, and `check_hidden_size` of all states."""
        self.check_input(input, batch_sizes)
        expected = self.get_expected_hidden_size(input, batch_sizes)
        if self.mode != "LSTM":
            self.check_hidden_size(hidden, expected)
            return
        self.check_hidden_size(hidden[0], expected, "Expected hidden[0] size {}, got {}")
        expected = self.get_expected_cell_size(input, batch_sizes)
        self.check_hidden_size(hidden[1], expected, "Expected hidden[1] size {}, got {}")

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The states of the sequences in another order."""
        if permutation is None:
            return hx
        if isinstance(hx, tuple):
            return tuple(h.index_select(1, permutation) for h in hx)
        return hx.index_select(1, permutation)

    def _first_states(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        shape = self.get_expected_hidden_size(input, batch_sizes)
        h = zeros(shape, dtype=input.dtype, device=input.device)
        if self.mode != "LSTM":
            return h
        shape = self.get_expected_cell_size(input, batch_sizes)
        return h, zeros(shape, dtype=input.dtype, device=input.device)

    def _run(self, input: Any, hx: Any) -> tuple[Any, Any]:
        """The output of the last layer and the last states, for whatever kind of input."""
        kind, lstm = _MODES[self.mode], self.mode == "LSTM"
        settings = (
            self._flat_weights, self.bias, self.num_layers, self.dropout, self.training,
            self.bidirectional,
        )  # fmt: skip
        network = getattr(ops, kind)
        if isinstance(input, PackedSequence):
            data, batch_sizes, sorted_indices, unsorted_indices = input
            if hx is None:
                hx = self._first_states(data, batch_sizes)
            else:
                hx = self.permute_hidden(hx, sorted_indices)
            self.check_forward_args(data, hx, batch_sizes)
            output, *last = network(data, batch_sizes, hx, *settings)
            packed = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
            return packed, self.permute_hidden(tuple(last) if lstm else last[0], unsorted_indices)
        if input.ndim not in (2, 3):
            raise ValueError(
                f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.ndim}D tensor "
                "instead"
            )
        batched = input.ndim == 3
        batch_dim = 0 if self.batch_first else 1
        if hx is not None:
            self._check_dimensions(hx, batched)
        if not batched:
            input = input.unsqueeze(batch_dim)
            if hx is not None:
                hx = tuple(h.unsqueeze(1) for h in hx) if lstm else hx.unsqueeze(1)
        if hx is None:
            hx = self._first_states(input, None)
        self.check_forward_args(input, hx, None)
        output, *last = network(input, hx, *settings, self.batch_first)
        if not batched:
            output, last = output.squeeze(batch_dim), [h.squeeze(1) for h in last]
        return output, tuple(last) if lstm else last[0]

    def _check_dimensions(self, hx: Any, batched: bool) -> None:
        states = hx if self.mode == "LSTM" else (hx,)
        wanted = 3 if batched else 2
        if any(h.ndim != wanted for h in states):
            names = " and ".join(("hx", "cx")[: len(states)])
            raise RuntimeError(
                f"For {'batched 3-D' if batched else 'unbatched 2-D'} input, {names} should also "
                f"be {wanted}-D but got {' and '.join(f'{h.ndim}-D' for h in states)}"
            )

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        usual = {
            "proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0,
            "bidirectional": False,
        }  # fmt: skip
        for name, value in usual.items():
            if getattr(self, name) != value:
                text += f", {name}={getattr(self, name)}"
        return text


_MODES = {"RNN_TANH": "rnn_tanh", "RNN_RELU": "rnn_relu", "LSTM": "lstm", "GRU": "gru"}
_SETTINGS = {
    "input_size": int, "hidden_size": int, "num_layers": int, "bias": bool, "batch_first": bool,
    "dropout": numbers.Number, "proj_size": int,
}  # fmt: skip


def _check_settings(mode: str, **settings: Any) -> None:
    for name, value in settings.items():
        kind = _SETTINGS[name]
        if name == "dropout":
            if isinstance(value, bool) or not isinstance(value, kind) or not 0 <= value <= 1:
                raise ValueError(f"dropout should be a number in range [0, 1], got {value!r}")
        elif not isinstance(value, kind):
            raise TypeError(
                f"{name} should be of type {kind.__name__}, got: {type(value).__name__}"
            )
        elif name == "proj_size" and value < 0:
            raise ValueError(f"proj_size should be a positive integer or zero, got {value}")
        elif kind is int and value <= 0 and name != "proj_size":
            raise ValueError(f"{name} must be greater than zero, got {value}")
    if settings["proj_size"] and mode != "LSTM":
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
    if settings["proj_size"] >= settings["hidden_size"]:
        raise ValueError(
            "proj_size has to be smaller than hidden_size, got "
            f"{settings['proj_size']} and {settings['hidden_size']}"
        )
