"""Whole numbers, element by element."""

from __future__ import annotations

import numpy as np

from nnkit.backend.cpu.memory import arranged

Array = np.ndarray


def gcd(x: Array, y: Array) -> Array:
    return arranged(np.asarray(np.gcd(x, y)), x, y)


def lcm(x: Array, y: Array) -> Array:
    return arranged(np.asarray(np.lcm(x, y)), x, y)
