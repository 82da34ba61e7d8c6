"""Scaled dot-product attention by blocks: the scores of a block stay in the cache and are never
all in memory at once; backward computes them again (T. Dao et al., "FlashAttention", 2022)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from nnkit.backend.cpu.memory import rearranged
from nnkit.backend.cpu.rows import max_along, sum_along
from nnkit.backend.dtype import HALF
from nnkit.backend.memory import order_of, steps_of

Array = np.ndarray
BLOCK = 1 << 17  # scores of a block
HEADS_INSIDE = (0, 2, 1, 3)  # of the rows, in memory


def _blocks(batch: int, queries: int, keys: int, is_causal: bool) -> Iterator[tuple]:
    """Slices of the batch, the queries, and the keys that those may look at."""
    if not batch * queries * keys:
        return
    rows = max(1, min(queries, BLOCK // keys))
    step = max(1, BLOCK // (rows * keys))
    for first in range(0, batch, step):
        for start in range(0, queries, rows):
            stop = min(queries, start + rows)
            seen = min(keys, stop) if is_causal else keys
            yield slice(first, first + step), slice(start, stop), slice(0, seen)


class _Scores:
    """The masked scores of any block."""

    def __init__(
        self, q: Array, k: Array, mask: Array | None, batch: tuple, is_causal: bool
    ) -> None:
        self.q, self.k, self.is_causal = q, k, is_causal
        self.mask: Array | None = None
        if mask is not None:
            # One matrix for each different mask, and which of them an entry of the batch has.
            lead = mask.shape[:-2]
            matrices = np.broadcast_to(mask, (*lead, q.shape[1], k.shape[1]))
            self.mask = matrices.reshape(math.prod(lead), *matrices.shape[-2:])
            numbers = np.arange(len(self.mask)).reshape(lead)
            self.which = np.broadcast_to(numbers, batch).reshape(-1)

    def __call__(self, b: slice, rows: slice, columns: slice) -> Array:
        scores = np.matmul(self.q[b, rows], self.k[b, columns].swapaxes(1, 2))
        if self.is_causal:
            future = np.arange(rows.start, rows.stop)[:, None] < np.arange(columns.stop)
            np.copyto(scores, -np.inf, where=future)
        if self.mask is not None:
            scores += self.mask[0 if len(self.mask) == 1 else self.which[b], rows, columns]
        return scores


def _flatten(x: Array, batch: tuple[int, ...]) -> Array:
    """``x`` with one batch axis, repeated where it was broadcast."""
    return np.broadcast_to(x, (*batch, *x.shape[-2:])).reshape(math.prod(batch), *x.shape[-2:])


def batch_of(*arrays: Any) -> tuple[int, ...]:
    """The shape that the leading axes of queries, keys, values and a mask broadcast to."""
    return np.broadcast_shapes(*(a.shape[:-2] for a in arrays if a is not None))


def _is_fused(q: Array, k: Array, v: Array, mask: Array | None) -> bool:
    """Whether torch computes it in one kernel, of which the result lies as the queries do and the
    gradients have the heads inside of the rows."""
    return (
        q.ndim == k.ndim == v.ndim == 4
        and q.shape[:2] == k.shape[:2] == v.shape[:2]
        and q.shape[3] == v.shape[3]
        and q.shape[2] * k.shape[2] > 0
        and all(steps_of(x)[3] == 1 for x in (q, k, v))
        and (mask is None or mask.ndim != 3)
    )


def _wide(*arrays: Any) -> list[Any]:
    """float32 copies of half arrays, in which all is computed."""
    return [x.astype(np.float32) if x is not None and x.dtype in HALF else x for x in arrays]


def _rounding(q: Array, is_fused: bool) -> Callable[[Array], Array] | None:
    """The rounding of factors in torch's kernel for half precision; None where there is none."""
    if q.dtype in HALF and is_fused:
        return lambda wide: wide.astype(q.dtype).astype(np.float32)
    return None


def _attend(p: Array, v: Array, rounded: Callable | None, out: Array) -> Array:
    """Make scores their exponentials and ``out`` the values that these weigh; return the logarithms
    of their totals."""
    top = max_along(p, -1)
    top[top == -np.inf] = 0  # a row that may look nowhere
    p -= top
    np.exp(p, p)
    total = sum_along(p, -1)
    with np.errstate(divide="ignore"):
        top += np.log(total)
    total[total == 0] = 1
    np.matmul(p if rounded is None else rounded(p), v, out)
    out /= total
    return top


def attention(q, k, v, mask, is_causal, scale):
    batch, dtype = batch_of(q, k, v, mask), q.dtype
    is_fused = _is_fused(q, k, v, mask)
    axes, rounded = order_of(q) if is_fused else None, _rounding(q, is_fused)
    q, k, v, mask = _wide(q, k, v, mask)
    q, k, v = _flatten(q * scale, batch), _flatten(k, batch), _flatten(v, batch)
    scores = _Scores(q, k, mask, batch, is_causal)
    out = np.zeros((*q.shape[:2], v.shape[2]), v.dtype)
    log_total = np.full(q.shape[:2], -np.inf, v.dtype)
    for b, rows, columns in _blocks(len(q), q.shape[1], k.shape[1], is_causal):
        found = _attend(scores(b, rows, columns), v[b, columns], rounded, out[b, rows])
        log_total[b, rows] = found[..., 0]
    shape = (*batch, q.shape[1])
    out = out.reshape(*shape, v.shape[2]).astype(dtype, copy=False)
    return rearranged(out, axes), log_total.reshape(shape)


def attention_grad(g, q, k, v, mask, log_total, is_causal, scale, needs):
    batch, dtype = batch_of(q, k, v, mask), q.dtype
    is_fused = not needs[3] and _is_fused(q, k, v, mask)
    rounded = _rounding(q, is_fused)
    g, q, k, v, mask = _wide(g, q, k, v, mask)
    q, k, v = _flatten(q * scale, batch), _flatten(k, batch), _flatten(v, batch)
    g = _flatten(g, batch)
    log_total = log_total.reshape(len(q), q.shape[1], 1)
    log_total = np.where(log_total == -np.inf, 0, log_total)
    scores = _Scores(q, k, mask, batch, is_causal)
    g_q, g_k, g_v = (np.zeros(x.shape, x.dtype) for x in (q, k, v))
    g_mask = np.zeros((len(q), q.shape[1], k.shape[1]), g.dtype) if needs[3] else None
    for b, rows, columns in _blocks(len(q), q.shape[1], k.shape[1], is_causal):
        p = scores(b, rows, columns)
        g_scores = np.matmul(g[b, rows], v[b, columns].swapaxes(1, 2))
        if rounded is not None:  # what the weights lose together is the result's part of g
            out = np.empty_like(g[b, rows])
            _attend(p.copy(), v[b, columns], rounded, out)
            g_scores -= sum_along(rounded(out) * g[b, rows], -1)
        p -= log_total[b, rows]
        np.exp(p, p)
        weights = p if rounded is None else rounded(p)
        g_v[b, columns] += np.matmul(weights.swapaxes(1, 2), g[b, rows])
        g_scores *= p
        if rounded is None:
            total = sum_along(p, -1)  # 1 but for what `log_total` was rounded by
            total[total == 0] = 1
            p *= sum_along(g_scores, -1) / total
            g_scores -= p
        else:
            g_scores = rounded(g_scores)
        np.matmul(g_scores, k[b, columns], g_q[b, rows])
        g_k[b, columns] += np.matmul(g_scores.swapaxes(1, 2), q[b, rows])
        if g_mask is not None:
            g_mask[b, rows, columns] = g_scores
    g_q *= scale
    g_q, g_k, g_v = (
        x.reshape(*batch, *x.shape[1:]).astype(dtype, copy=False) for x in (g_q, g_k, g_v)
    )
    if g_mask is not None:
        g_mask = g_mask.reshape(*batch, *g_mask.shape[1:]).astype(dtype, copy=False)
    if is_fused:
        return *(rearranged(x, HEADS_INSIDE) for x in (g_q, g_k, g_v)), g_mask
    by_columns = (*range(g_k.ndim - 2), g_k.ndim - 1, g_k.ndim - 2)
    return g_q, rearranged(g_k, by_columns), g_v, g_mask
