"""Random numbers of the GPU's Philox stream; kernels/random.cu.

They are those that the CPU makes of the same stream (backend/cpu/random_philox.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from nnkit.backend.cpu import random as host
from nnkit.backend.cpu.random_philox import integer_range
from nnkit.backend.cuda import failures
from nnkit.backend.cuda.creation import array, copy_, empty, empty_like
from nnkit.backend.cuda.differences import array_module, contiguous, same_dtype
from nnkit.backend.cuda.exchange import to_numpy
from nnkit.backend.cuda.launch import THREADS, WARP, blocks_for, inverse
from nnkit.backend.cuda.philox import drawn, drawn_by_host, stream_of
from nnkit.backend.cuda.sorting import argsort
from nnkit.backend.cuda.source import current_machine, kernel
from nnkit.backend.philox import WORDS
from nnkit.backend.random import Generator

BOOL, F4, F8 = np.dtype(np.bool_), np.dtype(np.float32), np.dtype(np.float64)
I8 = np.dtype(np.int64)


def _fill(name: str, x: Any, generator: Any, *parameters: float) -> Any:
    return _drawn(name, x, generator, (), x.dtype == F8, *map(np.float64, parameters))


def _drawn(name: str, x: Any, generator: Any, options: tuple, wide: bool, *parameters: Any) -> Any:
    """Fill ``x`` in the order of its memory; one whose memory has gaps, by way of a copy.

    ``options`` follow the dtype in the kernel's template; ``wide``: an element takes two words.
    """
    dense = empty_like(x)
    if dense.strides == x.strides:
        dense = x
    if x.size:
        of_block = WORDS // 2 if wide else WORDS
        stream = drawn(stream_of(generator), x.size, of_block)
        blocks = blocks_for(-(-x.size // of_block), THREADS, current_machine().processors)
        run = kernel("random", name, x.dtype, *options)
        run((blocks,), (THREADS,), (dense, np.int64(x.size), stream, *parameters))
    return x if dense is x else copy_(x, dense)


def _parts(x: Any) -> Any:
    """Real and imaginary parts of a contiguous complex array, one after the other."""
    return x.view(x.dtype.type(0).real.dtype)


def uniform_(x: Any, low: float, high: float, generator: Any) -> Any:
    if x.dtype.kind == "c":
        dense = contiguous(x)
        uniform_(_parts(dense.reshape(-1)), low, high, generator)
        return x if dense is x else copy_(x, dense)
    return _fill("uniform", x, generator, low, high)


def normal_(x: Any, mean: float, std: float, generator: Any) -> Any:
    if x.dtype.kind == "c":
        dense = contiguous(x)
        normal_(_parts(dense.reshape(-1)), mean, std / math.sqrt(2), generator)
        return x if dense is x else copy_(x, dense)
    return _drawn("normal", x, generator, (False,), x.dtype == F8, *map(np.float64, (mean, std)))


def bernoulli_(x: Any, p: float, generator: Any) -> Any:
    if x.dtype.kind in "iuc":
        return copy_(x, _fill("bernoulli", empty(x.shape, BOOL), generator, p))
    return _fill("bernoulli", x, generator, p)


def bernoulli_from_(x: Any, p: Any, generator: Any) -> Any:
    wide = same_dtype(p, F8 if p.dtype == F8 else F4)
    wide = contiguous(array_module(p).broadcast_to(wide, x.shape))
    out = empty(x.shape, BOOL)
    if x.size:
        of_block = WORDS // 2 if wide.dtype == F8 else WORDS
        stream = drawn(stream_of(generator), x.size, of_block)
        report = failures.report(failures.PROBABILITY)
        blocks = blocks_for(-(-x.size // of_block), THREADS, current_machine().processors)
        given = (out, wide, np.int64(x.size), stream, *report)
        kernel("random", "bernoulli_from", wide.dtype)((blocks,), (THREADS,), given)
    return copy_(x, out)


def bernoulli(p: Any, generator: Any) -> Any:
    return bernoulli_from_(empty(p.shape, p.dtype), p, generator)


def dropout_mask(x: Any, p: float, generator: Any) -> Any:
    order = sorted(range(x.ndim), key=lambda d: -abs(x.strides[d]))
    dense = empty(tuple(x.shape[d] for d in order), BOOL)
    return _fill("bernoulli", dense, generator, 1.0 - p).transpose(inverse(order))


def random_(x: Any, low: int | None, high: int | None, generator: Any) -> Any:
    low, high, wide = integer_range(x.dtype, low, high)
    start, range_ = np.int64(low), np.uint64((high - low) % 2**64)
    return _drawn("integers", x, generator, (wide,), wide, start, range_)


def exponential_(x: Any, lambd: float, generator: Any) -> Any:
    return _fill("exponential", x, generator, -1.0 / lambd)


def geometric_(x: Any, p: float, generator: Any) -> Any:
    return _fill("geometric", x, generator, math.log1p(-p))


def cauchy_(x: Any, median: float, sigma: float, generator: Any) -> Any:
    return _fill("cauchy", x, generator, median, sigma)


def log_normal_(x: Any, mean: float, std: float, generator: Any) -> Any:
    return _drawn("normal", x, generator, (True,), x.dtype == F8, *map(np.float64, (mean, std)))


def rrelu_noise(x: Any, lower: float, upper: float, generator: Any) -> Any:
    x = contiguous(x)
    numbers = (np.float64(x.dtype.type(lower)), np.float64(x.dtype.type(upper)))
    noise = empty(x.shape, x.dtype)
    return _drawn("rrelu_noise", noise, generator, (), x.dtype == F8, x, *numbers)


def randperm(n: int, dtype: np.dtype, generator: Any) -> Any:
    """The order of random keys."""
    keys = random_(empty((n,), I8), -(2**63), 2**63, generator)
    return same_dtype(argsort(keys, 0, False), dtype)


def multinomial(p: Any, num_samples: int, replacement: bool, generator: Any) -> Any:
    """Rows of weights; one that is negative, infinite or NaN, and a row of zeros, are reported."""
    from nnkit.backend.cuda import BACKEND as B

    p = contiguous(p)
    classes = p.shape[-1]
    rows = p.size // classes if classes else 0
    if rows:
        report = failures.report(failures.WEIGHTS)
        blocks = blocks_for(rows, THREADS // WARP, current_machine().processors)
        run = kernel("random", "check_weights", p.dtype)
        run((blocks,), (THREADS,), (p, np.int64(rows), np.int64(classes), *report))
    if not replacement:
        # The largest p / e with e exponential, as on the CPU.
        race = B.div(p, exponential_(empty(p.shape, p.dtype), 1.0, generator))
        if num_samples == 1:
            return B.argmax(race, -1, True)
        return contiguous(argsort(race, -1, True)[..., :num_samples])
    totals = B.cumsum(p if p.dtype == F8 else same_dtype(p, F4), -1)
    numbers = uniform_(empty((rows, num_samples), F8), 0.0, 1.0, generator)
    out = empty((*p.shape[:-1], num_samples), I8)
    if out.size:
        blocks = blocks_for(out.size, THREADS, current_machine().processors)
        sizes = map(np.int64, (out.size, num_samples, classes))
        run = kernel("random", "draw_classes", totals.dtype)
        run((blocks,), (THREADS,), (totals, numbers, out, *sizes))
    return out


def _by_host(name: str) -> Callable:
    """A draw on the CPU from the same stream, since the words it takes are not known before."""
    draw = getattr(host, name)

    def run(*arguments: Any) -> Any:
        *arrays, generator = arguments
        twin = Generator(engine="philox")
        twin.philox = drawn_by_host(generator, name)
        return array(draw(*map(to_numpy, arrays), twin), None)

    return run


poisson, standard_gamma, binomial = map(_by_host, ("poisson", "standard_gamma", "binomial"))
