"""Convolution on tensor cores without columns in memory; kernels/conv_tensor.cu.

Half precision, and float32 where factors of 10 bits are allowed, on GPUs whose tensor cores take
all three. Arrays are copied to channels last first, so that a kernel reads 16 bytes at once; what a
copy costs is little beside columns, which have each element as often as windows overlap. Where they
do not, where a weight, which is copied as well, is larger than the columns, and for what the
kernels do not hold, the functions here return False.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np

from nnkit.backend import switches
from nnkit.backend.cuda.creation import copy_, fill_
from nnkit.backend.cuda.differences import address, empty
from nnkit.backend.cuda.geometry import LARGEST, Geometry
from nnkit.backend.cuda.launch import VECTOR_BYTES, blocks_for, shared_limit
from nnkit.backend.cuda.source import current_machine, kernel
from nnkit.backend.dtype import HALF

F4 = np.dtype(np.float32)
THREADS, STAGES, DEPTH = 128, 3, 64  # as in the kernels
COLUMNS = 128  # of a tile
ROWS = (64, 128)
MOST_TAPS = 512  # of the table in shared memory
BLOCKS = 264  # that keep a large GPU busy: of the shape alone, so that sums have the same bits
FEWEST_STEPS = 8  # of a part of a sum


class Product(ctypes.Structure):
    """`Product` of kernels/conv_tensor.cu."""

    _fields_ = tuple(
        (n, ctypes.c_int64)
        for n in (
            "batch", "groups", "rows", "units", "row_tiles", "column_tiles",
            "phases", "is_gradient", "g_units", "terms", "parts", "terms_of_part",
        )
    )  # fmt: skip


def allows_tf32() -> bool:
    """Whether float32 convolutions may take factors of 10 bits, as in torch."""
    return (switches.cudnn if switches.cudnn.enabled else switches.matmul).allow_tf32


def _is_fit(x: Any, windows: Geometry) -> bool:
    taps, machine = math.prod(windows.kernel), current_machine()
    return (
        (x.dtype in HALF or (x.dtype == F4 and allows_tf32()))
        and 0 < math.prod(x.shape[1:]) <= LARGEST
        and int(machine.capability) >= 80
        and math.prod(windows.stride) < taps <= MOST_TAPS
        and _shared(ROWS[-1], taps) <= shared_limit(machine.capability)
    )


def _is_small(weight: Any, batch: int, windows: Geometry, groups: int) -> bool:
    """Whether the weight is smaller than the columns would be."""
    return weight.shape[0] // groups < batch * math.prod(windows.output)


def _shared(rows: int, taps: int) -> int:
    """Bytes of a block: the tiles, whose rows have a unit more than their terms, and the table of
    taps. Turned tiles, which have no table, take less."""
    return STAGES * (rows + COLUMNS) * (DEPTH + VECTOR_BYTES) + VECTOR_BYTES * taps


def _tiles(count: int, size: int) -> int:
    return -(-count // size)


def _rows(rows: int, other_tiles: int, taps: int) -> int:
    """The rows of a tile: few where many would be empty, too few blocks at work, or one alone has
    room on a processor."""
    small, large = ROWS
    is_roomy = 2 * _shared(large, taps) <= shared_limit(current_machine().capability)
    is_busy = _tiles(rows, large) * other_tiles >= BLOCKS
    return large if rows > small and is_busy and is_roomy else small


def _in_units(x: Any) -> Any:
    """``x`` in C order, its last axis filled by zeros to whole loads."""
    width = VECTOR_BYTES // x.itemsize
    size = x.shape[-1]
    whole = _tiles(size, width) * width
    if whole == size and x.flags.c_contiguous and address(x) % VECTOR_BYTES == 0:
        return x
    out = empty((*x.shape[:-1], whole), x.dtype, x)
    if whole > size:
        fill_(out[..., size:], 0)
    copy_(out[..., :size], x)
    return out


def _channels_last(x: Any, groups: int) -> Any:
    """(sample, place, group, channel of a group) of (sample, channel, *spatial)."""
    batch, channels, *spatial = x.shape
    planes = x.reshape(batch, groups, channels // groups, math.prod(spatial))
    return _in_units(planes.transpose(0, 3, 1, 2))


def _launch(name: str, rows: int, tiles: int, windows: Geometry, *arguments: Any) -> None:
    run = kernel("conv_tensor", name, arguments[0].dtype, rows)
    blocks = blocks_for(tiles, 1, current_machine().processors)
    run((blocks,), (THREADS,), arguments, _shared(rows, math.prod(windows.kernel)))


def conv(x: Any, weight: Any, bias: Any, out: Any, windows: Geometry, groups: int) -> bool:
    """Fill ``out`` by the convolution."""
    if not (_is_fit(x, windows) and _is_small(weight, x.shape[0], windows, groups)):
        return False
    outputs, of_group = weight.shape[:2]
    terms = weight.reshape(outputs, of_group, math.prod(windows.kernel)).swapaxes(1, 2)
    count = math.prod(windows.output)
    _convolve(x, _in_units(terms), bias, out, windows, groups, 1, count, False)
    return True


def conv_grad_input(g: Any, weight: Any, out: Any, windows: Geometry, groups: int) -> bool:
    """Fill ``out`` by the gradient of the convolution in its input."""
    if not (_is_fit(g, windows) and _is_small(weight, g.shape[0], windows, groups)):
        return False
    outputs, of_group = weight.shape[:2]
    by_group = weight.reshape(groups, outputs // groups, of_group, math.prod(windows.kernel))
    terms = _in_units(by_group.transpose(0, 2, 3, 1))
    # Of the first phase, which has as many places as any.
    count = math.prod(_tiles(n, s) for n, s in zip(windows.input, windows.stride))
    phases = math.prod(windows.stride)
    _convolve(g, terms, None, out, windows, groups, phases, count, True)
    return True


def _convolve(
    x: Any, terms: Any, bias: Any, out: Any, windows: Geometry, groups: int, phases: int,
    count: int, is_gradient: bool,
) -> None:  # fmt: skip
    batch, channels = out.shape[:2]
    of_group, units = channels // groups, terms.shape[-1] * terms.itemsize // VECTOR_BYTES
    column_tiles = _tiles(batch * count, COLUMNS)
    others = column_tiles * groups * phases
    rows = _rows(of_group, others, math.prod(windows.kernel))
    row_tiles = _tiles(of_group, rows)
    product = Product(batch, groups, of_group, units, row_tiles, column_tiles, phases, is_gradient)
    given = (_channels_last(x, groups), terms, bias, out, windows, product)
    _launch("conv", rows, row_tiles * others, windows, *given)


def conv_grad_weight(g: Any, x: Any, out: Any, windows: Geometry, groups: int) -> bool:
    """Fill ``out`` by the gradient of the convolution in its weight."""
    taps, terms = math.prod(windows.kernel), x.shape[0] * math.prod(windows.output)
    if not (_is_fit(x, windows) and 0 < terms <= LARGEST and out.size):
        return False
    outputs, of_group = out.shape[:2]
    g, x = _channels_last(g, groups), _channels_last(x, groups)
    width = VECTOR_BYTES // x.itemsize
    row_count, columns = outputs // groups, taps * x.shape[-1]
    column_tiles = _tiles(columns, COLUMNS)
    rows = _rows(row_count, column_tiles * groups, taps)
    row_tiles = _tiles(row_count, rows)
    tiles = row_tiles * column_tiles * groups
    # A sum is cut into parts, which are added up in their order, where there are few tiles.
    steps = _tiles(terms, DEPTH // x.itemsize)
    steps_of_part = max(FEWEST_STEPS, _tiles(steps, _tiles(BLOCKS, tiles)))
    parts = _tiles(steps, steps_of_part)
    product = Product(
        x.shape[0], groups, row_count, x.shape[-1] // width, row_tiles, column_tiles, 1, False,
        g.shape[-1] // width, terms, parts, steps_of_part * (DEPTH // x.itemsize),
    )  # fmt: skip
    sums = empty((parts, outputs, taps, x.shape[-1]), F4, x)
    _launch("conv_grad_weight", rows, tiles * parts, windows, g, x, sums, windows, product)
    total = sums[0] if parts == 1 else _total(sums)
    copy_(out.reshape(outputs, of_group, taps), total[..., :of_group].swapaxes(1, 2))
    return True


def _total(sums: Any) -> Any:
    from nnkit.backend.cuda import BACKEND as B

    return B.sum(sums, 0, False)
