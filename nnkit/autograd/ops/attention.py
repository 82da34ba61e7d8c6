"""Scaled dot-product attention."""

from __future__ import annotations

import math
from typing import Any

from nnkit.autograd.arguments.dims import broadcast_shape, broadcasts, check_tensor
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.promotion import check_dtype
from nnkit.autograd.op.registry import LIFTED, OPS
from nnkit.autograd.op.rule import rule
from nnkit.autograd.ops.dropout import dropout
from nnkit.autograd.ops.linalg.products import matmul
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.backend.dtype import BOOL, FLOATING, HALF, bool_, float32
from nnkit.backend.memory import steps_of
from nnkit.backend.reference.attention import attention_scores, attention_weights
from nnkit.backend.switches import attention as allowed


def _is_fused(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> bool:
    """Whether torch computes it as one operation."""
    q, k, v = query._array.shape, key._array.shape, value._array.shape
    alike = len(q) == len(k) == len(v) == 4 and q[:2] == k[:2] == v[:2] and q[3] == v[3]
    if not alike or (mask is not None and mask.ndim == 3):
        return False
    return _is_dense(query) and _is_dense(key) and _is_dense(value)


def _is_dense(x: Tensor) -> bool:
    """Whether the elements of a row follow each other."""
    array = x._array
    is_plain = array.size and array.shape[-1] > 1  # else memory does not show torch's stride
    return steps_of(array)[-1] == 1 if is_plain else x.stride(-1) == 1


def _gradients(
    B: Any, g_out: Any, q: Any, k: Any, v: Any, mask: Any, log_total: Any, is_causal: bool,
    scale: float, needs: tuple,
) -> tuple:  # fmt: skip
    g_q, g_k, g_v, g_mask = B.attention_grad(
        g_out, q, k, v, mask, log_total, is_causal, scale, needs
    )
    # Of matrices, unlike batches of them, the keys' gradient does not lie by columns in torch.
    return g_q, B.contiguous(g_k) if g_k.ndim == 2 else g_k, g_v, g_mask


_attention_in_steps, _attention = (
    rule(
        "attention", alone=alone, node=f"{node}Backward0", broadcasts=True, private=private,
        also=also, nondifferentiable=("log_total",), joint=_gradients,
    )
    for node, alone, private, also in (
        ("UnsafeView", "recorded", ("q", "k"), {}),  # torch multiplies both by a number first
        ("ScaledDotProductFlashAttentionForCpu", None, (), {"q": ("out",)}),
    )
)  # fmt: skip
F4 = float32.array
NAME = "scaled_dot_product_attention"


def additive(mask: Tensor, dtype) -> Tensor:
    """A mask to be added to scores of ``dtype``: of a bool one the logarithm, 0 where it is True,
    else -inf."""
    if mask.dtype.category != BOOL:
        return mask if mask.dtype is dtype else OPS["cast"](mask, dtype.array)
    B = mask._device.backend
    return wrap(B.log(B.cast(mask._array, dtype.array)), mask._device)


def _check(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float,
    is_causal: bool,
) -> None:  # fmt: skip
    if query.__class__ is key.__class__ is value.__class__ is Tensor:
        q, k, v = query._array, key._array, value._array
        if q.shape == k.shape == v.shape and q.ndim >= 2 and q.dtype is k.dtype is v.dtype is F4:
            if mask is None or (not is_causal and _is_plain_mask(mask, q.shape)):
                return
    tensors = {"query": query, "key": key, "value": value}
    for parameter, tensor in tensors.items():
        check_tensor(NAME, tensor, parameter)
    shapes = ", ".join(f"{p} {list(t.shape)}" for p, t in tensors.items())
    if any(t.dtype is not query.dtype for t in tensors.values()):
        raise RuntimeError(
            f"{NAME}(): expected query, key and value of one dtype, "
            f"got {query.dtype}, {key.dtype} and {value.dtype}"
        )
    if any(t.ndim < 2 for t in tensors.values()):
        raise RuntimeError(
            f"{NAME}(): query, key and value must be at least 2 dimensional, got {shapes}"
        )
    if mask is not None:
        check_tensor(NAME, mask, "attn_mask")
        kernel = allowed.flash and not mask.requires_grad and not dropout_p > 0
        if is_causal and not (kernel and _is_fused(query, key, value, mask)):
            raise RuntimeError(
                f"{NAME}(): Explicit attn_mask should not be set when is_causal=True"
            )
        if mask.dtype.category != BOOL and mask.dtype not in (float32, query.dtype):
            raise RuntimeError(
                f"{NAME}(): expected attn_mask of dtype bool, float32 or {query.dtype}, "
                f"got {mask.dtype}"
            )
    if _is_empty(query, value):
        return
    if query.shape[-1] == key.shape[-1]:
        check_dtype(NAME, query.dtype, ("complex",))  # torch has the scores before it sees values
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise RuntimeError(
            f"{NAME}(): expected query (..., L, E), key (..., S, E), value (..., S, Ev), "
            f"got {shapes}"
        )
    batch = broadcast_shape(NAME, [t.shape[:-2] for t in tensors.values()])
    if query.dtype.category < FLOATING:
        raise RuntimeError(f"{NAME}(): expected floating-point operands, got {query.dtype}")
    if mask is None:
        return
    scores = (*batch, query.shape[-2], key.shape[-2])
    fits = mask.ndim <= len(scores) and all(
        m in (1, n) for m, n in zip(reversed(mask.shape), reversed(scores))
    )
    if not fits:
        raise RuntimeError(
            f"{NAME}(): attn_mask of shape {list(mask.shape)} does not broadcast to the scores' "
            f"shape {list(scores)}"
        )


def _is_plain_mask(mask: Any, shape: tuple) -> bool:
    """Whether it fits float32 operands that all have this shape."""
    plain = mask.__class__ is Tensor and mask._array.dtype in (F4, bool_.array)
    return plain and broadcasts(mask._array.shape, (*shape[:-1], shape[-2]))


def _is_empty(query: Tensor, value: Tensor) -> bool:
    """Whether there is no value or no query, as their shapes alone say."""
    return not (value._array.size and query._array.shape[-2])


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``softmax(scale * query @ key.T + attn_mask) @ value``

    Vaswani et al., "Attention is all you need", 2017. Without dropout the scores are never all in
    memory at once, forward or backward.

    Args:
        query: (..., L, E).
        key: (..., S, E).
        value: (..., S, Ev).
        attn_mask: broadcasts to (..., L, S); bool, True where a query may look, or floating, added
            to the scores. A query that may look nowhere gets zeros.
        dropout_p: the probability that an attention weight is dropped, whenever it is not 0.
        is_causal: let query i look at keys 0 to i only; with a mask of which no gradient is asked,
            for four dimensions without dropout only.
        scale: ``1 / sqrt(E)`` when not given.
        enable_gqa: let groups of query heads (dimension -3) share a head of key and value.

    Returns:
        (..., L, Ev).

    Raises:
        RuntimeError: shapes or dtypes do not fit, or ``attn_mask`` may not come with ``is_causal``.

    Example:
        >>> import nnkit
        >>> q, k = nnkit.zeros(1, 2, 4), nnkit.zeros(1, 2, 4)
        >>> v = nnkit.tensor([[[1.0], [3.0]]])
        >>> nnkit.nn.functional.scaled_dot_product_attention(q, k, v)
        tensor([[[2.],
                 [2.]]])
    """
    if enable_gqa:
        key, value = (_repeat_heads(query, tensor) for tensor in (key, value))
    _check(query, key, value, attn_mask, dropout_p, is_causal)
    if not allowed.math:
        _check_way(query, key, value, attn_mask, dropout_p)
    if _is_empty(query, value):  # what torch makes of it, without a look at the key's shape
        out = query.new_zeros(*query.shape[:-1], value.shape[-1])
        return out.add(query.sum() + key.sum() + value.sum(), alpha=0)
    if scale is None:
        width = query._array.shape[-1]
        scale = 1 / math.sqrt(width) if width else 1.0
    mask = None if attn_mask is None else additive(attn_mask, query.dtype)
    if query._array.dtype in HALF and (
        dropout_p > 0 or not _is_fused(query, key, value, mask)
    ):  # as in torch
        half = query._array.dtype
        q, k, v = (OPS["cast"](t, F4) for t in (query, key, value))
        mask = None if mask is None else OPS["cast"](mask, F4)
        return OPS["cast"](
            scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal, scale), half
        )
    operands = (query, key, value)
    inferred = sum([t.is_inference() for t in operands]) if MODE.enabled else 0
    fused = _is_fused(*operands, mask)
    if 0 < inferred < 3 and not fused:  # torch scales the query and a view of the key
        query, key = query * 1, key.detach() * 1 if key.is_inference() else key
    elif not dropout_p > 0:  # as in torch
        attend = _attention if fused else _attention_in_steps
        return attend(query, key, value, mask, bool(is_causal), float(scale))[0]
    scores = attention_scores(LIFTED, query, key, mask, is_causal, scale)
    return matmul(dropout(attention_weights(LIFTED, scores), dropout_p, True), value)


def _check_way(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float
) -> None:
    """RuntimeError where only a fused kernel may compute it, and none can."""
    if not allowed.flash:
        raise RuntimeError(
            f"{NAME}(): no viable backend was found, since the math kernel and the fused kernels "
            "are switched off"
        )
    if dropout_p > 0 or not _is_fused(query, key, value, mask):
        raise RuntimeError(
            f"{NAME}(): no available kernel: the fused one is for tensors of four dimensions "
            "without dropout, and the math kernel is switched off"
        )


def _repeat_heads(query: Tensor, tensor: Tensor) -> Tensor:
    """Each head of ``tensor`` as often as ``query`` has heads for it."""
    check_tensor(NAME, query, "query")
    check_tensor(NAME, tensor, "value")
    if tensor.ndim < 2 or query.ndim < 2:
        raise RuntimeError(
            f"{NAME}(): expected at least 2 dimensions, got shapes {list(query.shape)} and "
            f"{list(tensor.shape)}"
        )
    heads, own = (t.shape[-3] if t.ndim > 2 else 1 for t in (query, tensor))
    if not own or heads % own:
        raise RuntimeError(
            f"{NAME}(): the number of heads in key and value must divide that in query, "
            f"got {own} and {heads}"
        )
    shape = tuple(tensor.shape)
    if heads == own:
        return tensor
    repeated = (*shape[:-2], heads // own, *shape[-2:])
    repeats = OPS["expand"](OPS["unsqueeze"](tensor, tensor.ndim - 2), repeated)
    return OPS["reshape"](repeats, (*shape[:-3], heads, *shape[-2:]))
