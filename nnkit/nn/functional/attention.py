"""Attention as functions."""

from __future__ import annotations

import math
from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.arguments.casting import CASTING
from nnkit.autograd.op.registry import LIFTED
from nnkit.autograd.ops.attention import scaled_dot_product_attention
from nnkit.autograd.ops.creation.factories import zeros, zeros_like
from nnkit.autograd.ops.linalg.linear import linear
from nnkit.autograd.ops.shape.joining import cat
from nnkit.backend.dtype import BOOL, FLOATING
from nnkit.backend.reference.attention import attention_scores
from nnkit.backend.warning import warn
from nnkit.nn.functional.dropout import dropout
from nnkit.nn.functional.padding import pad

__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]


def additive_mask(mask: Any, name: str, dtype: Any, other: Any = None, beside: str = "") -> Any:
    """A mask to be added to scores: a bool one, True where a key is hidden, becomes 0 and -inf;
    None stays None. With a warning if ``other``, the mask called ``beside``, is of another kind.

    Raises:
        AssertionError: the mask is neither bool nor floating point.
        RuntimeError: it is no tensor.
    """
    if mask is not None and not isinstance(mask, Tensor):
        raise RuntimeError(f"{name}: expected a mask of class Tensor, got {type(mask).__name__}")
    if mask is not None and isinstance(other, Tensor) and other.dtype is not mask.dtype:
        warn(
            f"Support for mismatched {name} and {beside} is deprecated: give both the same dtype, "
            f"not {mask.dtype} and {other.dtype}."
        )
    if mask is None or mask.dtype.category == FLOATING:
        return mask
    if mask.dtype.category != BOOL:
        raise AssertionError(
            f"only bool and floating types of {name} are supported, got {mask.dtype}"
        )
    return zeros_like(mask, dtype=dtype).masked_fill_(mask, -math.inf)


def check_dimensions(
    query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None,
    attn_mask: Tensor | None, num_heads: int,
) -> bool:  # fmt: skip
    """Whether the tensors are a batch.

    Raises:
        AssertionError: they do not fit each other.
    """
    if query.ndim not in (2, 3):
        raise AssertionError(
            "query should be unbatched 2D or batched 3D tensor but received "
            f"{query.ndim}-D query tensor"
        )
    of = f"For {'batched (3-D)' if query.ndim == 3 else 'unbatched (2-D)'} `query`, expected "
    if not key.ndim == value.ndim == query.ndim:
        raise AssertionError(
            f"{of}`key` and `value` to be {query.ndim}-D but found {key.ndim}-D and {value.ndim}-D "
            "tensors respectively"
        )
    for name, mask, dimensions, told in (
        ("key_padding_mask", key_padding_mask, (query.ndim - 1,), f"`None` or {query.ndim - 1}-D"),
        ("attn_mask", attn_mask, (2, 3), "`None`, 2-D or 3-D"),
    ):
        if mask is not None and mask.ndim not in dimensions:
            raise AssertionError(
                f"{of}`{name}` to be {told} but found {mask.ndim}-D tensor instead"
            )
    if query.ndim == 2 and attn_mask is not None and attn_mask.ndim == 3:
        shape = (num_heads, query.shape[0], key.shape[0])
        if tuple(attn_mask.shape) != shape:
            raise AssertionError(
                f"multi_head_attention_forward(): Expected `attn_mask` shape to be {shape}, "
                f"got {tuple(attn_mask.shape)}"
            )
    return query.ndim == 3


def _masks(
    key_padding_mask: Tensor | None, attn_mask: Tensor | None, batch: int, num_heads: int,
    queries: int, keys: int, dtype,
) -> list[Tensor]:  # fmt: skip
    """The masks that there are, to be added to scores (batch, heads, queries, keys)."""
    masks = []
    if attn_mask is not None:
        mask = additive_mask(attn_mask, "attn_mask", dtype)
        leading = () if mask.ndim == 2 else (batch * num_heads,)
        if tuple(mask.shape) != (*leading, queries, keys):
            raise RuntimeError(
                f"The shape of the {mask.ndim}D attn_mask is {tuple(mask.shape)}, but should be "
                f"{(*leading, queries, keys)}."
            )
        masks.append(mask.reshape(*((batch, num_heads) if leading else (1, 1)), queries, keys))
    if key_padding_mask is not None:
        padding = additive_mask(key_padding_mask, "key_padding_mask", dtype, attn_mask, "attn_mask")
        if tuple(padding.shape) != (batch, keys):
            raise AssertionError(
                f"expected key_padding_mask of shape {(batch, keys)}, got {tuple(padding.shape)}"
            )
        masks.append(padding.reshape(batch, 1, 1, keys))
    return masks


def project(inputs: tuple[Tensor, ...], weights, biases) -> tuple[Tensor, ...]:
    """Query, key and value, each by its own linear map."""
    query, key, value = inputs
    error = RuntimeError if isinstance(weights, Tensor) else AssertionError  # as in torch
    if isinstance(weights, Tensor):
        if query is key and key is value:
            return linear(query, weights, biases).chunk(3, -1)
        weights = weights.chunk(3)
    for name, x, weight in zip(("query", "key", "value"), inputs, weights):
        if weight is None or tuple(weight.shape) != (query.shape[-1], x.shape[-1]):
            raise error(
                f"multi_head_attention_forward(): expecting {name} weights shape of "
                f"{(query.shape[-1], x.shape[-1])}, "
                f"but got {None if weight is None else tuple(weight.shape)}"
            )
    parts = (None,) * 3 if biases is None else biases.chunk(3)
    return tuple(linear(x, w, b) for x, w, b in zip(inputs, weights, parts))


def _heads(x: Tensor, num_heads: int) -> Tensor:
    """(L, N, E) as (N, heads, L, E / heads)."""
    length, batch, features = x.shape
    return x.reshape(length, batch, num_heads, features // num_heads).permute(1, 2, 0, 3)


def _static_heads(x: Tensor, name: str, batch: int, num_heads: int, size: int) -> Tensor:
    if x.shape[0] != batch * num_heads or x.shape[2] != size:
        raise AssertionError(
            f"expecting {name} of shape ({batch * num_heads}, S, {size}), but got {tuple(x.shape)}"
        )
    return x.reshape(batch, num_heads, x.shape[1], size)


def _check_features(features: int, embed_dim: int, num_heads: int) -> None:
    if features != embed_dim:
        raise AssertionError(
            f"was expecting embedding dimension of {embed_dim}, but got {features}"
        )
    if embed_dim % num_heads:
        raise AssertionError(f"embed_dim {embed_dim} not divisible by num_heads {num_heads}")


def _weights_and_values(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout_p: float
) -> tuple[Tensor, Tensor]:
    """The attention weights of each head, and the values that they average."""
    if mask is not None and CASTING.enabled:
        mask = mask.to(q.dtype)
    scale = 1 / math.sqrt(q.shape[-1])
    weights = attention_scores(LIFTED, q, k, mask, False, scale).softmax(-1)
    if dropout_p > 0:
        weights = dropout(weights, dropout_p)
    return weights, weights @ v


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention with several heads, each on its own projection of the inputs;
    `nnkit.nn.MultiheadAttention` is the layer.

    Vaswani et al., "Attention is all you need", 2017.

    Args:
        query: (L, N, E), or (L, E) without a batch; so are ``key`` (S, N, E) and ``value``.
        key: the keys.
        value: the values.
        embed_dim_to_check: E.
        num_heads: a divisor of E.
        in_proj_weight: (3 E, E), the projections of query, key and value.
        in_proj_bias: (3 E,).
        bias_k: (1, 1, E), a key appended to all sequences; ``bias_v`` its value.
        bias_v: (1, 1, E).
        add_zero_attn: append a key and value of zeros.
        dropout_p: the probability that an attention weight is dropped in training.
        out_proj_weight: (E, E), the projection of the result.
        out_proj_bias: (E,).
        training: whether to drop out.
        key_padding_mask: (N, S), True (or -inf) where a key is to be ignored.
        need_weights: return the attention weights too.
        attn_mask: (L, S) or (N * num_heads, L, S), True where a query may not look, or floating,
            added to the scores.
        use_separate_proj_weight: take the three weights that follow, not ``in_proj_weight``.
        q_proj_weight: (E, E).
        k_proj_weight: (E, features of key).
        v_proj_weight: (E, features of value).
        static_k: (N * num_heads, S, E / num_heads), used instead of the projected key.
        static_v: used instead of the projected value.
        average_attn_weights: return the mean of the weights over the heads.
        is_causal: a hint that ``attn_mask``, which must be given, is the causal mask.

    Returns:
        The result (L, N, E), and the weights (N, L, S), or (N, num_heads, L, S), or None.

    Raises:
        AssertionError: shapes or options do not fit each other.
        RuntimeError: ``attn_mask`` has a wrong shape, or is missing with ``is_causal``.

    Example:
        >>> import nnkit
        >>> x, w = nnkit.ones(3, 1, 2), nnkit.eye(2)
        >>> result, weights = nnkit.nn.functional.multi_head_attention_forward(
        ...     x, x, x, 2, 1, nnkit.cat([w, w, w]), None, None, None, False, 0.0, w, None
        ... )
        >>> result.shape, weights.shape
        (nnkit.Size([3, 1, 2]), nnkit.Size([1, 3, 3]))
    """
    inputs = (query, key, value)
    batched = check_dimensions(*inputs, key_padding_mask, attn_mask, num_heads)
    _check_features(query.shape[-1], embed_dim_to_check, num_heads)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "multi_head_attention_forward(): is_causal needs attn_mask, which "
            "Transformer.generate_square_subsequent_mask makes"
        )
    if not batched:
        same = query is key and key is value
        inputs = (query.unsqueeze(1),) * 3 if same else tuple(x.unsqueeze(1) for x in inputs)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    shape, other = inputs[1].shape, inputs[2].shape
    if shape[:2] != other[:2] or (not use_separate_proj_weight and shape != other):
        raise AssertionError(f"key shape {tuple(shape)} does not match value shape {tuple(other)}")
    queries, batch, embed_dim = inputs[0].shape
    keys = key.shape[0] if static_k is None else static_k.shape[1]
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None
    else:
        is_causal = False
    masks = _masks(key_padding_mask, attn_mask, batch, num_heads, queries, keys, query.dtype)

    weights = (q_proj_weight, k_proj_weight, v_proj_weight)
    if not use_separate_proj_weight:
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        weights = in_proj_weight
    q, k, v = project(inputs, weights, in_proj_bias)
    if (bias_k is None) != (bias_v is None):
        raise AssertionError("bias_k and bias_v must be given together")
    if bias_k is not None and bias_v is not None:
        if static_k is not None or static_v is not None:
            raise AssertionError("bias cannot be added to static key.")
        k = cat([k, bias_k.repeat(1, batch, 1)])
        v = cat([v, bias_v.repeat(1, batch, 1)])
        masks = [pad(m, (0, 1)) for m in masks]
    size = embed_dim // num_heads
    q, k, v = (_heads(x, num_heads) for x in (q, k, v))
    if static_k is not None:
        k = _static_heads(static_k, "static_k", batch, num_heads, size)
    if static_v is not None:
        v = _static_heads(static_v, "static_v", batch, num_heads, size)
    if add_zero_attn:
        nothing = zeros((batch, num_heads, 1, size), dtype=k.dtype, device=k.device)
        k, v = cat([k, nothing], 2), cat([v, nothing], 2)
        masks = [pad(m, (0, 1)) for m in masks]

    mask = sum(masks[1:], masks[0]) if masks else None
    dropout_p = dropout_p if training else 0.0
    attention = None
    if need_weights:
        attention, result = _weights_and_values(q, k, v, mask, dropout_p)
        if average_attn_weights:
            attention = attention.mean(1)
    else:
        result = scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal)
    rows = result.permute(2, 0, 1, 3).reshape(queries * batch, embed_dim)
    result = linear(rows, out_proj_weight, out_proj_bias)
    result = result.view(queries, batch, result.shape[1])
    if batched:
        return result, attention
    return result.squeeze(1), None if attention is None else attention.squeeze(0)
