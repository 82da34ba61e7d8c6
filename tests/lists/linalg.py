"""Products of matrices."""

from __future__ import annotations

from typing import Any

from nnkit.backend.dtype import promote_types
from tests.lists.array import Array, broadcast, elements, expanded, made, of, rounded


def matmul(x: Array, y: Array) -> Array:
    if x.shape[-1] != (y.shape[-2] if y.ndim > 1 else y.shape[0]):
        raise ValueError(f"matmul: shapes {x.shape} and {y.shape} do not fit (size mismatch)")
    dtype = promote_types(of(x.dtype), of(y.dtype)).array
    left = x if x.ndim > 1 else x.seen((1, *x.shape), (0, *x.steps))
    right = y if y.ndim > 1 else y.seen((*y.shape, 1), (*y.steps, 0))
    lead = broadcast(left.shape[:-2], right.shape[:-2])
    (m, k), n = left.shape[-2:], right.shape[-1]
    rows = _rows(expanded(left, (*lead, m, k)))
    turned = right.transpose([*range(right.ndim - 2), right.ndim - 1, right.ndim - 2])
    columns = _rows(expanded(turned, (*lead, n, k)))
    batch = len(rows) // m if m else 0
    out = [
        sum(map(_times, row, column))
        for b in range(batch)
        for row in rows[b * m : b * m + m]
        for column in columns[b * n : b * n + n]
    ]
    shape = (*lead, *([m] if x.ndim > 1 else []), *([n] if y.ndim > 1 else []))
    return made(rounded(out, dtype), shape, dtype)


def _times(a: Any, b: Any) -> Any:
    return a * b


def _rows(x: Array) -> list[list]:
    values, n = elements(x), x.shape[-1]
    count = 1
    for size in x.shape[:-1]:
        count *= size
    return [values[i * n : i * n + n] for i in range(count)]
