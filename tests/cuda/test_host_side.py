"""The host's side of the op table: drivers and what they borrow from the CPU's backend, on arrays
that are not NumPy's (`tests/cuda/arrays.py`). Kernels are chosen and given what they ask for, and
compute nothing, so that no compiler is needed and the whole table takes half a minute."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import pytest

import nnkit
from nnkit.backend.cuda import source
from tests.cuda import on_gpu
from tests.cuda.emulation import by_value
from tests.cuda.stand_in import Capturing, stand_in
from tests.harness import cases
from tests.harness.call import Call
from tests.harness.row import OpRow
from tests.harness.table import ROWS

# What depends on values, none of which is computed: errors, and how large a result is.
OF_VALUES = frozenset(
    "argwhere linalg.lu linalg.lu_solve linalg.slogdet linalg.svdvals logdet lu_solve lu_unpack "
    "matrix_exp nn.functional.one_hot nonzero normal slogdet svd".split()
)


class Idle(Capturing):
    def load(self, kernel: source.Kernel) -> source.Launch:
        def launch(grid: tuple, block: tuple, arguments: tuple, shared: int) -> None:
            for argument in arguments:
                by_value(argument)

        return launch

    def gemm(self, *arguments: Any) -> None:
        pass


@pytest.fixture(scope="module", autouse=True)
def idle() -> Iterator[None]:
    with stand_in(Idle):
        yield


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy's, about numbers of no meaning
@pytest.mark.parametrize("name", sorted(ROWS.keys() - OF_VALUES - set(on_gpu.PLACES)))
def test_rows(name: str) -> None:
    """Without an error, with the CPU's shapes and dtypes, in every dtype."""
    row = ROWS[name]
    for track, chosen in ((False, cases.forward(row)), (True, cases.gradient(row))):
        for _, of_dtype in groupby(chosen, lambda case: case.key.split("/")[2]):
            compare(row, next(of_dtype), track)


def compare(row: OpRow, case: cases.Case, track: bool) -> None:
    wanted = Call(nnkit, row, case.sample, track).result(may_raise=True)
    got = on_gpu.on_cuda(Call(nnkit, row, case.sample, track), bool(wanted.error))
    assert got.dtypes == wanted.dtypes, case.key
    assert [x.shape for x in got.outputs] == [x.shape for x in wanted.outputs], case.key
