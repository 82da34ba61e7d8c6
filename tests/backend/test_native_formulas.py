"""Every printed formula, in-place form and optimizer update against its twin in NumPy."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import nnkit.nn
import nnkit.optim  # noqa: F401  both enter their formulas into the catalogue
from nnkit.backend.algebra import FORMULAS
from nnkit.backend.cpu import BACKEND as B
from nnkit.backend.cpu import native
from nnkit.backend.cpu.update import _Variant
from nnkit.backend.dtype import HALF
from nnkit.backend.formula import Formula, Update, interpret
from tests.backend.native_cases import (
    FLOATS,
    FOREIGN,
    LAYOUTS,
    SHAPES,
    broadcasting,
    compare,
    needs_native,
    numbers,
    served,
    unit,
)

pytestmark = needs_native


def is_native(function: Any) -> bool:
    return native.MODULE is not None and isinstance(function, native.MODULE.Kernel)


def compiled() -> dict[str, Formula]:
    """The formulas that have a kernel."""
    found = {}
    for name, formula in FORMULAS.items():
        if native.MODULE is None or isinstance(formula, Update):
            continue
        try:
            formula.trace()
        except RuntimeError:  # a derivative that there is not
            continue
        if is_native(getattr(B, name)):
            found[name] = formula
    return found


COMPILED = compiled()
CASES = [form for name in COMPILED for form in (name, name + "_")]

# Functions whose results IEEE 754 (or their definition) fixes: kernel and twin have the same bits.
EXACT = frozenset(
    "add sub mul div neg abs sign sgn sqrt reciprocal square floor ceil trunc round frac maximum"
    " minimum fmax fmin copysign heaviside nextafter where zeros_like conj real fmod remainder"
    " div_floor div_trunc lt le gt ge eq ne isnan isinf isfinite signbit logical_not logical_and"
    " logical_or logical_xor".split()
)
# All others may be off by this many units in the last place, in the kernel or in NumPy.
UNITS = 4
SAMPLES = 12


def is_exact(formula: Formula) -> bool:
    return all(n.function in EXACT for n in formula.trace().nodes if not n.is_leaf)


class Disturbed:
    """An algebra in which the result of each inexact function is a few units off, at random."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def __getattr__(self, name: str) -> Any:
        function = getattr(B, name)
        function = getattr(function, "twin", function)
        if name in EXACT:
            return function

        def disturbed(*arguments):
            result = function(*arguments)
            off = self._rng.integers(-UNITS, UNITS + 1, result.shape)
            return result + (off * unit(result)).astype(result.dtype)

        return disturbed


def allowed(formula: Formula, arguments: tuple) -> Any:
    """How far two results of an inexact formula may be apart: how far they come apart when each
    function in it is some units off, and as many units of the result itself."""
    wide = [
        a.astype(np.float32) if isinstance(a, np.ndarray) and a.dtype in HALF else a
        for a in arguments
    ]
    values = dict(zip(formula.parameters, wide))
    with np.errstate(all="ignore"):
        runs = [interpret(formula.trace(), values, Disturbed(s))[0] for s in range(SAMPLES)]
        samples = np.stack([np.asarray(r) for r in runs]).astype(np.longdouble)
        spread = samples.max(0) - samples.min(0)
    # Where one sample overflows and another does not, nothing is promised.
    finite = np.isfinite(samples)
    spread = np.where(finite.any(0) & ~finite.all(0), np.inf, np.nan_to_num(spread))
    return lambda want: 2 * spread + UNITS * unit(want).astype(np.longdouble)


def check(name: str, arguments: tuple) -> None:
    formula = FORMULAS.get(name) or FORMULAS[name[:-1]]
    tolerance = 0.0 if is_exact(formula) else allowed(formula, arguments)
    compare(getattr(B, name), *arguments, tolerance=tolerance)


def stays(name: str, arguments: tuple, dtype: np.dtype) -> bool:
    """Whether the twin keeps to the operands' type; NumPy leaves it at products of a bool array and
    a Python float, which dispatch, converting operands first, never asks for."""
    result = getattr(B, name).twin(
        *[np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]
    )
    return result.dtype in (dtype, np.dtype(bool))


def scalars(formula: Formula) -> tuple:
    return tuple(0.5 + 0.25 * i for i in range(len(formula.scalars)))


def operands(formula: Formula, shape: tuple[int, ...], dtype: Any) -> list[np.ndarray]:
    """One array for each operand, no two of them alike."""
    count = len(formula.arrays)
    together = numbers((*shape, count), dtype, edges=True)
    return [np.ascontiguousarray(together[..., i]) for i in range(count)]


@pytest.mark.parametrize("name", CASES)
def test_layouts(name: str) -> None:
    formula = FORMULAS.get(name) or FORMULAS[name[:-1]]
    for shape, dtype in itertools.product(SHAPES, FLOATS):
        values = operands(formula, shape, dtype)
        check(name, (*values, *scalars(formula)))
    for dtype, (layout, place) in itertools.product(FLOATS, LAYOUTS.items()):
        values = operands(formula, (2, 3, 17), dtype)
        for i in range(len(values)):
            mixed = [place(v) if i in (k, len(values)) else v for k, v in enumerate(values)]
            if name.endswith("_") and not mixed[0].flags.writeable:
                continue
            check(name, (*mixed, *scalars(formula)))
            assert layout in FOREIGN or served(getattr(B, name), *mixed, *scalars(formula))


@pytest.mark.parametrize("name", CASES)
def test_operands(name: str) -> None:
    """Broadcast operands, bool operands, Python numbers; others go to the twin."""
    formula = FORMULAS.get(name) or FORMULAS[name[:-1]]
    extra = scalars(formula)
    for dtype in FLOATS[:2]:
        values = operands(formula, (2, 3, 17), dtype)
        for some in broadcasting(values):
            if not name.endswith("_") or some[0].shape == values[0].shape:
                check(name, (*some, *extra))
        for i in range(1, len(values)):
            other = values.copy()
            for replacement in (values[i] > 0, 2, 0.5, True, math.inf):
                other[i] = replacement
                if stays(name, (*other, *extra), dtype):
                    check(name, (*other, *extra))


@pytest.mark.parametrize("name", CASES)
def test_large(name: str) -> None:
    """So large that threads share the work, straight and in blocks."""
    formula = FORMULAS.get(name) or FORMULAS[name[:-1]]
    values = operands(formula, (3, 190_001), np.float32)
    check(name, (*values, *scalars(formula)))
    values[-1] = LAYOUTS["sliced"](values[-1])
    check(name, (*values, *scalars(formula)))


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
    shapes = [(5,), (), (0,), (3, 700), (1, 1), (190_001,)]
    for count in (0, 1, len(shapes)):
        lists = tuple(
            [np.full((), 3 + k, np.float32) for k in range(count)]
            if a in update.counters
            else [(0.1 + rng.random(s)).astype(dtype) for s in shapes[:count]]
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
