"""The parts of torch's attention, and softmax with its derivative, which libraries call too."""

from __future__ import annotations

import math
from typing import Any

import nnkit
from nnkit import Tensor
from nnkit.nn import functional as F

__all__ = [
    "_add_relu", "_log_softmax", "_log_softmax_backward_data", "_masked_softmax",
    "_native_multi_head_attention", "_softmax", "_softmax_backward_data",
    "_transform_bias_rescale_qkv",
]  # fmt: skip
OF_SCORES, OF_KEYS = 0, 1  # kinds of masks: (L, L), and (N, L)


def _softmax(input: Tensor, dim: int, half_to_float: bool) -> Tensor:
    return F.softmax(input, dim)


def _log_softmax(input: Tensor, dim: int, half_to_float: bool) -> Tensor:
    return F.log_softmax(input, dim)


def _softmax_backward_data(
    grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any, *, grad_input: Any = None
) -> Tensor:
    """The gradient of the input of a softmax, given that of its ``output``."""
    weighted = grad_output * output
    found = (weighted - output * weighted.sum(dim, keepdim=True)).to(input_dtype)
    return found if grad_input is None else grad_input.copy_(found)


def _log_softmax_backward_data(
    grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any
) -> Tensor:
    """The gradient of the input of a log_softmax, given that of its ``output``."""
    return (grad_output - output.exp() * grad_output.sum(dim, keepdim=True)).to(input_dtype)


def _masked_softmax(
    input: Tensor, mask: Tensor, dim: int | None = None, mask_type: int | None = None
) -> Tensor:
    """Softmax of the unmasked elements, 0 elsewhere; by default along the last dimension.

    For scores (N, heads, L, L) the mask may be one of scores (L, L), or one of keys (N, L).
    """
    if mask.dtype is not nnkit.bool:
        raise RuntimeError("Mask should be a boolean tensor")
    if input.ndim == 4 and mask.ndim == 2:
        if mask_type == OF_SCORES:
            mask = mask[None, None]
        elif mask_type == OF_KEYS:
            mask = mask[:, None, None]
    if mask.ndim != input.ndim:
        raise RuntimeError("Mask shape should match input")
    hidden = input.masked_fill(mask, nnkit.finfo(input.dtype).min)
    return F.softmax(hidden, -1 if dim is None else dim).masked_fill(mask, 0)


def _transform_bias_rescale_qkv(
    qkv: Tensor, qkv_bias: Tensor, num_heads: int
) -> tuple[Tensor, ...]:
    """Queries, keys and values (N, heads, L, E), with their bias, of which queries are scaled."""
    batch, length, width = qkv.shape
    heads = (qkv + qkv_bias).reshape(batch, length, 3, num_heads, width // (3 * num_heads))
    query, key, value = heads.permute(2, 0, 3, 1, 4)
    return query / math.sqrt(query.shape[-1]), key, value


def _native_multi_head_attention(
    query: Tensor, key: Tensor, value: Tensor, embed_dim: int, num_head: int, qkv_weight: Tensor,
    qkv_bias: Tensor, proj_weight: Tensor, proj_bias: Tensor, mask: Tensor | None = None,
    need_weights: bool = True, average_attn_weights: bool = True, mask_type: int | None = None,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """`torch.nn.functional.multi_head_attention_forward` for inputs with the batch first."""
    of_keys = mask if mask_type == OF_KEYS else None
    of_scores = mask if mask_type != OF_KEYS else None
    if of_scores is not None and of_scores.ndim == 4:
        of_scores = of_scores.flatten(0, 1)
    out, weights = F.multi_head_attention_forward(
        query.transpose(0, 1), key.transpose(0, 1), value.transpose(0, 1), embed_dim, num_head,
        qkv_weight, qkv_bias, None, None, False, 0.0, proj_weight, proj_bias, False, of_keys,
        need_weights, of_scores, average_attn_weights=average_attn_weights,
    )  # fmt: skip
    return out.transpose(0, 1), weights


def _add_relu(input: Tensor, other: Any, *, alpha: float = 1) -> Tensor:
    return nnkit.add(input, other, alpha=alpha).relu()
