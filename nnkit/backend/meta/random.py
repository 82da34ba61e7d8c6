"""Random arrays without memory: nothing is drawn, and no generator moves on."""

from __future__ import annotations

from typing import Any

import numpy as np

from nnkit.backend.meta.array import Meta, empty, of_operands
from nnkit.backend.meta.creation import empty_like


def _alike(x: Meta, *rest: Any) -> Meta:
    return empty_like(x)


bernoulli = rrelu_noise = poisson = standard_gamma = binomial = _alike
normal_around = normal_scaled = _alike


def dropout_mask(x: Meta, p: float, generator: Any) -> Meta:
    return of_operands(x.shape, np.dtype(np.bool_), [x])


def normal_between(mean: Meta, std: Meta, shape: tuple, generator: Any) -> Meta:
    return empty(shape, mean.dtype)


def randperm(n: int, dtype: np.dtype, generator: Any) -> Meta:
    return empty((n,), dtype)


def multinomial(p: Meta, num_samples: int, replacement: bool, generator: Any) -> Meta:
    return empty((*p.shape[:-1], num_samples), np.dtype(np.int64))
