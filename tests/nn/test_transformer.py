"""The transformer and its layers against torch's."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit
from tests.frameworks import raises
from tests.nn.parity import assert_same, numbers

OPTIONS: list[dict[str, Any]] = [
    {},
    {"norm_first": True, "dropout": 0.0},
    {"activation": "gelu", "batch_first": True},
    {"bias": False, "layer_norm_eps": 0.1},
]
# torch says which of its shortcuts it does not take.
pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")


@pytest.mark.parametrize("options", OPTIONS, ids=[str(o) for o in OPTIONS])
def test_parts(torch: ModuleType, options: dict) -> None:
    shapes = [(2, 5, 8), (2, 6, 8)] if options.get("batch_first") else [(5, 2, 8), (6, 2, 8)]
    x, y = (numbers(*shape) for shape in shapes)
    settings: Any = {"dim_feedforward": 16, **options}
    assert_same(torch, lambda nn: nn.TransformerEncoderLayer(8, 2, **settings), x)
    assert_same(torch, lambda nn: nn.TransformerDecoderLayer(8, 2, **settings), x, y)
    assert_same(
        torch,
        lambda nn: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(8, 2, **settings), 2, nn.LayerNorm(8)
        ),
        x,
    )
    assert_same(
        torch,
        lambda nn: nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, **settings), 2),
        x, y,
    )  # fmt: skip
    assert_same(torch, lambda nn: nn.Transformer(8, 2, 1, 1, **settings), x, y)


def test_masks(torch: ModuleType) -> None:
    def call(lib: ModuleType, layer: Any, src: Any, tgt: Any, padding: Any) -> Any:
        return layer(
            src, tgt, tgt_mask=layer.generate_square_subsequent_mask(6, dtype=lib.float64),
            src_key_padding_mask=padding, memory_key_padding_mask=padding,
        )  # fmt: skip

    padding = np.array([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1]], bool)
    x, y = numbers(5, 2, 8), numbers(6, 2, 8)
    assert_same(torch, lambda nn: nn.Transformer(8, 2, 1, 1, 16), x, y, padding, call=call)
    other = np.random.RandomState(0).rand(5, 5) > 0.6
    np.fill_diagonal(other, False)
    for mask in (np.triu(np.ones((5, 5), bool), 1), other):
        assert_same(
            torch,
            lambda nn: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 1),
            x, mask,
        )  # fmt: skip


def test_unbatched_and_evaluation(torch: ModuleType) -> None:
    assert_same(torch, lambda nn: nn.Transformer(8, 2, 1, 1, 16), numbers(5, 8), numbers(6, 8))
    assert_same(
        torch, lambda nn: nn.TransformerEncoderLayer(8, 2, 16), numbers(5, 2, 8), train=False
    )


PADDINGS = {
    "behind": [[False, False, True], [False, True, True]],
    "before": [[False, False, True], [True, False, False]],
    "all": [[False, False, False], [True, True, True]],
}
ENCODERS: dict[str, Callable[[Any], Any]] = {
    "layer": lambda nn: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True),
    "length first": lambda nn: nn.TransformerEncoderLayer(4, 2, 8),
    "odd": lambda nn: nn.TransformerEncoderLayer(4, 1, 8, batch_first=True),
    "norm first": lambda nn: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True, norm_first=True),
}


def _filled(module: Any, arange: Any) -> Any:
    for i, p in enumerate(module.parameters()):
        p.data.copy_(((arange(p.numel()) * (7 + i) % 13) / 13 - 0.4).reshape(p.shape))
    return module.eval()


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("padding", PADDINGS)
def test_inference_with_padding(torch: ModuleType, name: str, padding: str) -> None:
    def found(lib: ModuleType) -> list[Any]:
        layer = ENCODERS[name](lib.nn)
        x, mask = lib.arange(24.0).reshape(2, 3, 4) * 5 % 11 / 11, lib.tensor(PADDINGS[padding])
        x = x if layer.self_attn.batch_first else x.transpose(0, 1)
        causal = lib.ones(3, 3).triu(1).bool()
        attention = lib.nn.MultiheadAttention(4, 2, batch_first=layer.self_attn.batch_first)
        results = []
        for grad in (False, True):
            with lib.set_grad_enabled(grad):
                for module in (
                    layer, lib.nn.TransformerEncoder(layer, 2),
                    lib.nn.TransformerEncoder(layer, 2, lib.nn.LayerNorm(4)),
                    lib.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False),
                ):  # fmt: skip
                    _filled(module, lib.arange)
                    results.append(module(x, src_key_padding_mask=mask))
                    results.append(module(x, causal, src_key_padding_mask=mask))
                _filled(attention, lib.arange)
                for options in ({"key_padding_mask": mask}, {"attn_mask": causal.T}):
                    for weights in (False, True):
                        results.append(attention(x, x, x, need_weights=weights, **options)[0])
        return [r.detach().numpy() for r in results]

    for got, wanted in zip(found(nnkit), found(torch), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=2e-4, atol=2e-5)


def test_custom_parts(lib: ModuleType) -> None:
    class Encoder(lib.nn.Module):
        def forward(self, src: Any, **options: Any) -> Any:
            return src + 1

    class Decoder(lib.nn.Module):
        def forward(self, tgt: Any, memory: Any, **options: Any) -> Any:
            return tgt * memory.sum()

    model = lib.nn.Transformer(4, 2, custom_encoder=Encoder(), custom_decoder=Decoder())
    assert model(lib.zeros(2, 1, 4), lib.ones(3, 1, 4)).sum().item() == 96


def test_errors(lib: ModuleType) -> None:
    model = lib.nn.Transformer(8, 2, 1, 1, 16)
    with raises(lib, RuntimeError, "batch number"):
        model(lib.zeros(5, 2, 8), lib.zeros(5, 3, 8))
    with raises(lib, RuntimeError, "d_model"):
        model(lib.zeros(5, 2, 8), lib.zeros(5, 2, 6))
    with raises(lib, RuntimeError, "relu/gelu"):
        lib.nn.TransformerEncoderLayer(8, 2, activation="sine")
    with raises(lib, AssertionError, "mask"):
        lib.nn.TransformerEncoder(lib.nn.TransformerEncoderLayer(8, 2), 1)(
            lib.zeros(5, 2, 8), lib.zeros(5, 5, dtype=lib.int64)
        )


# Encoder layers for which torch has no shortcut past the padding, and what it says of them.
UNSUITED: dict[str, Callable[[Any], Any]] = {
    "encoder_layer was not TransformerEncoderLayer": lambda nn: nn.Identity(),
    "norm_first was True": lambda nn: nn.TransformerEncoderLayer(
        4, 2, 8, batch_first=True, norm_first=True
    ),
    "self_attn.batch_first was not True": lambda nn: nn.TransformerEncoderLayer(4, 2, 8),
    "self_attn was passed bias=False": lambda nn: nn.TransformerEncoderLayer(
        4, 2, 8, batch_first=True, bias=False
    ),
    "activation_relu_or_gelu was not True": lambda nn: nn.TransformerEncoderLayer(
        4, 2, 8, activation=nn.functional.silu, batch_first=True
    ),
    "norm1.eps was not equal to encoder_layer.norm2.eps": lambda nn: _of_two_norms(nn),
    "self_attn.num_heads is odd": lambda nn: nn.TransformerEncoderLayer(4, 1, 8, batch_first=True),
}


def _of_two_norms(nn: Any) -> Any:
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    layer.norm1.eps = 0.1
    return layer


@pytest.mark.filterwarnings("default:enable_nested_tensor is True")
@pytest.mark.parametrize("reason", UNSUITED)
def test_encoders_tell_why_they_compute_padding(lib: ModuleType, reason: str) -> None:
    layer = UNSUITED[reason](lib.nn)
    with pytest.warns(UserWarning, match=f"use_nested_tensor is False because .*{reason}"):
        encoder = lib.nn.TransformerEncoder(layer, 1)
    assert encoder.use_nested_tensor is False and encoder.enable_nested_tensor is True
    assert lib.nn.TransformerEncoder(layer, 1, enable_nested_tensor=False).num_layers == 1


def test_encoders_that_skip_padding_say_nothing(lib: ModuleType) -> None:
    layer = lib.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    assert lib.nn.TransformerEncoder(layer, 1).use_nested_tensor is True


def test_a_layer_is_asked_for_nothing_behind_the_first_reason(lib: ModuleType) -> None:
    layer = lib.nn.TransformerEncoderLayer(4, 2, 8, norm_first=True)
    layer.norm1 = lib.nn.Identity()  # which has no eps
    assert lib.nn.TransformerEncoder(layer, 1).use_nested_tensor is False


def test_masks_of_two_kinds_are_warned_of(lib: ModuleType) -> None:
    nn, x, padding = lib.nn, lib.zeros(2, 3, 4), lib.zeros(2, 3, dtype=lib.bool)
    mask = nn.Transformer.generate_square_subsequent_mask(3)
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2)
    decoder = nn.TransformerDecoderLayer(4, 2, 8, batch_first=True)
    attention = nn.MultiheadAttention(4, 2, batch_first=True)
    for call in (
        lambda: encoder(x, mask, padding),
        lambda: decoder(x, x, mask, None, padding),
        lambda: attention(x, x, x, padding, attn_mask=mask),
    ):
        with pytest.warns(UserWarning, match="Support for mismatched .* is deprecated") as found:
            call()
        assert len(found) == 1
    encoder(x, mask != 0, padding)
    attention(x, x, x, padding.float(), attn_mask=mask)


@pytest.mark.parametrize("mask", [-1.0, "a", [1]])
def test_a_mask_is_a_tensor(lib: ModuleType, mask: Any) -> None:
    nn, x = lib.nn, lib.ones(3, 2, 4)
    layer = nn.TransformerDecoderLayer(4, 2, 8)
    for call in (
        lambda: layer(x, x, mask),
        lambda: layer(x, x, None, mask),
        lambda: layer(x, x, tgt_key_padding_mask=mask),
        lambda: nn.MultiheadAttention(4, 2)(x, x, x, mask),
        lambda: nn.MultiheadAttention(4, 2)(x, x, x, attn_mask=mask),
    ):
        with pytest.raises(TypeError, match="must be Tensor, not"):
            call()
