"""Indexing of arrays without memory: positions decide shapes by theirs."""

from __future__ import annotations

from typing import Any

import numpy as np

from nnkit.backend.cpu.indexing import getitem as view_of
from nnkit.backend.index import ALL, order_of_indexed
from nnkit.backend.meta.array import Meta, empty, in_order
from nnkit.backend.meta.reduction import INT64


def getitem(x: Meta, index: Any) -> Meta:
    return x.seen(view_of(x.geometry, index))


def index(x: Meta, positions: tuple) -> Meta:
    shapes, places = [], []
    for place, item in enumerate(positions):
        if item is ALL:
            continue
        if getattr(item, "dtype", INT64).kind in "bu":
            raise NotImplementedError("index(): a mask decides the size, and has no data")
        shapes.append((len(item),) if isinstance(item, list) else item.shape)
        places.append(place)
    kept = [n for d, n in enumerate(x.shape) if d not in places]
    together = places[-1] - places[0] == len(places) - 1
    start = places[0] if together else 0
    shape = (*kept[:start], *np.broadcast_shapes(*shapes), *kept[start:])
    return in_order(shape, x.dtype, order_of_indexed(shape, x, positions))


def gather(x: Meta, index: Meta, axis: int) -> Meta:
    return empty(index.shape, x.dtype)


def _data_decide(x: Meta, *rest: Any) -> Meta:
    raise NotImplementedError("the elements decide the size of the result, and there are none")


nonzero = masked_select = _data_decide
