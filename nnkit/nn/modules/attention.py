"""Attention with several heads."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.ops.creation.factories import empty
from nnkit.backend.dtype import bool_
from nnkit.nn import functional as F
from nnkit.nn import init
from nnkit.nn.functional.attention import additive_mask
from nnkit.nn.modules.linear import NonDynamicallyQuantizableLinear
from nnkit.nn.modules.module import Module
from nnkit.nn.modules.padded_inference import is_attention_served, is_inference, without_lost
from nnkit.nn.parameter import Parameter

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """``concat(head_1, ..., head_n) W_o``, where each head is the attention of its own linear
    projections of query, key and value.

    Vaswani et al., "Attention is all you need", 2017.

    Args:
        embed_dim: features E of query and result.
        num_heads: a divisor of E.
        dropout: the probability that an attention weight is dropped in training.
        bias: whether the projections have biases.
        add_bias_kv: append a learnt key and value to all sequences.
        add_zero_attn: append a key and value of zeros.
        kdim: features of the key, E when not given.
        vdim: features of the value, E when not given.
        batch_first: whether inputs and result are (N, L, E) instead of (L, N, E).
        device: where the parameters are.
        dtype: their dtype.

    The parameters are ``in_proj_weight`` (3 E, E), or where the features differ ``q_proj_weight``,
    ``k_proj_weight`` and ``v_proj_weight``; ``in_proj_bias`` (3 E,); ``out_proj``; ``bias_k`` and
    ``bias_v`` (1, 1, E).

    Raises:
        ValueError: a size is not positive.
        AssertionError: ``num_heads`` does not divide ``embed_dim``.

    >>> import nnkit
    >>> attention = nnkit.nn.MultiheadAttention(8, 2, batch_first=True)
    >>> x = nnkit.zeros(3, 5, 8)
    >>> result, weights = attention(x, x, x)
    >>> result.shape, weights.shape
    (nnkit.Size([3, 5, 8]), nnkit.Size([3, 5, 5]))
    """

    in_proj_weight: Parameter | None
    in_proj_bias: Parameter | None
    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and "
                f"num_heads={num_heads}"
            )
        super().__init__()
        if embed_dim % num_heads:
            raise AssertionError(
                f"embed_dim must be divisible by num_heads, got {embed_dim} and {num_heads}"
            )
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads

        def parameter(*shape: int) -> Parameter:
            return Parameter(empty(shape, device=device, dtype=dtype))

        if self._qkv_same_embed_dim:
            self.in_proj_weight = parameter(3 * embed_dim, embed_dim)
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                self.register_parameter(name, None)
        else:
            self.q_proj_weight = parameter(embed_dim, embed_dim)
            self.k_proj_weight = parameter(embed_dim, self.kdim)
            self.v_proj_weight = parameter(embed_dim, self.vdim)
            self.register_parameter("in_proj_weight", None)
        self.register_parameter("in_proj_bias", parameter(3 * embed_dim) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias=bias, device=device, dtype=dtype
        )
        self.bias_k = parameter(1, 1, embed_dim) if add_bias_kv else None
        self.bias_v = parameter(1, 1, embed_dim) if add_bias_kv else None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        if self.in_proj_weight is not None:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            for weight in (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """The result, and the attention weights or None; the arguments are described at
        `nnkit.nn.functional.multi_head_attention_forward`."""
        masks = [m for m in (key_padding_mask, attn_mask) if m is not None]
        served = (
            masks
            and query is key is value
            and all(isinstance(m, Tensor) and m.dtype is bool_ for m in masks)
            and is_inference(self, query)
            and is_attention_served(self, query)
        )
        turned = self.batch_first and query.ndim == 3
        if turned:
            if query is key and key is value:
                query = key = value = query.transpose(0, 1)
            else:
                query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        result, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        result = result.transpose(0, 1) if turned else result
        if served:
            result = without_lost(result, self, attn_mask, key_padding_mask)
        return result, weights

    def merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
    ) -> tuple[Tensor | None, int | None]:
        """Both masks as one, and its kind: 1 for padding alone, 2 where there is ``attn_mask``.

        Args:
            attn_mask: (L, L) or (N * num_heads, L, L).
            key_padding_mask: (N, L).
            query: (N, L, E).
        """
        padding = additive_mask(key_padding_mask, "key_padding_mask", query.dtype)
        if attn_mask is None:
            return padding, None if padding is None else 1
        batch, length, _ = query.shape
        merged = additive_mask(attn_mask, "attn_mask", query.dtype)
        heads = (batch, -1) if merged.ndim == 3 else (1, 1)
        merged = merged.reshape(*heads, length, length).expand(batch, self.num_heads, -1, -1)
        if padding is not None:
            merged = merged + padding.reshape(batch, 1, 1, length)
        return merged, 2
