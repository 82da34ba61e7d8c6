"""Whole numbers, element by element."""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def gcd(x: Array, y: Array) -> Array:
    return np.asarray(np.gcd(x, y))


def lcm(x: Array, y: Array) -> Array:
    return np.asarray(np.lcm(x, y))
