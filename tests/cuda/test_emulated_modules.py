"""Whole modules, forward and backward: every primitive they call, CUDA emulated against the CPU."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import nnkit
from nnkit import nn
from tests.cuda.marks import needs_compiler
from tests.cuda.mirror import mirrored

pytestmark = needs_compiler
F = nn.functional


def image() -> nnkit.Tensor:
    return nnkit.randn(2, 4, 8, 8)


def sequence() -> nnkit.Tensor:
    return nnkit.randn(2, 5, 8)


# A module or function, its input, and a primitive that must have been compared.
PROGRAMS: dict[str, tuple[Callable, Callable, str]] = {
    "conv": (lambda: nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2), image, "conv_grad_weight"),
    "transposed": (lambda: nn.ConvTranspose2d(4, 3, 3, stride=2), image, "conv_transpose"),
    "batch norm": (lambda: nn.BatchNorm2d(4), image, "batch_norm_grad"),
    "group norm": (lambda: nn.GroupNorm(2, 4), image, "group_norm_grad"),
    "instance norm": (lambda: nn.InstanceNorm2d(4, affine=True), image, "group_norm_grad"),
    "layer norm": (lambda: nn.LayerNorm(8), sequence, "layer_norm_grad"),
    "rms norm": (lambda: nn.RMSNorm(8), sequence, "rms_norm_grad"),
    "max pool": (lambda: nn.MaxPool2d(3, 2, 1), image, "max_pool_grad"),
    "avg pool": (lambda: nn.AvgPool2d(3, 2, 1), image, "avg_pool_grad"),
    "adaptive": (lambda: nn.AdaptiveAvgPool2d((3, 5)), image, "adaptive_avg_pool_grad"),
    "unfold": (lambda: nn.Unfold(3, padding=1), image, "im2col"),
    "lstm": (lambda: _First(nn.LSTM(8, 3, batch_first=True)), sequence, "lstm_layer_grad"),
    "gru": (lambda: _First(nn.GRU(8, 3, batch_first=True)), sequence, "gru_layer_grad"),
    "rnn": (lambda: _First(nn.RNN(8, 3, batch_first=True)), sequence, "rnn_layer_grad"),
    "attention": (
        # Not each row with itself: one key would take all, and its gradient be lost in rounding.
        lambda: lambda x: F.scaled_dot_product_attention(x, x.flip(1), x * 0.5, is_causal=True),
        sequence, "attention_grad",
    ),
    "encoder": (
        lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), sequence,
        "layer_norm",
    ),
    "reductions": (
        lambda: lambda x: x.mean(1) + x.var(1) + x.logsumexp(1) + x.amax(1) + x.norm(dim=1)
        + x.cumsum(1).prod(1) + x.max(1)[0],
        sequence, "amax",
    ),
}  # fmt: skip


class _First(nn.Module):
    """The first result of a recurrent module."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: nnkit.Tensor) -> nnkit.Tensor:
        return self.inner(x)[0]


@pytest.mark.parametrize("name", PROGRAMS)
def test_modules(name: str) -> None:
    nnkit.manual_seed(0)
    make, given, primitive = PROGRAMS[name]
    module, x = make(), given().requires_grad_()
    with mirrored() as mirror:
        module(x).square().sum().backward()
    assert primitive in mirror.compared
    assert not mirror.missing


def test_embedding() -> None:
    table = nn.Embedding(10, 4, padding_idx=0, max_norm=1.0)
    with mirrored() as mirror:
        table(nnkit.tensor([[1, 0, 3], [3, 3, 9]])).square().sum().backward()
    assert "embedding_grad" in mirror.compared
