"""Indexing of arrays without memory: positions decide shapes by theirs."""

from __future__ import annotations

from typing import Any

import numpy as np

from nnkit.backend.cpu.indexing import getitem as view_of
from nnkit.backend.index import ALL, order_of_indexed, split_index
from nnkit.backend.meta.array import Meta, empty, in_order


def getitem(x: Meta, index: Any) -> Meta:
    basic, advanced = split_index(index, x.shape)
    view = x.seen(view_of(x.geometry, basic))
    if advanced is None:
        return view
    shapes, places, dim = [], [], 0
    for item in advanced:
        if item is ALL:
            dim += 1
            continue
        if getattr(item, "dtype", None) == np.bool_:
            raise NotImplementedError("getitem(): a mask decides the size, and has no data")
        shapes.append((len(item),) if isinstance(item, list) else item.shape)
        places.append(dim)
        dim += 1
    found = np.broadcast_shapes(*shapes)
    kept = [n for d, n in enumerate(view.shape) if d not in places]
    together = places[-1] - places[0] == len(places) - 1
    start = places[0] if together else 0
    shape = (*kept[:start], *found, *kept[start:])
    return in_order(shape, x.dtype, order_of_indexed(shape, view, advanced))


def gather(x: Meta, index: Meta, axis: int) -> Meta:
    return empty(index.shape, x.dtype)


def index_select(x: Meta, index: Meta, axis: int) -> Meta:
    shape = (*x.shape[:axis], index.size, *x.shape[axis + 1 :]) if x.ndim else ()
    return empty(shape, x.dtype)


def _data_decide(x: Meta, *rest: Any) -> Meta:
    raise NotImplementedError("the elements decide the size of the result, and there are none")


nonzero = masked_select = _data_decide
