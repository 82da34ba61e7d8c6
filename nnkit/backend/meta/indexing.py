"""Indexing of arrays without memory: positions decide shapes by theirs."""

from __future__ import annotations

from typing import Any

from nnkit.backend.cpu.indexing import getitem as view_of
from nnkit.backend.index import order_of_indexed, shape_of_indexed, with_masks
from nnkit.backend.meta.array import Meta, empty, in_order, sized_by_data


def getitem(x: Meta, index: Any) -> Meta:
    return x.seen(view_of(x.geometry, index))


def index(x: Meta, positions: tuple) -> Meta:
    if any(isinstance(item, Meta) and item.dtype.kind in "bu" for item in positions):
        raise NotImplementedError("index(): a mask decides the size, and has no data")
    positions = with_masks(positions)
    shape = shape_of_indexed(x, positions)
    return in_order(shape, x.dtype, order_of_indexed(shape, x, positions))


def gather(x: Meta, index: Meta, axis: int) -> Meta:
    return empty(index.shape, x.dtype)


nonzero = masked_select = sized_by_data
