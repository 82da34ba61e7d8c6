"""Attention as torch's kernels for inference alone compute it, unlike its layers: a query with no
key to look at gives NaN, and the output of an encoder for padding is 0."""

from __future__ import annotations

import math
from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.arguments.casting import CASTING
from nnkit.autograd.grad_mode import MODE


def is_inference(module: Any, x: Tensor) -> bool:
    """Whether such a kernel serves a module of self-attention on a batch: none would have to
    remember it for a gradient."""
    if module.training or x.ndim != 3 or x.is_meta or CASTING.enabled or MODE.transforms:
        return False
    return not MODE.enabled or not any(t.requires_grad for t in (x, *module.parameters()))


def is_attention_served(attention: Any, x: Tensor) -> bool:
    """Whether the kernels know a `MultiheadAttention` of this kind."""
    return (
        attention.batch_first
        and attention.in_proj_weight is not None
        and attention.in_proj_weight.dtype is x.dtype
        and attention.num_heads % 2 == 0
        and attention.bias_k is None
        and not attention.add_zero_attn
    )


def is_layer_served(layer: Any, x: Tensor) -> bool:
    """Whether the kernels know an encoder layer of this kind."""
    return (
        is_attention_served(layer.self_attn, x)
        and layer.self_attn.in_proj_bias is not None
        and layer.activation_relu_or_gelu > 0
        and layer.norm1.eps == layer.norm2.eps
        and not any(m._forward_hooks or m._forward_pre_hooks for m in layer.modules())
    )


def without_lost(
    out: Tensor, attention: Any, mask: Tensor | None, padding: Tensor | None
) -> Tensor:
    """``out``, (N, L, E), with NaN for the queries that may look at no key."""
    if mask is None and padding is None:
        return out
    merged, kind = attention.merge_masks(mask, padding, out)
    lost = (merged == -math.inf).all(-1)
    lost = lost[:, None] if kind == 1 else lost.any(1)
    return out.masked_fill(lost[..., None], math.nan)


def ends_in_padding(ignored: Tensor) -> Tensor:
    """Whether all elements to ignore stand behind the others: a number that nobody reads."""
    return (ignored[:, 1:] | ~ignored[:, :-1]).all()
