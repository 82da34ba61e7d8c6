"""Orders."""

from __future__ import annotations

from nnkit.backend.dtype import int64
from tests.lists.array import Array, made
from tests.lists.reduction import along, lines


def argsort(x: Array, axis: int, descending: bool) -> Array:
    """Stable; NaN is the greatest."""
    if not x.ndim:
        return made([0], (), int64.array)
    outs = []
    for line in lines(x, axis):
        keys = [(v != v, 0 if v != v else v) for v in line]
        outs.append(sorted(range(len(line)), key=keys.__getitem__, reverse=descending))
    return along(outs, x.shape, axis, int64.array)
