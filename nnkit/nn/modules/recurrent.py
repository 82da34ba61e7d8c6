"""Recurrent layers over whole sequences, and their cells, which do one step."""

from __future__ import annotations

import math
from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.ops import recurrent as ops
from nnkit.autograd.ops.creation.factories import empty, zeros
from nnkit.nn import init
from nnkit.nn.modules.module import Module
from nnkit.nn.modules.recurrent_base import RNNBase
from nnkit.nn.parameter import Parameter

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]


class RNN(RNNBase):
    """Elman's network, ``h = tanh(W_ih x + b_ih + W_hh h + b_hh)`` or with ``relu``.

    Elman, "Finding structure in time", 1990. The arguments are those of `RNNBase` without ``mode``,
    with ``nonlinearity`` ("tanh" or "relu") behind ``num_layers``.

    Shape:
        input (T, N, input_size), with ``batch_first`` (N, T, input_size), unbatched
        (T, input_size), or a `PackedSequence`; ``hx`` and the second result
        (num_layers * directions, N, hidden_size); the first result like the input, with
        directions * hidden_size features.

    >>> import nnkit
    >>> rnn = nnkit.nn.RNN(10, 20, num_layers=2)
    >>> output, h_n = rnn(nnkit.zeros(5, 3, 10))
    >>> output.shape, h_n.shape
    (nnkit.Size([5, 3, 20]), nnkit.Size([2, 3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity {nonlinearity!r}. Select from 'tanh' or 'relu'."
            )
        mode = "RNN_" + nonlinearity.upper()
        super().__init__(
            mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
            proj_size, device, dtype,
        )  # fmt: skip
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        return self._run(input, hx)


class LSTM(RNNBase):
    """Long short-term memory.

    ::

        i, f, g, o = W_ih x + b_ih + W_hh h + b_hh
        c = sigmoid(f) c + sigmoid(i) tanh(g)
        h = sigmoid(o) tanh(c), with proj_size W_hr times that

    Hochreiter and Schmidhuber, "Long short-term memory", 1997; projections: Sak et al., "Long
    short-term memory based recurrent neural network architectures", 2014. The arguments are those
    of `RNNBase` without ``mode``.

    Shape:
        input (T, N, input_size), with ``batch_first`` (N, T, input_size), unbatched
        (T, input_size), or a `PackedSequence`; ``hx`` and the second result are pairs (h, c), each
        (num_layers * directions, N, features), where h has proj_size or hidden_size features and c
        has hidden_size; the first result like the input, with directions * h's features.

    >>> import nnkit
    >>> lstm = nnkit.nn.LSTM(10, 20, bidirectional=True)
    >>> output, (h_n, c_n) = lstm(nnkit.zeros(5, 3, 10))
    >>> output.shape, h_n.shape, c_n.shape
    (nnkit.Size([5, 3, 40]), nnkit.Size([2, 3, 20]), nnkit.Size([2, 3, 20]))
    """

    def __init__(
        self,
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
        super().__init__(
            "LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
            proj_size, device, dtype,
        )  # fmt: skip

    def forward(
        self, input: Any, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Any, tuple[Tensor, Tensor]]:
        return self._run(input, hx)


class GRU(RNNBase):
    """Gated recurrent units.

    ::

        r = sigmoid(W_ir x + b_ir + W_hr h + b_hr)
        z = sigmoid(W_iz x + b_iz + W_hz h + b_hz)
        n = tanh(W_in x + b_in + r (W_hn h + b_hn))
        h = (1 - z) n + z h

    Cho et al., "Learning phrase representations using RNN encoder-decoder", 2014. The arguments are
    those of `RNNBase` without ``mode`` and ``proj_size``.

    Shape:
        input (T, N, input_size), with ``batch_first`` (N, T, input_size), unbatched
        (T, input_size), or a `PackedSequence`; ``hx`` and the second result
        (num_layers * directions, N, hidden_size); the first result like the input, with
        directions * hidden_size features.

    >>> import nnkit
    >>> gru = nnkit.nn.GRU(10, 20, batch_first=True)
    >>> output, h_n = gru(nnkit.zeros(3, 5, 10))
    >>> output.shape, h_n.shape
    (nnkit.Size([3, 5, 20]), nnkit.Size([1, 3, 20]))
    """

    def __init__(
        self,
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
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
            proj_size, device, dtype,
        )  # fmt: skip

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        return self._run(input, hx)


class RNNCellBase(Module):
    """The base of the recurrent cells.

    Args:
        input_size: features of the input.
        hidden_size: features of the state.
        bias: whether there are biases.
        num_chunks: how many gates there are.
        device: where the parameters are.
        dtype: their dtype.

    The parameters ``weight_ih`` (num_chunks * hidden_size, input_size), ``weight_hh``, ``bias_ih``
    and ``bias_hh`` are drawn uniformly from [-s, s], s = 1/sqrt(hidden_size).
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        for name, size in (("weight_ih", input_size), ("weight_hh", hidden_size)):
            setattr(self, name, Parameter(empty((rows, size), device=device, dtype=dtype)))
        for name in ("bias_ih", "bias_hh"):
            value = Parameter(empty(rows, device=device, dtype=dtype)) if bias else None
            self.register_parameter(name, value)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _step(self, cell: Any, input: Tensor, hx: Any, states: int) -> Any:
        """Call ``cell`` on a batch, which a single input becomes for the time being."""
        name = type(self).__name__
        if input.ndim not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.ndim}D instead")
        if states == 2 and not isinstance(hx, tuple | list | None):
            raise TypeError(f"{name}: hx must be tuple of Tensors, not {type(hx).__name__}")
        given: Any = hx if states == 2 and hx is not None else (hx,) * (hx is not None)
        for number, state in enumerate(given):
            if state.ndim not in (1, 2):
                told = "hidden" if states == 1 else f"hx[{number}]"
                raise ValueError(
                    f"{name}: Expected {told} to be 1D or 2D, got {state.ndim}D instead"
                )
        batched = input.ndim == 2
        if not batched:
            input, given = input.unsqueeze(0), tuple(s.unsqueeze(0) for s in given)
        if hx is None:
            shape = (input.shape[0], self.hidden_size)
            given = (zeros(shape, dtype=input.dtype, device=input.device),) * states
        weights = self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
        result = cell(input, tuple(given) if states == 2 else given[0], *weights)
        if batched:
            return result
        return tuple(r.squeeze(0) for r in result) if states == 2 else result.squeeze(0)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        return text if self.bias is True else f"{text}, bias={self.bias}"


class RNNCell(RNNCellBase):
    """One step of `RNN`: ``h = tanh(W_ih x + b_ih + W_hh h + b_hh)`` or with ``relu``.

    Shape:
        input (N, input_size) or (input_size,), ``hx`` and the result (N, hidden_size) or
        (hidden_size,).

    Raises:
        RuntimeError: ``nonlinearity`` is neither "tanh" nor "relu", or shapes do not fit.
        ValueError: input or state has the wrong number of dimensions.

    >>> import nnkit
    >>> cell = nnkit.nn.RNNCell(10, 20)
    >>> cell(nnkit.zeros(3, 10)).shape
    nnkit.Size([3, 20])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        cell = ops.rnn_tanh_cell if self.nonlinearity == "tanh" else ops.rnn_relu_cell
        return self._step(cell, input, hx, 1)

    def extra_repr(self) -> str:
        text = super().extra_repr()
        usual = self.nonlinearity == "tanh"
        return text if usual else f"{text}, nonlinearity={self.nonlinearity}"


class LSTMCell(RNNCellBase):
    """One step of `LSTM`.

    Shape:
        input (N, input_size) or (input_size,), ``hx`` and the result pairs (h, c), each
        (N, hidden_size) or (hidden_size,).

    Raises:
        RuntimeError: shapes do not fit.
        ValueError: input or state has the wrong number of dimensions.

    >>> import nnkit
    >>> cell = nnkit.nn.LSTMCell(10, 20)
    >>> h, c = cell(nnkit.zeros(3, 10))
    >>> h.shape, c.shape
    (nnkit.Size([3, 20]), nnkit.Size([3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        return self._step(ops.lstm_cell, input, hx, 2)


class GRUCell(RNNCellBase):
    """One step of `GRU`.

    Shape:
        input (N, input_size) or (input_size,), ``hx`` and the result (N, hidden_size) or
        (hidden_size,).

    Raises:
        RuntimeError: shapes do not fit.
        ValueError: input or state has the wrong number of dimensions.

    >>> import nnkit
    >>> cell = nnkit.nn.GRUCell(10, 20)
    >>> cell(nnkit.zeros(3, 10)).shape
    nnkit.Size([3, 20])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(ops.gru_cell, input, hx, 1)
