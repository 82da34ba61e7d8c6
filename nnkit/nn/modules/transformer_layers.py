"""The layers of a transformer's encoder and decoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.autograd import Tensor
from nnkit.nn import functional as F
from nnkit.nn.modules.activation import GELU, ReLU
from nnkit.nn.modules.attention import MultiheadAttention
from nnkit.nn.modules.dropout import Dropout
from nnkit.nn.modules.linear import Linear
from nnkit.nn.modules.module import Module
from nnkit.nn.modules.norm import LayerNorm
from nnkit.nn.modules.padded_inference import is_inference, is_layer_served, without_lost

__all__ = ["TransformerDecoderLayer", "TransformerEncoderLayer"]


def _activation(activation: str | Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return F.relu if activation == "relu" else F.gelu


class _Layer(Module):
    """The base of encoder and decoder layers: self-attention and a network of two linear maps."""

    blocks: int  # how many residual blocks there are

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        made: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}

        def attention() -> MultiheadAttention:
            return MultiheadAttention(
                d_model, nhead, dropout=dropout, batch_first=batch_first, **made
            )

        self.self_attn = attention()
        if self.blocks == 3:
            self.multihead_attn = attention()
        self.linear1 = Linear(d_model, dim_feedforward, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **made)
        self.norm_first = norm_first
        for k in range(1, self.blocks + 1):
            setattr(self, f"norm{k}", LayerNorm(d_model, eps=layer_norm_eps, **made))
        for k in range(1, self.blocks + 1):
            setattr(self, f"dropout{k}", Dropout(dropout))
        self.activation = _activation(activation)

    def _residual(self, x: Tensor, block: Callable[[Tensor], Tensor], k: int) -> Tensor:
        """``x`` plus its k-th block, normalized before or after."""
        norm, dropout = getattr(self, f"norm{k}"), getattr(self, f"dropout{k}")
        if self.norm_first:
            return x + dropout(block(norm(x)))
        return norm(x + dropout(block(x)))

    def _self_attention(
        self, mask: Tensor | None, padding: Tensor | None, is_causal: bool
    ) -> Callable[[Tensor], Tensor]:
        return lambda x: self.self_attn(
            x, x, x, padding, need_weights=False, attn_mask=mask, is_causal=is_causal
        )[0]

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Self-attention and then a network of two linear maps, each added to its input and normalized.

    Args:
        d_model: features E of the sequences.
        nhead: heads of the attention.
        dim_feedforward: features between the two linear maps.
        dropout: the probability that an element of either block's output is dropped.
        activation: "relu", "gelu" or a function, between the linear maps.
        layer_norm_eps: of the normalizations.
        batch_first: whether sequences are (N, L, E) instead of (L, N, E).
        norm_first: normalize the blocks' inputs instead of the sums.
        bias: whether linear maps and normalizations have biases.
        device: where the parameters are.
        dtype: their dtype.

    Raises:
        RuntimeError: ``activation`` is another string.

    >>> import nnkit
    >>> layer = nnkit.nn.TransformerEncoderLayer(d_model=8, nhead=2)
    >>> layer(nnkit.zeros(5, 3, 8)).shape
    nnkit.Size([5, 3, 8])
    """

    blocks = 2
    _kept_by_torch = ("activation_relu_or_gelu",)

    @property
    def activation_relu_or_gelu(self) -> int:
        """1 for ReLU, 2 for GELU, 0 for another activation: torch's mark of a faster inference."""
        if self.activation is F.relu or isinstance(self.activation, ReLU):
            return 1
        return 2 if self.activation is F.gelu or isinstance(self.activation, GELU) else 0

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """The layer's output for ``src`` (L, N, E).

        Args:
            src: the sequences.
            src_mask: (L, L) or (N * nhead, L, L), True or -inf where a query may not look.
            src_key_padding_mask: (N, L), True or -inf where an element is to be ignored.
            is_causal: a hint that ``src_mask`` is the causal mask.

        In inference, as in torch, the result of an element that may look at none is NaN.
        """
        attend = self._self_attention(src_mask, src_key_padding_mask, is_causal)
        out = self._residual(self._residual(src, attend, 1), self._feed_forward, 2)
        if is_inference(self, src) and is_layer_served(self, src):
            return without_lost(out, self.self_attn, src_mask, src_key_padding_mask)
        return out


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's output, and a network of two linear maps, each
    added to its input and normalized.

    The arguments are those of `TransformerEncoderLayer`.

    >>> import nnkit
    >>> layer = nnkit.nn.TransformerDecoderLayer(d_model=8, nhead=2)
    >>> layer(nnkit.zeros(5, 3, 8), nnkit.zeros(6, 3, 8)).shape
    nnkit.Size([5, 3, 8])
    """

    blocks = 3

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The layer's output for ``tgt`` (L, N, E) and the encoder's output ``memory`` (S, N, E);
        masks as in `TransformerEncoderLayer.forward`."""

        def attend_to_memory(x: Tensor) -> Tensor:
            return self.multihead_attn(
                x, memory, memory, memory_key_padding_mask, need_weights=False,
                attn_mask=memory_mask, is_causal=memory_is_causal,
            )[0]  # fmt: skip

        attend = self._self_attention(tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        x = self._residual(tgt, attend, 1)
        return self._residual(self._residual(x, attend_to_memory, 2), self._feed_forward, 3)
