"""Programs as drivers are planned, without a GPU: what is written down for arrays of a layout."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nnkit.backend.algebra import CATALOGUE
from nnkit.backend.cuda import BACKEND, blas, planning, source
from tests.cuda import arrays

F4 = np.dtype(np.float32)


class Machine:
    """A GPU that only tells its kernels."""

    index, processors, capability, parameter_bytes = 0, 4, "90", 4096
    host_memory = None

    def __init__(self) -> None:
        self.kernels: list[str] = []

    def function(self, kernel: source.Kernel) -> Any:
        self.kernels.append(kernel.name)
        return SimpleNamespace(kernel=SimpleNamespace(ptr=len(self.kernels)))

    def layout_only(self, shape: tuple, dtype: np.dtype, strides: tuple) -> Any:
        return shape, dtype, strides


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    made = Machine()
    monkeypatch.setattr(source, "_stand_in", [made])
    monkeypatch.setattr(planning, "_planners", {})
    functions = SimpleNamespace(cublasGemmEx=None, cublasGemmStridedBatchedEx=None)
    monkeypatch.setattr(blas, "library", lambda: functions)
    yield made


def given(shape: tuple[int, ...], dtype: Any = F4) -> Any:
    return arrays.ndarray(shape, dtype)


def planned(name: str, *arguments: Any, varies: bool = False) -> Any:
    found = planning.program_for(varies, getattr(BACKEND, name), arguments)
    return None if found is None else found[0]


def test_planned_primitives_are_in_the_catalogue() -> None:
    assert planning.PLANNED <= CATALOGUE.keys()
    for name in planning.PLANNED:
        primitive = CATALOGUE[name]
        assert not (primitive.draws or primitive.sized_by_data or primitive.reads), name


def test_a_formula_is_one_launch(machine: Machine) -> None:
    x = given((4, 6))
    made, steps, results, several = planned("add", x, x, varies=True)
    ((is_product, launch),) = steps
    function, shape, shared, _, starts, addresses, numbers = launch
    assert not is_product and function == 1 and shape[3:] == (256, 1, 1) and shared == 0
    # The same array twice is two arrays for a program; the result comes before them.
    assert [a[1:] for a in addresses] == [(-1, 0), (0, 0), (1, 0)]
    assert [a[0] for a in addresses] == list(starts[-3:]) and numbers == ()
    assert made == ((96, ((4, 6), F4, (24, 4))),) and results == (-1,) and not several


def test_numbers_of_formulas_vary(machine: Machine) -> None:
    *_, content, starts, _, numbers = planned("mul", given((4,)), 2.5, varies=True)[1][0][1]
    assert numbers == ((starts[0], 1, False),)
    assert struct.unpack_from("d", content, starts[0]) == (2.5,)
    *_, numbers = planned("mul", given((4,), np.int64), 3, varies=True)[1][0][1]
    assert [n[1:] for n in numbers] == [(1, True)]


def test_what_is_written_is_the_result(machine: Machine) -> None:
    made, steps, results, _ = planned("add_", given((4,)), given((4,)), varies=True)
    assert made == () and results == (0,)
    assert [a[1] for a in steps[0][1][5]] == [0, 0, 1]


def test_a_result_has_the_order_of_its_operands(machine: Machine) -> None:
    x = given((4, 6)).T
    made, *_ = planned("neg", x, varies=True)
    assert made == ((96, ((6, 4), F4, (4, 24))),)


def test_a_result_of_no_element_is_not_launched_for(machine: Machine) -> None:
    made, steps, results, _ = planned("neg", given((3, 0)), varies=True)
    assert made == ((0, ((3, 0), F4, (0, 0))),) and steps == () and results == (-1,)


def test_memory_that_is_no_result_is_made_too(machine: Machine) -> None:
    made, steps, results, several = planned("sum", given((1 << 20,)), None, False)
    assert results == (-1,) and not several
    assert made[0] == (4, ((), F4, ())) and made[1][1] is None
    assert len(steps) == 2 and [k.partition("<")[0] for k in machine.kernels] == [
        "nnkit::reduce_rows", "nnkit::reduce_parts",
    ]  # fmt: skip


def test_a_linear_map_is_a_product_and_a_sum(machine: Machine) -> None:
    _, steps, results, _ = planned("linear", given((2, 3)), given((5, 3)), given((5,)))
    (is_product, product), (is_last, launch) = steps
    assert is_product and not is_last and results == (-1,)
    _, many, shape, factors, left, right, out, how = product
    assert not many and shape == (1, 0, 5, 2, 3)
    assert struct.unpack("ff", factors) == (1.0, 0.0)
    assert (left[0], right[0], out[0]) == (1, 0, -1) and how[0] == 1
    assert [a[1] for a in launch[5]] == [-1, -1, 2]


def test_an_update_names_its_arrays_in_a_table(machine: Machine) -> None:
    import nnkit.optim  # noqa: F401  its formulas
    from nnkit.backend.algebra import FORMULAS

    update = FORMULAS["sgd_step" if "sgd_step" in FORMULAS else next(
        n for n, f in FORMULAS.items() if n.startswith("sgd")
    )]  # fmt: skip
    lists = [[given((3,)), given((2, 2))] for _ in update.arrays]
    scalars = [0.5] * len(update.scalars)
    flags = [False] * len(update.flags)
    made, steps, results, _ = planned(update.name, *lists, *scalars, *flags, varies=True)
    _, _, _, content, starts, addresses, numbers = steps[-1][1]
    assert made == () and results == (None,)
    assert {a[1] for a in addresses} <= set(range(2 * len(update.arrays)))
    assert all(content[a[0] : a[0] + 8] != bytes(8) for a in addresses) and len(addresses) % 2 == 0
    first = len(update.arrays)
    assert [n[1] for n in numbers] == list(range(first, first + len(update.scalars)))
    assert all(starts[0] <= n[0] < starts[1] for n in numbers)


UNPLANNED: dict[str, Callable[[], tuple]] = {
    "complex numbers": lambda: ("sum", given((4,), np.complex64), None, False),
    "a view of an argument": lambda: ("sum_to", given((4, 6)), (4, 6)),
    "shapes that do not fit": lambda: ("matmul", given((4, 6)), given((4, 6))),
}


@pytest.mark.parametrize("name", UNPLANNED)
def test_other_calls_have_no_program(name: str, machine: Machine) -> None:
    assert planned(*UNPLANNED[name]()) is None


def test_an_outline_is_no_array_of_numpy(machine: Machine) -> None:
    outline = planning.Tape((given((4, 6)),), False).arguments[0]
    for use in (np.sum, np.sqrt, np.asarray, lambda x: x[0, 0], lambda x: x.T.reshape(24)):
        with pytest.raises((TypeError, ValueError)):
            use(outline)
    assert outline[1:].data.ptr - outline.data.ptr == 24


def test_the_planner_is_gone_after_a_failure(machine: Machine) -> None:
    assert planned(*UNPLANNED["complex numbers"]()) is None
    assert source.current_machine() is machine and planning._thread.tape is None
