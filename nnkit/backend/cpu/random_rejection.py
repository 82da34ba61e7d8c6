"""Distributions drawn by rejection: how many words an element takes is not known before, so they
are drawn one after the other, in the order of the elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from nnkit.backend.cpu.random_fill import store, uniform_double
from nnkit.backend.random import Generator

_f8 = np.float64
# log k! less Stirling's formula for it, for k from 0 to 9.
_STIRLING = (
    0.0810614667953272582, 0.0413406959554092941, 0.0276779256849983391, 0.0207906721037650931,
    0.0166446911898211922, 0.0138761288230707480, 0.0118967099458917701, 0.0104112652619720964,
    0.0092554621827127329, 0.0083305634333628711,
)  # fmt: skip


class _Draws:
    """Single numbers of a stream, which is read ahead and in the end put where it was left."""

    def __init__(self, generator: Generator, block: int) -> None:
        self.generator, self.block = generator, max(64, block)
        self.start, self.used = generator.mark(), 0
        self.waiting = generator.next_double_normal_sample
        self.ahead: list[float] = []

    def finish(self) -> None:
        self.generator.rewind(self.start, 2 * self.used)
        self.generator.next_double_normal_sample = self.waiting

    def uniform(self) -> float:
        """A number of [0, 1)."""
        if not self.ahead:
            self.ahead = uniform_double(self.generator, self.block)[::-1].tolist()
        self.used += 1
        return self.ahead.pop()

    def normal(self) -> float:
        if self.waiting is not None:
            normal, self.waiting = self.waiting, None
            return normal
        angle = 2 * math.pi * self.uniform()
        radius = math.sqrt(-2.0 * math.log1p(-self.uniform()))
        self.waiting = radius * math.sin(angle)
        return radius * math.cos(angle)


def _sample(like: np.ndarray, rows: Iterable, draw: Callable, generator: Generator) -> np.ndarray:
    """An array shaped as ``like``: ``draw`` called on each of ``rows`` and the stream."""
    draws = _Draws(generator, like.size)
    drawn = [draw(*row, draws) for row in rows]
    draws.finish()
    out = np.empty(like.shape, like.dtype)
    store(out, np.array(drawn, _f8).reshape(like.shape))
    return out


def _draw_gamma(alpha: np.floating, draws: _Draws) -> float:
    """Marsaglia and Tsang, 2000; a concentration below 1 is raised by 1, and the draw scaled."""
    kind, scale = type(alpha), 1.0
    if alpha < 1:
        if alpha == 0:
            return 0.0
        scale = (1 - draws.uniform()) ** float(kind(1) / alpha)
        alpha = alpha + kind(1)
    d = float(alpha - kind(np.float32(1 / 3)))
    c = 1 / math.sqrt(9 * d)
    while True:
        x = draws.normal()
        y = 1 + c * x
        if y <= 0:
            continue
        v = y * y * y
        u = 1 - draws.uniform()
        square = x * x
        if u < 1 - float(np.float32(0.0331)) * square * square:
            return scale * d * v
        if math.log(u) < 0.5 * square + d * (1 - v + math.log(v)):
            return scale * d * v


def standard_gamma(x: np.ndarray, generator: Generator) -> np.ndarray:
    drawn = _sample(x, zip(x.reshape(-1)), _draw_gamma, generator)
    return np.maximum(drawn, np.finfo(x.dtype).tiny)


def _draw_poisson_small(rate: float, draws: _Draws) -> int:
    """Knuth's count of factors until the product falls below exp(-rate)."""
    limit = math.exp(-rate)
    count, product = 0, draws.uniform()
    while product > limit:
        count += 1
        product *= draws.uniform()
    return count


def _draw_poisson_large(rate: float, draws: _Draws) -> int:
    """Transformed rejection with squeeze (Hoermann, 1993, algorithm PTRS), for rate >= 10."""
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)
    log_rate = math.log(rate)
    while True:
        u = draws.uniform() - 0.5
        v = draws.uniform()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= v_r:
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        left = math.log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + b)
        if left <= -rate + k * log_rate - math.lgamma(k + 1):
            return k


def _draw_poisson(rate: float, draws: _Draws) -> int:
    if rate == 0:
        return 0
    return (_draw_poisson_large if rate >= 10 else _draw_poisson_small)(rate, draws)


def poisson(x: np.ndarray, generator: Generator) -> np.ndarray:
    if not (x >= 0).all():
        raise RuntimeError("poisson: invalid Poisson rate, expected rate to be non-negative")
    return _sample(x, zip(x.reshape(-1).tolist()), _draw_poisson, generator)


def _draw_binomial_small(count: float, p: float, draws: _Draws) -> int:
    """Sums of geometric numbers, until they pass the count; for count * p < 10."""
    scale = math.log1p(-p)
    total, successes = 0, 0
    while True:
        u = draws.uniform()
        total += math.ceil(math.log(u) / scale) if u else math.inf
        if not total <= count:
            return successes
        successes += 1


def _stirling_rest(k: float) -> float:
    if k <= 9:
        return _STIRLING[int(k)]
    square = (k + 1) * (k + 1)
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)


def _draw_binomial_large(count: float, p: float, draws: _Draws) -> float:
    """Transformed rejection (Hoermann, 1993, algorithm BTRS), for count * p >= 10."""
    stddev = math.sqrt(count * p * (1 - p))
    b = 1.15 + 2.53 * stddev
    a = -0.0873 + 0.0248 * b + 0.01 * p
    c = count * p + 0.5
    v_r = 0.92 - 4.2 / b
    r = p / (1 - p)
    alpha = (2.83 + 5.1 / b) * stddev
    m = math.floor((count + 1) * p)
    while True:
        u = draws.uniform() - 0.5
        v = draws.uniform()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + c) if us else -1
        if k < 0 or k > count:
            continue
        if us >= 0.07 and v <= v_r:
            return k
        bound = (
            (m + 0.5) * math.log((m + 1) / (r * (count - m + 1)))
            + (count + 1) * math.log((count - m + 1) / (count - k + 1))
            + (k + 0.5) * math.log(r * (count - k + 1) / (k + 1))
            + _stirling_rest(m)
            + _stirling_rest(count - m)
            - _stirling_rest(k)
            - _stirling_rest(count - k)
        )
        if not v or math.log(v * alpha / (a / (us * us) + b)) <= bound:
            return k


def _draw_binomial(count: float, p: float, draws: _Draws) -> float:
    if count <= 0 or p <= 0:
        return 0
    if not p < 1:  # or NaN
        return count if p >= 1 else p
    rarer = p if p <= 0.5 else 1 - p
    large = count * rarer >= 10
    drawn = (_draw_binomial_large if large else _draw_binomial_small)(count, rarer, draws)
    return drawn if p <= 0.5 else count - drawn


def binomial(count: np.ndarray, p: np.ndarray, generator: Generator) -> np.ndarray:
    rows = zip(count.reshape(-1).tolist(), p.reshape(-1).tolist())
    return _sample(count, rows, _draw_binomial, generator)
