"""Random sparse tensors, the same in every framework."""

from __future__ import annotations

import random
from types import ModuleType
from typing import Any


def coordinates(
    lib: ModuleType,
    shape: tuple[int, ...],
    count: int,
    seed: int,
    sparse_dims: int | None = None,
    dtype: str = "float64",
    coalesced: bool = False,
) -> Any:
    """A tensor of layout ``sparse_coo`` whose elements are small integers or halves."""
    draw = random.Random(seed)
    sparse = len(shape) if sparse_dims is None else sparse_dims
    indices = [[draw.randrange(n) for _ in range(count)] for n in shape[:sparse]]
    size = 1
    for n in shape[sparse:]:
        size *= n
    values = [draw.choice([-2.0, -1.0, 0.5, 1.0, 3.0]) for _ in range(count * size)]
    stored = lib.tensor(values, dtype=getattr(lib, dtype)).reshape(count, *shape[sparse:])
    rows = lib.tensor(indices, dtype=lib.int64).reshape(sparse, count)
    made = lib.sparse_coo_tensor(rows, stored, shape)
    return made.coalesce() if coalesced else made


def strided(lib: ModuleType, shape: tuple[int, ...], seed: int, dtype: str = "float64") -> Any:
    """A strided tensor of small integers, of which many are 0."""
    draw = random.Random(seed)
    size = 1
    for n in shape:
        size *= n
    values = [float(draw.choice([0, 0, 1, -2, 3])) for _ in range(size)]
    return lib.tensor(values, dtype=getattr(lib, dtype)).reshape(shape)
