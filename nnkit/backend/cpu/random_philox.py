"""Random numbers of a Philox generator on the CPU, as PyTorch's CUDA kernels make them.

One element takes one 32-bit word (float64 and wide integer ranges take two), scaled into (0, 1].
What is not here (``poisson``, ``multinomial``) follows the CPU's method with Philox words. Dropout
masks are PyTorch's up to the vectorisation of its fused kernel, which hands out elements in another
order.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from nnkit.backend.cpu.random_fill import digits_of, fill, fill_parts, memory_order, store
from nnkit.backend.philox import share

_f4, _f8 = np.float32, np.float64
_PER_WORD = _f4(2.0**-32)


def _fill(x: np.ndarray, draw: Callable[[int], np.ndarray]) -> np.ndarray:
    return fill(x, draw, block=max(x.size, 1))  # one kernel: the offset moves once


def _unit_double(words: np.ndarray) -> np.ndarray:
    """53 bits of a pair of words, in (0, 1]."""
    low, high = words[:, 0].astype(np.uint64), words[:, 1].astype(np.uint64)
    return (low ^ (high << np.uint64(21))) * 2.0**-53 + 2.0**-54


def _uniform(generator, count: int, dtype: np.dtype) -> np.ndarray:
    """Uniforms in (0, 1], float64 for float64 and float32 for all others."""
    if dtype == _f8:
        return _unit_double(generator.philox.words(count, 2))
    words = generator.philox.words(count)[:, 0]
    return words.astype(_f4) * _PER_WORD + _PER_WORD / _f4(2)


def _normal(generator, count: int, dtype: np.dtype) -> np.ndarray:
    if dtype == _f8:
        words = generator.philox.blocks(count, per_call=2)
        radius = np.sqrt(-2.0 * np.log(_unit_double(words[:, :2])))
        angle = 2 * np.pi * _unit_double(words[:, 2:])
        pair = np.stack((radius * np.sin(angle), radius * np.cos(angle)), axis=1)
        return share(pair, count)
    words = generator.philox.blocks(count).astype(_f4)
    turn = _PER_WORD * _f4(2 * np.pi)
    radius = np.sqrt(_f4(-2) * np.log(words[:, 0::2] * _PER_WORD + _PER_WORD / _f4(2)))
    angle = words[:, 1::2] * turn + turn / _f4(2)
    quad = np.stack((radius * np.sin(angle), radius * np.cos(angle)), axis=2)
    return share(quad.reshape(-1, 4), count)


def uniform_(x, low, high, generator):
    if x.dtype.kind == "c":
        return fill_parts(x, lambda parts: uniform_(parts, low, high, generator))

    def draw(count: int) -> np.ndarray:
        u = _uniform(generator, count, x.dtype)
        part = np.empty(count, x.dtype)
        store(part, u * u.dtype.type(high - low) + u.dtype.type(low))
        part[part == x.dtype.type(high)] = low
        return part

    return _fill(x, draw)


def normal_(x, mean, std, generator):
    if x.dtype.kind == "c":
        return fill_parts(x, lambda parts: normal_(parts, mean, std / math.sqrt(2), generator))

    def draw(count: int) -> np.ndarray:
        z = _normal(generator, count, x.dtype)
        return z * z.dtype.type(std) + z.dtype.type(mean)

    return _fill(x, draw)


def bernoulli_(x, p, generator):
    return _fill(x, lambda count: _uniform(generator, count, x.dtype) < p)


def bernoulli_from_(x, p, generator):
    if x.size and not ((p >= 0) & (p <= 1)).all():
        raise RuntimeError("bernoulli expects every p to be in [0, 1]")
    order = memory_order(x)
    p = np.broadcast_to(p, x.shape).transpose(order)
    p = p if p.dtype == _f8 else p.astype(_f4)
    u = _uniform(generator, x.size, p.dtype).reshape(p.shape)
    x.transpose(order)[...] = u <= p
    return x


def dropout_mask(x, p, generator):
    order = memory_order(x)
    dense = np.empty([x.shape[axis] for axis in order], np.bool_)
    bernoulli_(dense, 1.0 - p, generator)
    return dense.transpose(np.argsort(order))


def integer_range(dtype: np.dtype, low: int | None, high: int | None) -> tuple[int, int, bool]:
    """The bounds of the integers of `random_`, and whether an element takes two words.

    Without ``low``: all that ``dtype`` holds exactly, from 0 on.
    """
    if low is not None and high is not None:
        return low, high, high - low >= 2**28
    if dtype.kind == "b":
        end = 2
    elif dtype.kind in "iu":
        end = int(np.iinfo(dtype).max) + 1
    else:
        end = 2 ** digits_of(dtype) + 1
    return 0, end, dtype.itemsize == 8


def random_(x, low, high, generator):
    low, high, wide = integer_range(x.dtype, low, high)

    def draw(count: int) -> np.ndarray:
        if wide:
            words = generator.philox.words(count, 2).astype(np.uint64)
            words = words[:, 0] << np.uint64(32) | words[:, 1]
        else:
            words = generator.philox.words(count)[:, 0].astype(np.uint64)
        if high - low < 2**64:
            words = words % np.uint64(high - low)
        return (words + np.uint64(low % 2**64)).view(np.int64)

    return _fill(x, draw)


def _log_uniform(generator, count: int, dtype: np.dtype) -> np.ndarray:
    """log u, with the u that round to 1 moved to the largest number below 0."""
    u = _uniform(generator, count, dtype)
    half = np.finfo(u.dtype).eps / 2
    return np.where(u >= 1 - half, u.dtype.type(-half), np.log(u))


def exponential_(x, lambd, generator):
    return _fill(x, lambda count: -1.0 / lambd * _log_uniform(generator, count, x.dtype))


def geometric_(x, p, generator):
    def draw(count: int) -> np.ndarray:
        return np.ceil(np.log(_uniform(generator, count, x.dtype)) / math.log1p(-p))

    return _fill(x, draw)


def cauchy_(x, median, sigma, generator):
    def draw(count: int) -> np.ndarray:
        u = _uniform(generator, count, x.dtype)
        eps = np.finfo(u.dtype).eps
        u = np.clip(u, eps, 1 - eps)
        return median + sigma * np.tan(u.dtype.type(np.pi) * (u - u.dtype.type(0.5)))

    return _fill(x, draw)


def log_normal_(x, mean, std, generator):
    def draw(count: int) -> np.ndarray:
        return np.exp(_normal(generator, count, x.dtype) * std + mean)

    return _fill(x, draw)


def randperm(n, dtype, generator):
    """The order of random keys, so that a GPU can make it too."""
    keys = random_(np.empty(n, np.int64), -(2**63), 2**63, generator)
    return np.argsort(keys, kind="stable").astype(dtype)


def rrelu_noise(x, lower, upper, generator):
    u = _uniform(generator, x.size, x.dtype)
    lower, upper = u.dtype.type(x.dtype.type(lower)), u.dtype.type(x.dtype.type(upper))
    slopes = u * (upper - lower) + lower
    negative = np.ascontiguousarray(x).reshape(-1) <= 0
    return np.where(negative, slopes, u.dtype.type(1)).astype(x.dtype).reshape(x.shape)
