"""Compiled attention and its gradient against their twins."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from nnkit.backend.cpu import BACKEND as B
from tests.backend.native_cases import close, compare, needs_native, served

pytestmark = needs_native
# Leading shape, queries, keys, width, width of the values.
SIZES = (((2, 3), 5, 7, 4, 3), ((3, 2), 64, 64, 32, 32), ((1,), 1, 1, 1, 1),
         ((2,), 130, 70, 17, 40), ((2, 2), 0, 3, 4, 4), ((2, 2), 3, 0, 4, 4), ((), 9, 9, 4, 4),
         ((2,), 40, 1500, 8, 8))  # fmt: skip


RNG = np.random.default_rng(0)


def numbers(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Draws that differ between calls: a key like its query would leave one weight alone at 1,
    where the gradient is a difference of nearly equal numbers."""
    return RNG.standard_normal(shape).astype(dtype)


def _heads_inside(x: np.ndarray) -> np.ndarray:
    return x.swapaxes(1, 2).copy().swapaxes(1, 2) if x.ndim == 4 else x


def _masks(lead: tuple, queries: int, keys: int, dtype: str) -> Iterator[np.ndarray | None]:
    yield None
    hidden = numbers((queries, keys), dtype) > 1
    yield np.where(hidden, -np.inf, numbers((queries, keys), dtype)).astype(dtype)
    yield numbers((*lead[:1], *[1] * len(lead[1:]), 1, keys), dtype)
    yield np.full((queries, 1), -np.inf, dtype)


def _cases() -> Iterator[tuple]:
    for dtype in ("float32", "float64"):
        for lead, queries, keys, width, values in SIZES:
            q, k, v = (
                numbers((*lead, n, e), dtype)
                for n, e in ((queries, width), (keys, width), (keys, values))
            )
            for mask in _masks(lead, queries, keys, dtype):
                yield q, k, v, mask, False, 0.3
            yield q, k, v, None, True, 0.3
            yield _heads_inside(q), _heads_inside(k), _heads_inside(v), None, True, 0.3
            yield q[..., ::-1], k, v[..., ::-1, :], None, False, 0.3
        q, k = numbers((2, 3, 5, 4), dtype), numbers((3, 6, 4), dtype)
        yield q, k, np.broadcast_to(k[:1], (3, 6, 4)), None, True, 0.5


def _tolerance(dtype: np.dtype):
    return close(1e-4, 1e-4) if dtype == np.float32 else close(1e-12, 1e-12)


def test_forward():
    for arguments in _cases():
        assert served(B.attention, *arguments)
        compare(B.attention, *arguments, tolerance=_tolerance(arguments[0].dtype), same_order=False)


@pytest.mark.parametrize("heads_inside", [False, True])
def test_gradient(heads_inside):
    for q, k, v, mask, is_causal, scale in _cases():
        out, log_total = B.attention.twin(q, k, v, mask, is_causal, scale)
        g = numbers(out.shape, out.dtype)
        g = _heads_inside(g) if heads_inside else g
        needs = (True, True, True, mask is not None)
        arguments = g, q, k, v, mask, log_total, is_causal, scale, needs
        assert served(B.attention_grad, *arguments)
        compare(B.attention_grad, *arguments, tolerance=_tolerance(g.dtype), same_order=False)


def test_gradient_where_one_score_is_nearly_all():
    """Nothing is left of how the logarithm of a large total was rounded."""
    x = np.array([[[[-3.0, 2.25], [-3.5, -3.0], [-2.5, -5.0]]]], "float32")
    needs = (True, True, True, False)

    def gradients(attention, attention_grad, q):
        _, log_total = attention(q, q, q, None, False, 1.0)
        return attention_grad(np.ones_like(q), q, q, q, None, log_total, False, 1.0, needs)[:3]

    exact = gradients(B.attention, B.attention_grad, x.astype(np.float64))
    for functions in ((B.attention, B.attention_grad), (B.attention.twin, B.attention_grad.twin)):
        for one, other in zip(gradients(*functions, x), exact):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-5)
