"""Random numbers of the GPU's Philox stream; kernels/random.cu.

Uniform, normal and Bernoulli numbers, from which most programs draw, are made on the GPU. All
others are made by the CPU from the same stream and copied: the numbers are the same either way.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from nnkit.backend.cpu import random as host
from nnkit.backend.cpu import random_philox
from nnkit.backend.cuda import failures
from nnkit.backend.cuda.creation import array, copy_, empty, empty_like
from nnkit.backend.cuda.differences import array_module, contiguous, same_dtype
from nnkit.backend.cuda.exchange import to_numpy
from nnkit.backend.cuda.launch import THREADS, blocks_for, inverse
from nnkit.backend.cuda.philox import drawn, drawn_by_host, stream_of
from nnkit.backend.cuda.source import current_machine, kernel
from nnkit.backend.philox import WORDS
from nnkit.backend.random import Generator

__all__ = [
    "bernoulli", "bernoulli_", "bernoulli_from_", "cauchy_", "dropout_mask", "exponential_",
    "geometric_", "log_normal_", "multinomial", "normal_", "poisson", "random_", "randperm",
    "rrelu_noise", "uniform_",
]  # fmt: skip

BOOL, F4, F8 = np.dtype(np.bool_), np.dtype(np.float32), np.dtype(np.float64)


def _fill(name: str, x: Any, generator: Any, *parameters: float) -> Any:
    """Fill ``x`` in the order of its memory; one whose memory has gaps, by way of a copy."""
    dense = empty_like(x)
    if dense.strides == x.strides:
        dense = x
    if x.size:
        words = 2 if x.dtype == F8 else 1  # of an element
        stream = drawn(stream_of(generator), x.size, WORDS // words)
        blocks = blocks_for(-(-x.size * words // WORDS), THREADS, current_machine().processors)
        numbers = map(np.float64, parameters)
        run = kernel("random", name, x.dtype)
        run((blocks,), (THREADS,), (dense, np.int64(x.size), stream, *numbers))
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
    return _fill("normal", x, generator, mean, std)


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
        report = (failures.pointer(), np.int32(failures.PROBABILITY))
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


# From the CPU


def _generator(generator: Any, name: str) -> Generator:
    """The stream as a generator of the CPU's."""
    found = Generator(engine="philox")
    found.philox = drawn_by_host(generator, name)
    return found


def _filled(draw: Callable) -> Callable:
    """An in-place kernel that fills an array of the host's and copies it."""

    def run(x: Any, *arguments: Any) -> Any:
        numbers = np.empty(x.shape, x.dtype)
        draw(numbers, *arguments[:-1], _generator(arguments[-1], draw.__name__))
        return copy_(x, array(numbers, None))

    run.__name__ = run.__qualname__ = draw.__name__
    return run


def _made(draw: Callable) -> Callable:
    """A kernel that makes an array from other arrays and numbers."""

    def run(*arguments: Any) -> Any:
        given = [to_numpy(a) if hasattr(a, "strides") else a for a in arguments[:-1]]
        return array(draw(*given, _generator(arguments[-1], draw.__name__)), None)

    run.__name__ = run.__qualname__ = draw.__name__
    return run


random_ = _filled(random_philox.random_)
exponential_ = _filled(random_philox.exponential_)
geometric_ = _filled(random_philox.geometric_)
cauchy_ = _filled(random_philox.cauchy_)
log_normal_ = _filled(random_philox.log_normal_)
randperm = _made(host.randperm)
rrelu_noise = _made(host.rrelu_noise)
multinomial = _made(host.multinomial)
poisson = _made(host.poisson)
