"""MultiheadAttention against torch's."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit
from tests.frameworks import raises
from tests.nn.parity import assert_same, numbers

QUERY, KEY = numbers(5, 2, 8), numbers(6, 2, 8, seed=1)
PADDING = np.array([[0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 1]], bool)
OPTIONS: list[dict[str, Any]] = [
    {},
    {"bias": False},
    {"add_bias_kv": True, "add_zero_attn": True},
    {"dropout": 0.3, "add_zero_attn": True},
]
each_option = pytest.mark.parametrize("options", OPTIONS, ids=[str(o) for o in OPTIONS])
need_weights = pytest.mark.parametrize("need", [True, False], ids=["weights", "no-weights"])


def same(torch: ModuleType, options: dict, *inputs: np.ndarray, call: Any) -> None:
    assert_same(torch, lambda nn: nn.MultiheadAttention(8, 2, **options), *inputs, call=call)


@each_option
@need_weights
def test_inputs(torch: ModuleType, options: dict, need: bool) -> None:
    def cross(lib: ModuleType, layer: Any, q: Any, k: Any) -> Any:
        return layer(q, k, k, need_weights=need, average_attn_weights=False)

    same(torch, options, QUERY, KEY, call=cross)
    same(torch, options, QUERY[:, 0], KEY[:, 0], call=cross)
    same(torch, options, QUERY, call=lambda lib, layer, q: layer(q, q, q, need_weights=need))
    same(torch, options, QUERY[:, 0], call=lambda lib, layer, q: layer(q, q, q, need_weights=need))


@each_option
@need_weights
def test_masks(torch: ModuleType, options: dict, need: bool) -> None:
    def call(lib: ModuleType, layer: Any, q: Any, k: Any, mask: Any, padding: Any = None) -> Any:
        return layer(q, k, k, padding, need, mask)

    random = np.random.RandomState(2)
    square, cube = random.rand(5, 6) > 0.7, random.rand(4, 5, 6) > 0.7
    same(torch, options, QUERY, KEY, square, PADDING, call=call)
    same(torch, options, QUERY, KEY, cube, call=call)
    same(torch, options, QUERY, KEY, numbers(5, 6), call=call)
    same(torch, options, QUERY[:, 0], KEY[:, 0], cube[:2], PADDING[0], call=call)


@need_weights
def test_causal_hint(torch: ModuleType, need: bool) -> None:
    future = np.triu(np.ones((5, 5), bool), 1)

    def call(lib: ModuleType, layer: Any, q: Any, mask: Any, padding: Any = None) -> Any:
        return layer(q, q, q, padding, need, mask, is_causal=True)

    same(torch, {}, QUERY, future, call=call)
    same(torch, {}, QUERY, future, PADDING[:, 1:], call=call)


@need_weights
def test_other_features_and_batch_first(torch: ModuleType, need: bool) -> None:
    options = {"kdim": 3, "vdim": 7, "batch_first": True}
    inputs = numbers(2, 5, 8), numbers(2, 6, 3), numbers(2, 6, 7)
    call: Any = lambda lib, layer, q, k, v: layer(q, k, v, need_weights=need)
    same(torch, options, *inputs, call=call)
    same(torch, options, *(x[0] for x in inputs), call=call)
    one: Any = lambda lib, layer, x: layer(x, x, x, need_weights=need)
    make: Any = lambda nn: nn.MultiheadAttention(8, 2, batch_first=True)
    assert_same(torch, make, numbers(2, 5, 8), call=one, train=False)


@pytest.mark.parametrize("batch_first", [True, False])
def test_a_bias_of_another_dtype(lib: ModuleType, batch_first: bool) -> None:
    """Torch adds it later where rows are no matrix in memory, and refuses it elsewhere."""
    attention = lib.nn.MultiheadAttention(4, 2, batch_first=batch_first, dtype=lib.float64)
    attention.in_proj_bias = lib.nn.Parameter(lib.full((12,), 0.5, dtype=lib.float16))
    x = lib.ones(2, 3, 4, dtype=lib.float64)
    if not batch_first:
        with pytest.raises(RuntimeError, match="same dtype"):
            attention(x, x, x)
        return
    out, _ = attention(x, x, x)
    out.sum().backward()
    assert out.dtype == lib.float64 and attention.in_proj_bias.grad.dtype == lib.float16
    attention.in_proj_bias = lib.nn.Parameter(lib.full((12,), 0.5, dtype=lib.float64))
    assert lib.equal(out, attention(x, x, x)[0])


def test_weights(lib: ModuleType) -> None:
    attention = lib.nn.MultiheadAttention(8, 2)
    x = lib.randn(5, 3, 8)
    _, mean = attention(x, x, x)
    _, each = attention(x, x, x, average_attn_weights=False)
    assert tuple(mean.shape) == (3, 5, 5) and tuple(each.shape) == (3, 2, 5, 5)
    assert lib.allclose(each.mean(1), mean) and lib.allclose(mean.sum(2), lib.ones(3, 5))
    assert attention(x, x, x, need_weights=False)[1] is None


def test_with_and_without_weights_agree() -> None:
    attention = nnkit.nn.MultiheadAttention(8, 2).double()
    x = nnkit.randn(5, 3, 8, dtype=nnkit.float64)
    mask = nnkit.nn.Transformer.generate_square_subsequent_mask(5, dtype=nnkit.float64)
    wanted, _ = attention(x, x, x, attn_mask=mask)
    for causal in (False, True):
        found, _ = attention(x, x, x, attn_mask=mask, need_weights=False, is_causal=causal)
        assert nnkit.allclose(found, wanted, rtol=1e-12)


def test_merged_masks(torch: ModuleType) -> None:
    merged = []
    for lib in (nnkit, torch):
        layer = lib.nn.MultiheadAttention(8, 2)
        query = lib.zeros(2, 3, 8)
        padding = lib.tensor([[0.0, 0.0, -1.0], [0.0, -1.0, -1.0]])
        mask = lib.arange(9.0).reshape(3, 3)
        cube = lib.arange(36.0).reshape(4, 3, 3)
        for arguments in (
            (None, None),
            (None, padding),
            (mask, None),
            (mask, padding),
            (cube, padding),
        ):
            result, kind = layer.merge_masks(*arguments, query)
            merged.append((kind, None if result is None else result.tolist()))
    assert merged[:5] == merged[5:]


def test_errors(lib: ModuleType) -> None:
    with raises(lib, ValueError, "num_heads"):
        lib.nn.MultiheadAttention(8, 0)
    with raises(lib, AssertionError, "divisible"):
        lib.nn.MultiheadAttention(8, 3)
    attention, x = lib.nn.MultiheadAttention(8, 2), lib.zeros(5, 2, 8)
    for arguments, noun in [
        ({"key": x[0]}, "key"),
        ({"query": lib.zeros(5, 2, 6)}, "embed"),
        ({"value": x[:4]}, "value"),
        ({"key_padding_mask": lib.zeros(2, 2, 5)}, "key_padding_mask"),
        ({"key_padding_mask": lib.zeros(2, 4)}, "key_padding_mask|key_padded_mask"),
        ({"attn_mask": lib.zeros(5)}, "attn_mask"),
        ({"attn_mask": lib.zeros(5, 5, dtype=lib.int64)}, "attn_mask"),
    ]:
        with raises(lib, AssertionError, noun):
            attention(**{"query": x, "key": x, "value": x, **arguments})
    with raises(lib, RuntimeError, "attn_mask"):
        attention(x, x, x, attn_mask=lib.zeros(4, 5))
    with raises(lib, RuntimeError, "is_causal"):
        attention(x, x, x, is_causal=True)


def test_options_that_do_not_fit(lib: ModuleType) -> None:
    forward: Any = lib.nn.functional.multi_head_attention_forward
    x, weight, bias = lib.zeros(5, 2, 8), lib.zeros(24, 8), lib.zeros(24)
    learnt, static, out = lib.zeros(1, 1, 8), lib.zeros(4, 5, 4), (lib.zeros(8, 8), lib.zeros(8))

    def call(key: Any = None, value: Any = None, weight: Any = weight, **options: Any) -> Any:
        return forward(x, x, x, 8, 2, weight, bias, key, value, False, 0.0, *out, **options)

    assert tuple(call(static_k=static, static_v=static)[0].shape) == (5, 2, 8)
    for noun, arguments in [
        ("bias_k", {"key": learnt}),
        ("static", {"key": learnt, "value": learnt, "static_k": static}),
        ("static_v", {"static_v": static[:3]}),
        ("in_proj_weight", {"weight": None}),
        ("query|q_proj_weight", {"use_separate_proj_weight": True}),
    ]:
        with raises(lib, AssertionError, noun):
            call(**arguments)
