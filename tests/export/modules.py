"""Modules that are exported, each with its arguments and what of their sizes is open.

They are written once for nnkit and PyTorch: ``build(torch)`` gets either.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Case(NamedTuple):
    """A module, an example, other arguments that fit, and ``dynamic_shapes``."""

    module: Any
    args: tuple
    others: tuple
    shapes: Any
    kwargs: dict[str, Any] = {}  # noqa: RUF012


CASES: dict[str, Callable[[Any], Case]] = {}


def case(build: Callable[[Any], Case]) -> Callable[[Any], Case]:
    CASES[build.__name__] = build
    return build


def batch(torch: Any, **bounds: int) -> dict:
    return {0: torch.export.Dim("batch", **bounds)}


@case
def mlp(torch: Any) -> Case:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Dropout(0.5), nn.Linear(8, 2))
    return Case(model, (torch.randn(3, 4),), (torch.randn(7, 4),), (batch(torch),))


@case
def cnn_in_training(torch: Any) -> Case:
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True),
        nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, 3),
    )  # fmt: skip
    return Case(model, (torch.randn(2, 3, 9, 9),), (torch.randn(5, 3, 9, 9),), (batch(torch),))


@case
def convolutions_of_open_pictures(torch: Any) -> Case:
    dim, nn = torch.export.Dim, torch.nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 3, stride=2)

        def forward(self, x: Any) -> Any:
            y = self.conv(x)
            b, c, h, w = y.shape
            return y.reshape(b, c, h * w).transpose(1, 2) / (h * w) ** 0.5

    shapes = {"x": {0: dim("b"), 2: dim("h", min=5, max=64), 3: dim("w", min=5, max=64)}}
    return Case(Net(), (torch.randn(2, 3, 9, 7),), (torch.randn(3, 3, 16, 12),), shapes)


@case
def attention_with_a_mask(torch: Any) -> Case:
    dim, nn, functional = torch.export.Dim, torch.nn, torch.nn.functional

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv = nn.Linear(8, 24)
            self.position = nn.Embedding(32, 8)

        def forward(self, x: Any) -> Any:
            b, t, c = x.size()
            x = x + self.position(torch.arange(t))
            q, k, v = self.qkv(x).split(c, dim=2)
            q, k, v = (y.view(b, t, 2, c // 2).transpose(1, 2) for y in (q, k, v))
            mask = torch.ones(t, t, dtype=torch.bool).tril()
            y = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            return y.transpose(1, 2).contiguous().view(b, t, c)

    shapes = ({0: dim("b"), 1: dim("t", max=32)},)
    return Case(Attention(), (torch.randn(2, 5, 8),), (torch.randn(3, 9, 8),), shapes)


@case
def language_model_with_shared_weights(torch: Any) -> Case:
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(11, 8)
            layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
            self.layers = nn.TransformerEncoder(layer, 2)
            self.head = nn.Linear(8, 11, bias=False)
            self.head.weight = self.embedding.weight

        def forward(self, tokens: Any) -> Any:
            return self.head(self.layers(self.embedding(tokens)))

    tokens = torch.tensor([[1, 2, 3, 4], [5, 6, 7, 8]])
    others = torch.tensor([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 0, 1]])
    return Case(Model(), (tokens,), (others,), ({0: torch.export.Dim("batch")},))


@case
def recurrent(torch: Any) -> Case:
    nn = torch.nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(3, 4, batch_first=True)
            self.gru = nn.GRU(4, 4, batch_first=True)

        def forward(self, x: Any) -> Any:
            h, (last, _) = self.lstm(x)
            return self.gru(h)[0][:, -1] + last[-1]

    return Case(Net(), (torch.randn(2, 5, 3),), (torch.randn(4, 5, 3),), (batch(torch),))


@case
def buffers_that_are_written(torch: Any) -> Case:
    class Count(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("written", torch.zeros(3))
            self.register_buffer("replaced", torch.zeros(3), persistent=False)
            self.shift = torch.ones(3)

        def forward(self, x: Any) -> Any:
            y = x + self.written + self.replaced
            self.written += x.detach().sum(0)
            self.replaced = self.replaced + 1
            return y + self.shift

    return Case(Count(), (torch.randn(2, 3),), (torch.randn(4, 3),), (batch(torch),))


@case
def views_that_are_written(torch: Any) -> Case:
    class Write(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            y = x * 2
            y[:, 0] = 1
            y[0].add_(3)
            y.T.mul_(2)
            return y[: x.shape[0] // 2], y.max(1).values, y.T

    return Case(Write(), (torch.randn(4, 3),), (torch.randn(6, 3),), (batch(torch),))


@case
def grad_modes(torch: Any) -> Case:
    class Modes(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(3, 3)

        def forward(self, x: Any) -> Any:
            with torch.no_grad():
                scale = self.linear(x).abs().mean()
            return self.linear(x) * scale, scale

    return Case(Modes(), (torch.randn(4, 3),), (torch.randn(6, 3),), (batch(torch),))


@case
def trees_of_arguments(torch: Any) -> Case:
    dim = torch.export.Dim("batch")

    class Trees(torch.nn.Module):
        def forward(self, pair: Any, named: Any, power: int, *, bias: Any = None) -> Any:
            x = (pair[0] + pair[1]) ** power
            return {"sum": x + named["x"], "parts": [x.sum(), (x.mean(),)], "bias": x + bias}

    def trees(rows: int) -> tuple:
        return [torch.randn(rows, 2), torch.randn(rows, 2)], {"x": torch.randn(rows, 2)}, 2

    shapes = {
        "pair": [{0: dim}, (dim, None)], "named": {"x": {0: dim}}, "power": None, "bias": None,
    }  # fmt: skip
    return Case(Trees(), trees(3), trees(5), shapes, {"bias": torch.randn(2)})


@case
def sizes_that_follow(torch: Any) -> Case:
    dim = torch.export.Dim("half", min=2, max=50)

    class Halves(torch.nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            first, second = x[: y.shape[0]], x[y.shape[0] :]
            both = first.view(torch.Size([y.shape[0]]) + y.shape[1:])
            return both + second + y, y.shape[0]

    def pair(rows: int) -> tuple:
        return torch.randn(2 * rows, 3), torch.randn(rows, 3)

    return Case(Halves(), pair(3), pair(5), ({0: 2 * dim}, {0: dim}))


@case
def sizes_without_names(torch: Any) -> Case:
    auto = torch.export.Dim.AUTO

    class Add(torch.nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            return x + y

    def pair(rows: int) -> tuple:
        return torch.randn(rows, 3), torch.randn(rows, 3)

    return Case(Add(), pair(4), pair(6), ({0: auto}, {0: auto}))


@case
def random_numbers(torch: Any) -> Case:
    class Noise(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            noise = torch.rand_like(x) + torch.randn(x.shape[1])
            return torch.nn.functional.dropout(x + noise, 0.5)

    return Case(Noise(), (torch.randn(4, 3),), (torch.randn(6, 3),), (batch(torch),))


@case
def nothing_open(torch: Any) -> Case:
    class Loop(torch.nn.Module):
        def forward(self, x: Any, count: int, mode: str, scale: float) -> Any:
            total = x.new_zeros(x.shape[1:])
            for index in range(x.shape[0]):
                total = total + x[index] * index
            return total * count * scale if mode == "sum" else total

    args = (torch.randn(4, 3), 3, "sum", 0.5)
    return Case(Loop(), args, (torch.randn(4, 3), 3, "sum", 0.5), None)
