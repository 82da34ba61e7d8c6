"""Every printed formula, in-place form and optimizer update against its twin in NumPy."""

from __future__ import annotations

import itertools
import math
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16

import nnkit.nn
import nnkit.optim  # noqa: F401  both enter their formulas into the catalogue
from nnkit.backend.algebra import FORMULAS
from nnkit.backend.cpu import BACKEND as B
from nnkit.backend.cpu import native
from nnkit.backend.cpu.native.printer import APART_IN_HALVES
from nnkit.backend.cpu.update import _Variant
from nnkit.backend.formula import Formula, Update, interpret
from nnkit.backend.memory import order_of_result
from tests.backend.native_cases import (
    FLOATS,
    LAYOUTS,
    SHAPES,
    THREADS,
    assert_equal,
    bits,
    broadcasting,
    compare,
    needs_native,
    numbers,
    order,
    served,
    threads,
    ulps,
    unit,
)

pytestmark = needs_native


def is_native(function: Any) -> bool:
    return native.MODULE is not None and isinstance(function, native.MODULE.Kernel)


def existing() -> dict[str, Formula]:
    """All formulas but the derivatives that there are not."""
    found = {}
    for name, formula in FORMULAS.items():
        if not isinstance(formula, Update):
            with suppress(RuntimeError):
                formula.trace()
                found[name] = formula
    return found


# Bits of integers; what gives a real array back as it is.
NOT_COMPILED = frozenset(
    "bitwise_and bitwise_or bitwise_xor bitwise_not bitwise_left_shift bitwise_right_shift"
    " conj conj_grad_x".split()
)
COMPILED = {name: f for name, f in existing().items() if name not in NOT_COMPILED}
CASES = [form for name in COMPILED for form in (name, name + "_")]

# Functions whose results IEEE 754 (or their definition) fixes: kernel and twin have the same bits.
EXACT = frozenset(
    "add sub mul div neg abs sign sgn sqrt reciprocal square floor ceil trunc round frac maximum"
    " minimum fmax fmin copysign heaviside nextafter where zeros_like conj real fmod remainder"
    " div_floor div_trunc lt le gt ge eq ne isnan isinf isfinite signbit logical_not logical_and"
    " logical_or logical_xor".split()
)
# All others may be off by this many units in the last place, in the kernel or in NumPy; what is
# smaller than the smallest normal number may be lost.
UNITS = 4
# Near their roots these may be off by as many units of the number 1; the last two are often found
# as what another share leaves of 1.
ABSOLUTE = frozenset("logaddexp logaddexp2 lgamma digamma polygamma_at igamma igammac".split())
# A rounding of the argument is multiplied by the degree of these, one of its angle too.
POLYNOMIALS = frozenset(name for name in FORMULAS if "_polynomial_" in name)
RANDOM_SAMPLES = 8


def formula_of(name: str) -> Formula:
    return FORMULAS.get(name) or FORMULAS[name[:-1]]


def is_exact(formula: Formula) -> bool:
    return all(n.function in EXACT for n in formula.trace().nodes if not n.is_leaf)


# Of each function: every number of units for all elements alike, so that every extreme occurs, and
# mixtures.
EXTREMES = np.arange(-UNITS, UNITS + 1)


class Disturbed:
    """An algebra in which the result of each inexact function is off by some units, in another way
    for each entry of the first axis."""

    def __init__(self, dtype: Any) -> None:
        self._dtype = dtype
        self._rng = np.random.default_rng(0)

    def _units(self, shape: tuple[int, ...]) -> np.ndarray:
        alike = np.broadcast_to(EXTREMES.reshape(-1, *[1] * len(shape)), (EXTREMES.size, *shape))
        mixed = self._rng.integers(-UNITS, UNITS + 1, (RANDOM_SAMPLES, *shape))
        return np.concatenate([alike, mixed])

    def __getattr__(self, name: str) -> Any:
        function = getattr(B, name)
        function = getattr(function, "twin", function)

        def disturbed(*arguments):
            arrays = [np.asarray(a, getattr(a, "dtype", self._dtype)) for a in arguments]
            if name in POLYNOMIALS:
                x = arrays[0]
                off = self._units(x.shape[1:]) * np.maximum(unit(x), np.finfo(x.dtype).eps)
                arrays[0] = x + off.astype(x.dtype)
            result = function(*arrays)
            if name in EXACT:
                return result
            limits = np.finfo(result.dtype)
            least = limits.eps if name in ABSOLUTE else limits.tiny
            off = self._units(result.shape[1:]) * np.maximum(unit(result), least)
            return result + off.astype(result.dtype)

        return disturbed


def spread_of(formula: Formula, arguments: tuple) -> np.ndarray:
    """How far results of an inexact formula come apart when each function in it is some units off:
    infinitely where nothing is promised."""
    types = [a.dtype for a in arguments if isinstance(a, np.ndarray) and a.dtype != bool]
    wide = np.float64 if np.float64 in types else np.float32
    shape = (1, *np.broadcast_shapes(*[np.shape(a) for a in arguments]))
    values = {
        p: np.broadcast_to(np.asarray(a, wide), shape)
        for p, a in zip(formula.parameters, arguments)
    }
    with np.errstate(all="ignore"):
        samples = interpret(formula.trace(), values, Disturbed(wide))[0].astype(np.longdouble)
        spread = samples.max(0) - samples.min(0)
    # Where one sample overflows and another does not, nothing is promised.
    alike = (samples == samples[0]) | (np.isnan(samples) & np.isnan(samples[0]))
    return np.where(np.isfinite(samples).all(0), spread, np.where(alike.all(0), 0, np.inf))


def tolerance_of(name: str, arguments: tuple) -> Any:
    """Nothing for exact formulas; for others some units of the result or, where that is too little
    (to find the rest takes long), as many and how far results come apart."""
    formula, few = formula_of(name), ulps(UNITS)
    if is_exact(formula):
        return 0.0

    def allowed(want: np.ndarray) -> np.ndarray:
        spread = spread_of(formula, arguments)
        # Also where the twin's value is infinite and has no unit.
        return np.where(np.isinf(spread), np.inf, 2 * spread + few(want))

    return few, allowed


def check(name: str, arguments: tuple) -> None:
    compare(getattr(B, name), *arguments, tolerance=tolerance_of(name, arguments), same_order=False)


def scalars(formula: Formula) -> tuple:
    return tuple(2 if s == "n" else 0.5 + 0.25 * i for i, s in enumerate(formula.scalars))


def operands(formula: Formula, shape: tuple[int, ...], dtype: Any) -> list[np.ndarray]:
    """One array for each operand, no two of them alike."""
    count = len(formula.arrays)
    together = numbers((*shape, count), dtype, edges=True)
    if formula.name in POLYNOMIALS:  # the twin takes a step of Python for each degree
        with np.errstate(invalid="ignore"):  # NaN, of a half
            together[(together > 100) & (together < np.inf)] = 17
    return [np.ascontiguousarray(together[..., i]) for i in range(count)]


def test_what_is_compiled() -> None:
    assert {name for name in existing() if not is_native(getattr(B, name))} == NOT_COMPILED


@pytest.mark.parametrize("name", CASES)
def test_shapes(name: str) -> None:
    formula = formula_of(name)
    for shape, dtype in itertools.product(SHAPES, FLOATS):
        check(name, (*operands(formula, shape, dtype), *scalars(formula)))


@pytest.mark.parametrize("name", CASES)
def test_layouts(name: str) -> None:
    """Each layout for one operand while the others lie in C order, and for all of them."""
    formula = formula_of(name)
    of_dtype = {dtype: operands(formula, (2, 3, 17), dtype) for dtype in FLOATS}
    for turn, (dtype, (layout, place)) in enumerate(itertools.product(FLOATS, LAYOUTS.items())):
        values = of_dtype[dtype]
        every = len(values)
        # Loops of all dtypes are reached in one way: a third of the layouts does for these.
        if dtype != np.float32 and (turn + CASES.index(name)) % 3:
            continue
        for i in range(every + 1) if dtype == np.float32 else [every]:
            mixed = [place(v) if i in (k, every) else v for k, v in enumerate(values)]
            if name.endswith("_") and not mixed[0].flags.writeable:
                continue
            kernel, arguments = getattr(B, name), (*mixed, *scalars(formula))
            if layout == "swapped":
                assert not served(kernel, *arguments) or dtype == bfloat16
                continue
            check(name, arguments)
            if layout != "misaligned":
                is_left = np.dtype(dtype).itemsize == 2 and formula.name in APART_IN_HALVES
                assert served(kernel, *arguments) != is_left
                if not name.endswith("_"):
                    deciding = [mixed[formula.arrays.index(a)] for a in formula.deciding]
                    rule = order_of_result(mixed[0].shape, deciding) or range(3)
                    assert order(kernel(*arguments)) == list(rule)


@pytest.mark.parametrize("name", CASES)
def test_operands(name: str) -> None:
    """Broadcast operands, bool operands, Python numbers; others go to the twin."""
    formula = formula_of(name)
    extra = scalars(formula)
    for dtype in FLOATS[:2]:
        values = operands(formula, (2, 3, 17), dtype)
        for some in broadcasting(values):
            if not name.endswith("_") or some[0].shape == values[0].shape:
                check(name, (*some, *extra))
        # What is no array of the type counts as one that holds the same numbers.
        for i in range(1, len(values)):
            for replacement in (values[i] > 0, 2, 0.5, True, math.inf):
                full = np.full(values[i].shape, replacement, dtype)
                results = []
                for operand in (replacement, full):
                    changed = [v.copy() for v in values]
                    changed[i] = operand
                    results.append(getattr(B, name)(*changed, *extra))
                    assert served(getattr(B, name), *changed, *extra)
                changed = [full if k == i else v for k, v in enumerate(values)]
                assert_equal(*results, tolerance=tolerance_of(name, (*changed, *extra)))


# Of operands whose elements, rows or planes are repeated.
SHORT_ROWS = (
    ((700, 3), (700, 1)), ((3,), (700, 3)), ((700, 1), (1, 3)), ((600, 2), (600, 1)),
    ((40, 1, 5), (1, 60, 5)), ((9, 1, 70), (9, 70, 1)), ((7, 1, 30, 2), (50, 1, 1)),
)  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_short_rows(dtype: np.dtype) -> None:
    """Blocks that begin and end within a row."""
    for shapes in SHORT_ROWS:
        arguments = tuple(numbers(shape, dtype) for shape in shapes)
        assert served(B.mul, *arguments)
        check("mul", arguments)
        check("mul", arguments[::-1])


@pytest.mark.parametrize("name", COMPILED)
def test_large(name: str) -> None:
    """So large that threads share the work, straight and in blocks: the bits of the small."""
    formula = formula_of(name)
    values, extra = operands(formula, (1, 1283), np.float32), scalars(formula)
    small = getattr(B, name)(*[v.copy() for v in values], *extra)
    large = [np.tile(v, (100, 1)) for v in values]
    turned = [*[LAYOUTS["transposed"](v) for v in large[:-1]], large[-1]]
    for arrays, count in itertools.product((large, turned), THREADS):
        with threads(count):
            result = getattr(B, name)(*[v.copy("K") for v in arrays], *extra)
        assert bits(result) == bits(small) * 100


def update_variants() -> dict[str, tuple[Update, tuple]]:
    found = {}
    for formula in FORMULAS.values():
        if isinstance(formula, Update):
            for flags in itertools.product((False, True), repeat=len(formula.flags)):
                chosen = [f for f, on in zip(formula.flags, flags) if on]
                found[" ".join([formula.name, *chosen])] = formula, flags
    return found


UPDATES = update_variants()


@pytest.mark.parametrize("which", UPDATES)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_update(which: str, dtype: np.dtype) -> None:
    update, flags = UPDATES[which]
    variant = _Variant(update, flags)
    kernel = native.bind_update(update.name, variant.trace, variant.loop())
    assert is_native(kernel)
    rng = np.random.default_rng(0)
    large = 190_001 if dtype == np.float32 else 2_001  # several pieces of work
    shapes = [(5,), (), (0,), (3, 700), (1, 1), (large,)]
    for count in (0, 1, len(shapes)):
        lists = tuple(
            [np.full((), 3 + k, np.float32) for k in range(count)]
            if a in update.counters
            else [np.asarray(0.1 + rng.random(s), dtype) for s in shapes[:count]]
            for a in update.arrays
        )
        numbers_ = tuple(0.2 + 0.1 * i for i in range(len(update.scalars)))
        written = {i for i, a in enumerate(update.arrays) if a != "grad"}
        compare(_Grouped(kernel), *lists, numbers_, tolerance=0.0, written=written)


class _Grouped:
    """A variant as a function of lists; the bound kernel takes them in one tuple."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel

    def __call__(self, *arguments: Any) -> None:
        self._kernel(arguments[:-1], arguments[-1])

    def twin(self, *arguments: Any) -> None:
        self._kernel.twin(arguments[:-1], arguments[-1])
