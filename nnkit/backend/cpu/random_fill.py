"""Filling an array with draws, in the order of its memory, and the draws all others start from."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from nnkit.backend.cpu.box_muller import PAIRS
from nnkit.backend.random import Generator

BLOCK = 2 * PAIRS
MASK53 = np.uint64(2**53 - 1)
_SCALE24 = np.float32(2.0**-24)
_SCALE53 = 2.0**-53


def memory_order(x: np.ndarray) -> list[int]:
    """The axes of ``x`` from the outermost in memory to the innermost, as PyTorch orders them.

    An axis of stride 0 (a broadcast one) keeps its place among the others.
    """
    order = list(range(x.ndim))[::-1]  # innermost first while sorting
    for i in range(1, x.ndim):
        at = i
        for k in range(i - 1, -1, -1):
            inner, outer = order[k], order[at]
            a, b = abs(x.strides[inner]), abs(x.strides[outer])
            if a == 0 or b == 0:
                continue
            if a > b or (a == b and x.shape[inner] > x.shape[outer]):
                order[k], order[at] = outer, inner
                at = k
            elif a < b:
                break
    return order[::-1]


def digits_of(dtype: np.dtype) -> int:
    """The bits of a significand; bfloat16, whose dtype is not NumPy's own, has 8."""
    return np.finfo(dtype).nmant + 1 if dtype.kind == "f" else 8


def store(target: np.ndarray, values: np.ndarray) -> None:
    """Write ``values`` as C++ converts them: doubles and integers reach a half through float32."""
    if values.dtype == target.dtype:
        target[...] = values
        return
    with np.errstate(over="ignore"):
        if target.dtype.itemsize == 2 and target.dtype.kind in "fV":
            values = values.astype(np.float32)
        np.copyto(target, values, casting="unsafe")


def fill(x: np.ndarray, draw: Callable[[int], np.ndarray], block: int = BLOCK) -> np.ndarray:
    """Write ``draw(count)`` over ``x``, block by block, in the order of its memory."""
    view = x if x.flags.c_contiguous else x.transpose(memory_order(x))
    flat = view.reshape(-1) if view.flags.c_contiguous else np.empty(x.size, x.dtype)
    for start in range(0, x.size, block):
        part = flat[start : start + block]
        store(part, draw(part.size))
    if not view.flags.c_contiguous:
        view[...] = flat.reshape(view.shape)
    return x


def fill_parts(x: np.ndarray, kernel: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Run a kernel for real arrays on the real and imaginary parts of ``x``, interleaved."""
    order = memory_order(x)
    view = x.transpose(order)
    real = np.finfo(x.dtype).dtype
    if view.flags.c_contiguous:
        parts = view.reshape(-1).view(real).reshape(*view.shape, 2)
        kernel(parts if x.flags.c_contiguous else parts.transpose(*np.argsort(order), x.ndim))
    else:
        # Strided on purpose: PyTorch draws dense and strided normals in different ways.
        parts = np.empty((*view.shape, 4), real)[..., ::2]
        kernel(parts)
        np.real(view)[...] = parts[..., 0]
        np.imag(view)[...] = parts[..., 1]
    return x


def uniform_single(generator: Generator, count: int) -> np.ndarray:
    words = generator.words(count).astype(np.uint32)
    words &= np.uint32(2**24 - 1)
    u = words.view(np.int32).astype(np.float32)
    u *= _SCALE24
    return u


def uniform_double(generator: Generator, count: int) -> np.ndarray:
    words = generator.double_words(count)
    words &= MASK53
    u = words.view(np.int64).astype(np.float64)
    u *= _SCALE53
    return u


def normal_double(generator: Generator, count: int) -> np.ndarray:
    """Standard normals in pairs; the second of an odd last pair waits in the generator."""
    out = np.empty(count)
    rest = out
    waiting = generator.next_double_normal_sample
    if waiting is not None and count:
        out[0], rest = waiting, out[1:]
        generator.next_double_normal_sample = None
    u = uniform_double(generator, rest.size + rest.size % 2).reshape(-1, 2)
    radius = np.sqrt(-2.0 * np.log1p(-u[:, 1]))
    angle = 2 * np.pi * u[:, 0]
    rest[0::2] = radius * np.cos(angle)
    rest[1::2] = (radius * np.sin(angle))[: rest.size // 2]
    if rest.size % 2:  # in the C library's digits, as part of the generator's state
        last = math.sqrt(-2.0 * math.log1p(-float(u[-1, 1])))
        generator.next_double_normal_sample = last * math.sin(2 * math.pi * float(u[-1, 0]))
    return out
