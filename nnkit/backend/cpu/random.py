"""Random numbers on the CPU: for the same seed, PyTorch's own CPU numbers.

An array is filled in the order of its memory, as PyTorch does. ``r`` stands for a 32-bit word of
the Mersenne Twister; in most distributions one element takes the double
``u = (r1 << 32 | r2) mod 2**53 / 2**53``. On Intel processors PyTorch's own build takes
``bernoulli_`` and ``exponential_`` from Intel's MKL instead; nnkit's numbers are those of all
other machines.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from nnkit.backend.cpu import native, random_philox, random_rejection, sorting
from nnkit.backend.cpu.box_muller import PAIRS, Workspace, box_muller, fma
from nnkit.backend.cpu.creation import empty_like
from nnkit.backend.cpu.random_fill import (
    BLOCK,
    MASK53,
    digits_of,
    fill,
    fill_parts,
    memory_order,
    normal_double,
    store,
    uniform_double,
    uniform_single,
)
from nnkit.backend.random import Generator, default_generator

_f4, _f8 = np.float32, np.float64


def _drawing(kernel: Callable) -> Callable:
    """Give a kernel the default generator for None, and hand Philox ones to their own kernels."""
    other = getattr(random_philox, kernel.__name__, None)

    @wraps(kernel)
    def run(*arguments: Any) -> Any:
        generator = arguments[-1] or default_generator
        chosen = kernel if other is None or generator.philox is None else other
        return chosen(*arguments[:-1], generator)

    return run


def _chances(p: float, count: int, generator: Generator) -> np.ndarray:
    """u < p, compared as integers."""
    words = generator.double_words(count)
    words &= MASK53
    return words < np.uint64(math.ceil(p * 2**53))


@_drawing
def uniform_(x, low, high, generator):
    if x.dtype.kind == "c":
        return fill_parts(x, lambda parts: uniform_(parts, low, high, generator))
    if x.dtype == _f8:
        low, high = float(low), float(high)
        span = high - low

        def draw(count: int) -> np.ndarray:
            return fma(uniform_double(generator, count), span, low)
    elif x.dtype == _f4 and low == 0 and high == 1:
        return fill(x, lambda count: uniform_single(generator, count))
    else:
        low, high = _f4(low), _f4(high)
        span = float(high - low)

        def draw(count: int) -> np.ndarray:
            scaled = uniform_single(generator, count).astype(_f8)
            scaled *= span
            scaled += float(low)
            return scaled.astype(_f4)

    def rounded(count: int) -> np.ndarray:
        part = np.empty(count, x.dtype)
        store(part, draw(count))
        part[part == x.dtype.type(high)] = low  # rounding may reach the open end
        return part

    return fill(x, rounded)


@_drawing
def normal_(x, mean, std, generator):
    if x.dtype.kind == "c":
        return fill_parts(x, lambda parts: normal_(parts, mean, std / math.sqrt(2), generator))
    if x.size < 16 or not x.flags.c_contiguous:
        return fill(x, lambda count: fma(normal_double(generator, count), std, mean))
    flat = x.reshape(-1)
    if x.dtype == _f8:
        _normals_16_double(flat, mean, std, generator)
    else:
        _normals_16_single(flat, mean, std, generator)
    return x


def _normals_16_single(flat: np.ndarray, mean: float, std: float, generator: Generator) -> None:
    """Groups of 16 normals; where the size is no multiple of 16, the last 16 are drawn afresh.

    For float32 PyTorch draws uniforms for all elements first, also for those to be overwritten;
    for the half types only for whole groups.
    """
    whole = flat.size // 16 * 16
    space = Workspace(min(PAIRS, whole // 2))
    for start in range(0, whole, BLOCK):
        u = uniform_single(generator, min(BLOCK, whole - start))
        box_muller(u, mean, std, space)
        store(flat[start : start + u.size], u)
    if flat.size != whole:
        if flat.dtype == _f4:
            generator.words(flat.size - whole)
        u = uniform_single(generator, 16)
        box_muller(u, mean, std, space)
        store(flat[-16:], u)


def _normals_16_double(flat: np.ndarray, mean: float, std: float, generator: Generator) -> None:
    def groups(count: int) -> np.ndarray:
        u = uniform_double(generator, count).reshape(-1, 2, 8)
        radius = np.sqrt(-2.0 * np.log(1.0 - u[:, 0]))
        angle = 2 * np.pi * u[:, 1]
        u[:, 0] = radius * np.cos(angle)
        u[:, 1] = radius * np.sin(angle)
        return fma(u.reshape(-1), std, mean)

    whole = flat.size // 16 * 16
    fill(flat[:whole], groups)
    if flat.size != whole:
        generator.words(2 * (flat.size - whole))
        flat[-16:] = groups(16)


@_drawing
def bernoulli_(x, p, generator):
    return fill(x, lambda count: _chances(p, count, generator))


@_drawing
def bernoulli_from_(x, p, generator):
    order = memory_order(x)
    p = np.broadcast_to(p, x.shape).transpose(order)
    draw = uniform_double if p.dtype == _f8 else uniform_single
    right = (p >= 0) & (p <= 1)
    if not right.all():
        draw(generator, int(right.argmin()))  # as torch, which draws until it finds the first one
        raise RuntimeError("bernoulli expects every p to be in [0, 1]")
    u = draw(generator, x.size).reshape(p.shape)
    x.transpose(order)[...] = u < (p if p.dtype == _f8 else p.astype(_f4))
    return x


def bernoulli(p, generator):
    return bernoulli_from_(np.empty(p.shape, p.dtype), p, generator)


@_drawing
def dropout_mask(x, p, generator):
    order = memory_order(x)
    dense = np.empty([x.shape[axis] for axis in order], np.bool_)
    fill(dense, lambda count: _chances(1.0 - p, count, generator))
    return dense.transpose(np.argsort(order))


def _modulo(words: np.ndarray, range_: int) -> np.ndarray:
    divisor = words.dtype.type(range_)
    # Division by a constant is vectorised in NumPy, the remainder is not.
    return words - words // divisor * divisor


@_drawing
def random_(x, low, high, generator):
    kind = x.dtype.kind
    if low is not None:
        range_, wide = high - low, high - low >= 2**28
    elif kind == "b":
        low, range_, wide = 0, 2, False
    elif kind in "iu":
        low, range_, wide = 0, int(np.iinfo(x.dtype).max) + 1, x.dtype.itemsize == 8
    else:
        low, range_, wide = 0, 2 ** digits_of(x.dtype) + 1, x.dtype == _f8

    def draw(count: int) -> np.ndarray:
        if wide:
            words = generator.double_words(count)
            if range_ == 2**64:
                return words.view(np.int64)
            words = _modulo(words, range_)
        else:
            words = _modulo(generator.words(count).astype(np.uint32), range_).astype(np.uint64)
        words += np.uint64(low % 2**64)
        return words.view(np.int64)

    return fill(x, draw)


@_drawing
def randperm(n, dtype, generator):
    """Fisher-Yates, forwards: step i exchanges place i with place i + r mod (n - i).

    The steps are not run one by one. What step i finds at its target is what the step before with
    that target had left there: its own place's value. So every value is found by following links.
    """
    if dtype != np.int64:
        return _permutation(n, np.dtype(np.int64), generator).astype(dtype)
    if n < 2:
        return np.zeros(n, dtype)
    step = np.arange(n - 1)
    target = step + generator.words(n - 1).view(np.int64) % (n - step)
    bits = n.bit_length()
    by_target = np.sort(target << bits | step)
    step, place = by_target & ((1 << bits) - 1), by_target >> bits
    again = place[1:] == place[:-1]
    before = np.full(n, -1)  # the step before that had the same target
    before[step[1:][again]] = step[:-1][again]
    # Place p holds at step p what the last earlier step with target p left there, or p itself.
    ends = np.append(~again, True)
    last = np.where(step[ends] < place[ends], step[ends], before[step[ends]])
    link = np.arange(n)
    link[place[ends]] = np.where(last < 0, place[ends], last)
    while not np.array_equal(further := link[link], link):
        link = further
    out = np.append(target, n - 1)
    out[n - 1] = link[n - 1]
    moved = before >= 0
    out[moved] = link[before[moved]]
    return out


@_drawing
def exponential_(x, lambd, generator):
    factor = -1.0 / lambd
    return fill(x, lambda count: factor * np.log1p(-uniform_double(generator, count)))


@_drawing
def geometric_(x, p, generator):
    with np.errstate(divide="ignore", invalid="ignore"):

        def draw(count: int) -> np.ndarray:
            trials = np.ceil(np.log(uniform_double(generator, count)) / math.log1p(-p))
            return trials.astype(np.int64) if x.dtype.kind in "iu" else trials

        return fill(x, draw)


@_drawing
def cauchy_(x, median, sigma, generator):
    def draw(count: int) -> np.ndarray:
        return fma(np.tan(np.pi * (uniform_double(generator, count) - 0.5)), sigma, median)

    return fill(x, draw)


@_drawing
def log_normal_(x, mean, std, generator):
    with np.errstate(over="ignore"):
        return fill(x, lambda count: np.exp(fma(normal_double(generator, count), std, mean)))


@_drawing
def rrelu_noise(x, lower, upper, generator):
    negative = np.ascontiguousarray(x).reshape(-1) <= 0
    noise = np.ones(x.size, x.dtype)
    u = uniform_double(generator, int(np.count_nonzero(negative)))
    lower, upper = float(x.dtype.type(lower)), float(x.dtype.type(upper))
    noise[negative] = u * (upper - lower) + lower
    return noise.reshape(x.shape)


def _cumulative(p: np.ndarray) -> np.ndarray:
    """Running sums over the last axis, scaled to end in 1, in p's own precision."""
    total = np.cumsum(p if p.dtype.itemsize > 2 else p.astype(_f4), axis=-1)
    total /= total[..., -1:].copy()
    total[..., -1] = 1
    return total.astype(_f8)


_uniform = native.bind("uniform_", uniform_)
_exponential = native.bind("exponential_", exponential_)
_permutation = native.bind("randperm", randperm)
_searchsorted = native.bind("searchsorted", sorting.searchsorted)
_argsort = native.bind("argsort", sorting.argsort)


@_drawing
def multinomial(p, num_samples, replacement, generator):
    """Rows of weights; RuntimeError where one is negative, infinite or NaN, or all are zero."""
    if not ((p >= 0) & (p < np.inf)).all():
        raise RuntimeError(
            "multinomial: probability tensor contains either `inf`, `nan` or element < 0"
        )
    if (p == 0).all(axis=-1).any():
        raise RuntimeError(
            "multinomial: invalid multinomial distribution (sum of probabilities <= 0)"
        )
    if not replacement:
        # The largest p / e with e exponential: a draw without replacement, all rows at once.
        race = _exponential(empty_like(p), 1.0, generator)
        race = race if race.dtype.itemsize > 2 else race.astype(_f4)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            race = (p / race).astype(p.dtype)
        if num_samples == 1:
            return np.expand_dims(np.argmax(race, axis=-1), -1)
        return _argsort(race, -1, True)[..., :num_samples]
    rows = _cumulative(np.atleast_2d(p))
    u = _uniform(np.empty((len(rows), num_samples)), 0.0, 1.0, generator)
    return _searchsorted(rows, u, False).reshape((*p.shape[:-1], num_samples))


poisson = _drawing(random_rejection.poisson)
standard_gamma = _drawing(random_rejection.standard_gamma)
binomial = _drawing(random_rejection.binomial)
