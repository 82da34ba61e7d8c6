"""Rows of attention."""

from __future__ import annotations

import numpy as np

from tests.harness.row import Maker, OpRow, Raises, Sample

NAME = "nn.functional.scaled_dot_product_attention"
HEAD = "nn.functional.multi_head_attention_forward"
WIDE = ("float32", "float64")


def tensors(make: Maker, *batch: int, queries: int = 3, keys: int = 4, heads: int | None = None):
    """Query (..., L, E), key (..., S, E) and value (..., S, Ev)."""
    other = batch if heads is None else (*batch[:-1], heads)
    return make(*batch, queries, 2), make(*other, keys, 2), make(*other, keys, 3)


def attention(make: Maker) -> list[Sample]:
    samples = [
        Sample(*tensors(make, 2, 2)),
        Sample(*tensors(make, 2, queries=4), is_causal=True, scale=0.3),
        Sample(*tensors(make, 2), make(3, 4)),
        Sample(*tensors(make, 2, 2), make.mask(2, 1, 1, 4) | np.eye(4, dtype=bool)[0]),
        Sample(*tensors(make, 2, 4, heads=2), enable_gqa=True),
        Sample(*tensors(make)),
    ]
    if make.dtype in WIDE:  # with dropout each step of the way is rounded, here as in torch
        samples.append(Sample(*tensors(make, 2), dropout_p=0.5))
    return samples


def attention_edges(make: Maker) -> list[Sample]:
    q, k, v = tensors(make, 2)
    nowhere = np.array([[True] * 4, [False] * 4, [False, True, False, False]])
    return [
        Sample(*tensors(make, 2), nowhere),
        Sample(*tensors(make, 2, keys=0)),
        Sample(*tensors(make, 2, queries=0)),
        Sample(*tensors(make, 0)),
        Sample(*tensors(make, 2, queries=2), is_causal=True),
        Sample(*tensors(make, 2, queries=6), is_causal=True),
        Sample(20 * q, 20 * k, v),
    ]


def attention_errors(make: Maker) -> list[Raises]:
    q, k, v = tensors(make, 2)
    return [
        Raises(TypeError, "query", "text", k, v),
        Raises(RuntimeError, "dimension", q[0, 0], k, v),
        Raises(RuntimeError, "dtype", q, k.astype(np.float64), v),
        Raises(RuntimeError, "key", q, k[..., :1], v),
        Raises(RuntimeError, "is_causal", q, k, v, make(3, 4), is_causal=True),
        Raises(RuntimeError, "is_causal", *tensors(make, 1, 2), make(3, 4), is_causal=True),
        Raises(RuntimeError, "attn_mask", q, k, v, make(3, 5)),
        Raises(RuntimeError, "attn_mask", q, k, v, make.index(3, 4, below=2)),
        Raises(RuntimeError, "dropout", q, k, v, dropout_p=1.5),
        Raises(RuntimeError, "heads", *tensors(make, 2, 4, heads=3), enable_gqa=True),
    ]


def heads(make: Maker) -> list[Sample]:
    """Two heads on four features."""
    query, key = make(2, 2, 4), make(3, 2, 4)
    weights = make(12, 4), make(12)
    out = make(4, 4), make(4)
    nothing = (None, None, False, 0.0)
    padding = np.array([[False, True, True], [False, False, True]])
    separate = {"use_separate_proj_weight": True, "need_weights": False}
    names = ("q_proj_weight", "k_proj_weight", "v_proj_weight")
    projections = dict(zip(names, (make(4, 4), make(4, 2), make(4, 3))))
    samples = [
        Sample(query, key, key, 4, 2, *weights, *nothing, *out),
        Sample(query, query, query, 4, 2, *weights, *nothing, *out, need_weights=False),
        Sample(
            query, key, key, 4, 2, *weights, make(1, 1, 4), make(1, 1, 4), True, 0.5, *out,
            True, padding, average_attn_weights=False,
        ),
        Sample(
            query, key, key, 4, 2, weights[0], None, *nothing, *out, True, make(2, 3), False,
            make(2, 3),
        ),
        Sample(
            query, make(3, 2, 2), make(3, 2, 3), 4, 2, None, weights[1], *nothing, *out,
            **separate, **projections,
        ),
        Sample(query[:, 0], key[:, 0], key[:, 0], 4, 2, *weights, *nothing, make(4, 4), None),
    ]  # fmt: skip
    # Second derivatives, which are checked in float64, take long.
    return samples[::2] if make.dtype == "float64" else samples


def heads_errors(make: Maker) -> list[Raises]:
    query, key = make(3, 2, 4), make(4, 2, 4)
    rest = (make(12, 4), make(12), None, None, False, 0.0, make(4, 4), make(4))
    return [
        Raises(AssertionError, "query", query[0, 0], key, key, 4, 2, *rest),
        Raises(AssertionError, "key", query, key[0], key, 4, 2, *rest),
        Raises(AssertionError, "embed", query, key, key, 5, 2, *rest),
        Raises(AssertionError, "num_heads", query, key, key, 4, 3, *rest),
        Raises(RuntimeError, "attn_mask", query, key, key, 4, 2, *rest, attn_mask=make(3, 3)),
        Raises(RuntimeError, "is_causal", query, key, key, 4, 2, *rest, is_causal=True),
    ]


ROWS = [
    OpRow(
        NAME,
        attention,
        edges=attention_edges,
        errors=attention_errors,
        keeps="query and key, of which torch keeps scaled copies where it has no fused kernel",
    ),
    OpRow(HEAD, heads, dtypes=WIDE, domain=(-0.7, 0.7), errors=heads_errors),
]
