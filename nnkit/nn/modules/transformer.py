"""The transformer and its layers (Vaswani et al., "Attention is all you need", 2017)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.arguments.dims import check_tensor
from nnkit.autograd.ops.creation.factories import full
from nnkit.backend.warning import warn
from nnkit.nn import functional as F
from nnkit.nn import init
from nnkit.nn.functional.attention import additive_mask
from nnkit.nn.modules.container import ModuleList
from nnkit.nn.modules.module import Module
from nnkit.nn.modules.norm import LayerNorm
from nnkit.nn.modules.padded_inference import ends_in_padding, is_inference
from nnkit.nn.modules.transformer_layers import TransformerDecoderLayer, TransformerEncoderLayer

__all__ = [
    "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
    "TransformerEncoderLayer",
]  # fmt: skip


def _causal_mask(size: int, device: Any, dtype: Any) -> Tensor:
    return full((size, size), float("-inf"), dtype=dtype, device=device).triu(1)


def _is_causal(mask: Tensor | None, is_causal: bool | None, size: int) -> bool:
    """The hint, or where there is none whether ``mask`` is the causal mask."""
    if is_causal is not None or mask is None:
        return bool(is_causal)
    causal = _causal_mask(size, mask.device, mask.dtype)
    return mask.shape == causal.shape and bool((mask == causal).all())


def _copies(layer: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(layer) for _ in range(count)])


def _length(x: Tensor, layer: Module) -> int:
    return x.shape[1 if x.ndim == 3 and layer.self_attn.batch_first else 0]


def _why_padded(layer: Any) -> str:
    """The reason, in words, why torch does not compute a layer without the padding; empty if there
    is none."""
    if not isinstance(layer, TransformerEncoderLayer):
        return " was not TransformerEncoderLayer"
    attention = layer.self_attn
    if layer.norm_first:
        return ".norm_first was True"
    if not attention.batch_first:
        return ".self_attn.batch_first was not True (which is faster in inference)"
    if attention.in_proj_weight is None:
        return ".self_attn._qkv_same_embed_dim was not True"
    if attention.in_proj_bias is None:
        return ".self_attn was passed bias=False"
    if not layer.activation_relu_or_gelu:
        return ".activation_relu_or_gelu was not True"
    if layer.norm1.eps != layer.norm2.eps:
        return ".norm1.eps was not equal to encoder_layer.norm2.eps"
    return ".self_attn.num_heads is odd" if attention.num_heads % 2 else ""


class TransformerEncoder(Module):
    """Copies of an encoder layer, one after the other.

    Args:
        encoder_layer: the layer; each copy begins with its parameters.
        num_layers: how many copies.
        norm: a module for the result.
        enable_nested_tensor: whether in inference the results of padding are 0, before ``norm``.
        mask_check: whether they are only if all padding stands behind the other elements.

    >>> import nnkit
    >>> layer = nnkit.nn.TransformerEncoderLayer(d_model=8, nhead=2, batch_first=True)
    >>> nnkit.nn.TransformerEncoder(layer, num_layers=2)(nnkit.zeros(3, 5, 8)).shape
    nnkit.Size([3, 5, 8])
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check
        reason = _why_padded(encoder_layer)
        # Whether it is computed in inference as if without the padding.
        self.use_nested_tensor = enable_nested_tensor and not reason
        if enable_nested_tensor and reason:
            warn(
                "enable_nested_tensor is True, but self.use_nested_tensor is False because "
                f"encoder_layer{reason}"
            )

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """The last layer's output; the arguments are those of `TransformerEncoderLayer.forward`.
        Without ``is_causal`` the mask is looked at."""
        check_tensor("TransformerEncoder", src, "src")
        padding = additive_mask(
            src_key_padding_mask, "src_key_padding_mask", src.dtype, mask, "mask"
        )
        mask = additive_mask(mask, "mask", src.dtype)
        causal = _is_causal(mask, is_causal, _length(src, self.layers[0]))
        shortened = mask is None and is_inference(self.layers[0], src) and self.use_nested_tensor
        for layer in self.layers:
            src = layer(src, src_mask=mask, src_key_padding_mask=padding, is_causal=causal)
        if padding is not None and shortened:
            ignored = padding != 0
            if self.mask_check:
                ignored &= ends_in_padding(ignored)
            src = src.masked_fill(ignored[..., None], 0)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """Copies of a decoder layer, one after the other.

    Args:
        decoder_layer: the layer; each copy begins with its parameters.
        num_layers: how many copies.
        norm: a module for the result.

    >>> import nnkit
    >>> layer = nnkit.nn.TransformerDecoderLayer(d_model=8, nhead=2)
    >>> decoder = nnkit.nn.TransformerDecoder(layer, num_layers=2)
    >>> decoder(nnkit.zeros(5, 3, 8), nnkit.zeros(6, 3, 8)).shape
    nnkit.Size([5, 3, 8])
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The last layer's output; the arguments are those of `TransformerDecoderLayer.forward`.
        Without ``tgt_is_causal`` the mask is looked at."""
        causal = _is_causal(tgt_mask, tgt_is_causal, _length(tgt, self.layers[0]))
        for layer in self.layers:
            tgt = layer(
                tgt,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder that reads ``src`` and a decoder that reads ``tgt`` and the encoder's output.

    Args:
        d_model: features E of the sequences.
        nhead: heads of each attention.
        num_encoder_layers: layers of the encoder.
        num_decoder_layers: layers of the decoder.
        dim_feedforward: features between the two linear maps of a layer.
        dropout: the probability that an element of a block's output is dropped.
        activation: "relu", "gelu" or a function, between the linear maps.
        custom_encoder: another encoder.
        custom_decoder: another decoder.
        layer_norm_eps: of the normalizations.
        batch_first: whether sequences are (N, L, E) instead of (L, N, E).
        norm_first: normalize the blocks' inputs instead of the sums.
        bias: whether linear maps and normalizations have biases.
        device: where the parameters are.
        dtype: their dtype.

    >>> import nnkit
    >>> model = nnkit.nn.Transformer(8, 2, 1, 1, dim_feedforward=16, batch_first=True)
    >>> model(nnkit.zeros(3, 6, 8), nnkit.zeros(3, 5, 8)).shape
    nnkit.Size([3, 5, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        made: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        settings = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
            norm_first,
        )  # fmt: skip
        if custom_encoder is None:
            layer = TransformerEncoderLayer(*settings, **made)
            norm = LayerNorm(d_model, eps=layer_norm_eps, **made)
            custom_encoder = TransformerEncoder(layer, num_encoder_layers, norm)
        self.encoder = custom_encoder
        if custom_decoder is None:
            layer = TransformerDecoderLayer(*settings, **made)
            norm = LayerNorm(d_model, eps=layer_norm_eps, **made)
            custom_decoder = TransformerDecoder(layer, num_decoder_layers, norm)
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The decoder's output for ``src`` (S, N, E) and ``tgt`` (L, N, E); masks as in
        `TransformerEncoder.forward` and `TransformerDecoder.forward`.

        Raises:
            RuntimeError: batch sizes or features do not fit.
        """
        batch_dim = 0 if self.batch_first else 1
        if src.ndim == 3 and src.shape[batch_dim] != tgt.shape[batch_dim]:
            raise RuntimeError(
                "the batch number of src and tgt must be equal, got shapes "
                f"{list(src.shape)} and {list(tgt.shape)}"
            )
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError(
                f"the feature number of src and tgt must be equal to d_model={self.d_model}, got "
                f"shapes {list(src.shape)} and {list(tgt.shape)}"
            )
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """The causal mask (sz, sz): -inf above the diagonal, 0 elsewhere.

        >>> import nnkit
        >>> nnkit.nn.Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        return _causal_mask(sz, device, dtype)
