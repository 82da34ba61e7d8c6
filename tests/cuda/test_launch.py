"""The arithmetic of launches: grids, folded dimensions, widths of loads."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pytest

from nnkit.backend.cuda import launch
from nnkit.backend.cuda.reduction import parts_of_columns
from nnkit.backend.cuda.source import allow_shared


@pytest.mark.parametrize("count", [0, 1, 255, 256, 257, 10**6, 10**12])
def test_blocks_cover_the_items_or_fill_the_gpu(count: int) -> None:
    blocks = launch.blocks_for(count, 256, processors=10)
    assert 1 <= blocks <= 160
    assert blocks * 256 >= count or blocks == 160


@pytest.mark.parametrize(
    ("length", "threads"), [(0, 32), (1, 32), (33, 64), (1000, 1024), (99999, 1024)]
)
def test_threads_are_whole_warps(length: int, threads: int) -> None:
    assert launch.threads_for(length) == threads


@pytest.mark.parametrize(
    ("size", "fixed", "asked"),
    [(0, 49152, 0), (48000, 1136, 0), (48080, 1136, 48080), (49152, 0, 0), (49168, 0, 49168)],
)
def test_shared_memory_is_asked_for_beside_what_is_fixed(size: int, fixed: int, asked: int) -> None:
    function = SimpleNamespace(shared_size_bytes=fixed, max_dynamic_shared_size_bytes=0)
    allow_shared(function, size)
    assert function.max_dynamic_shared_size_bytes == asked


def test_wide_loads_need_aligned_operands() -> None:
    assert launch.vector_width(1000, [(0, 4), (256, 4)]) == 4
    assert launch.vector_width(1000, [(0, 4), (264, 4)]) == 2
    assert launch.vector_width(1000, [(0, 4), (260, 4)]) == 1
    assert launch.vector_width(1000, [(0, 2)]) == 8
    assert launch.vector_width(1000, [(0, 2), (0, 8)]) == 2
    assert launch.vector_width(3, [(0, 4)]) == 2
    assert launch.vector_width(1, [(0, 1)]) == 1


def views() -> list[np.ndarray]:
    x = np.arange(2 * 3 * 4).reshape(2, 3, 4)
    return [x, x.transpose(2, 0, 1).copy().transpose(1, 2, 0), x[:, ::1], x.swapaxes(0, 1).copy()
            .swapaxes(0, 1), np.broadcast_to(x[0, 0], x.shape), np.broadcast_to(x[:, :1], x.shape),
            np.broadcast_to(x[0, 0, 0], x.shape)]  # fmt: skip


@pytest.mark.parametrize("pair", list(itertools.product(range(7), repeat=2)))
def test_folding_walks_the_same_elements(pair: tuple[int, int]) -> None:
    first, second = (views()[i] for i in pair)
    strides = [[s // 8 for s in x.strides] for x in (first, second)]
    sizes, (one, other) = launch.fold(first.shape, strides)
    assert len(sizes) <= 3

    def offsets(shape: tuple, walk: Sequence[int]) -> np.ndarray:
        total = np.zeros(shape, int)
        for axis, (n, step) in enumerate(zip(shape, walk)):
            total += (np.arange(n) * step).reshape((n,) + (1,) * (len(shape) - axis - 1))
        return total.ravel()

    wanted = set(zip(offsets(first.shape, strides[0]), offsets(first.shape, strides[1])))
    assert set(zip(offsets(sizes, one), offsets(sizes, other))) == wanted


def test_contiguous_operands_fold_to_a_line() -> None:
    assert launch.fold((2, 3, 4), [(12, 4, 1), (12, 4, 1)]) == ((24,), [(1,), (1,)])
    assert launch.fold((2, 3, 4), [(1, 8, 2), (1, 8, 2)]) == ((24,), [(1,), (1,)])
    assert launch.fold((5, 4), [(4, 1), (0, 1)]) == ((5, 4), [(4, 1), (0, 1)])
    assert launch.fold((), [()]) == ((), [()])


def test_around_an_axis() -> None:
    assert launch.around_axis((2, 3, 4), 1) == (2, 3, 4)
    assert launch.around_axis((2, 3, 4), -1) == (6, 4, 1)
    assert launch.around_axis((), 0) == (1, 1, 1)


def test_element_strides_of_a_broadcast_operand() -> None:
    assert launch.element_strides((3, 1), (4, 4), 4, (2, 3, 5)) == (0, 1, 0)


def test_packs_along_the_last_of_several_dimensions() -> None:
    def packs(sizes: tuple, walks: list, bytes: int = 4, address: int = 256) -> tuple:
        return launch.pack_width(sizes, walks, [(address, bytes)] * len(walks))

    # A bias for each column, for each row, and a part of longer rows.
    assert packs((6, 8), [(8, 1), (8, 1), (0, 1)]) == (4, (False, False, False))
    assert packs((6, 8), [(8, 1), (8, 1), (1, 0)]) == (4, (False, False, True))
    assert packs((6, 8), [(8, 1), (20, 1)], bytes=2) == (4, (False, False))
    # Rows or addresses that are not aligned, or lie otherwise.
    assert packs((6, 7), [(7, 1), (0, 1)]) == (1, (False, False))
    assert packs((6, 8), [(8, 1), (9, 1)]) == (1, (False, False))
    assert packs((6, 8), [(8, 1), (0, 1)], address=264)[0] == 2
    assert packs((6, 8), [(8, 1), (1, 6)]) == (1, (False, False))
    assert packs((6, 8), [(8, 1), (-8, 1)])[0] == 4
    assert packs((4, 2, 8), [(16, 8, 1), (32, 16, 2)])[0] == 1


def test_plans_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "MOST_PLANS", 3)
    plans = launch.Plans()
    for key in range(7):
        assert plans.keep(key, str(key)) == str(key)
        assert plans[key] == str(key) and len(plans) <= 3


@pytest.mark.parametrize("of_block", (32, 256))
@pytest.mark.parametrize(("rows", "columns"), [(65536, 1024), (8192, 768), (32768, 1)])
def test_sums_of_columns_fill_a_gpu(rows: int, columns: int, of_block: int) -> None:
    parts = parts_of_columns(columns, rows, of_block)
    assert parts == 512 or -(-columns // of_block) * parts >= 1024 or rows // parts < 128
    assert rows // parts >= 64
