"""Scaled dot-product attention over the algebra."""

from __future__ import annotations

import math


def attention_scores(B, q, k, mask, is_causal, scale):
    scores = B.matmul(B.mul(q, scale), B.mT(k))
    if is_causal:
        ahead = B.eq(B.tril(B.ones_like(scores), 0), 0)
        scores = B.masked_fill(scores, ahead, -math.inf)
    return scores if mask is None else B.add(scores, mask)


def attention_weights(B, scores):
    # A row that may look nowhere gets zeros, where softmax alone would give NaN.
    nowhere = B.eq(B.amax(scores, -1, True), -math.inf)
    weights = B.softmax(B.masked_fill(scores, nowhere, 0.0), -1)
    return B.masked_fill(weights, nowhere, 0.0)


def attention(B, q, k, v, mask, is_causal, scale):
    scores = attention_scores(B, q, k, mask, is_causal, scale)
    return B.matmul(attention_weights(B, scores), v), B.logsumexp(scores, -1, False)


def attention_grad(B, g, q, k, v, mask, log_total, is_causal, scale, needs):
    # The weights are computed again from the inputs, so that all of this can be differentiated.
    weights = attention_weights(B, attention_scores(B, q, k, mask, is_causal, scale))
    g_scores = B.softmax_grad(B.matmul(g, B.mT(v)), weights, -1)
    g_q = B.mul(B.matmul(g_scores, k), scale)
    g_k = B.mul(B.mT(B.matmul(B.mT(q), g_scores)), scale)
    g_v = B.matmul(B.mT(weights), g)
    if not needs[3] and q.ndim == k.ndim == v.ndim == 4 and q.shape[3] == v.shape[3]:
        # One kernel in torch, which leaves the heads inside of the rows.
        g_q, g_k, g_v = (B.ordered(x, (0, 2, 1, 3)) for x in (g_q, g_k, g_v))
    return g_q, g_k, g_v, None if mask is None else g_scores
