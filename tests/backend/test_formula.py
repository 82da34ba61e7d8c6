"""Formulas: what tracing records, and what every printed NumPy kernel promises."""

from __future__ import annotations

import itertools
import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import nnkit
from nnkit.autograd.op.registry import LIFTED, OPS
from nnkit.backend.algebra import FORMULAS
from nnkit.backend.cpu import BACKEND as B
from nnkit.backend.cpu import special
from nnkit.backend.cpu.printer import BLOCK, print_formula
from nnkit.backend.formula import Formula, Update, fn, interpret

NAMES = sorted(name for name, formula in FORMULAS.items() if not isinstance(formula, Update))
# nextafter steps through the numbers of its own dtype; of the others torch rounds the quotient
# before it drops the fraction.
IN_THEIR_OWN_DTYPE = ("nextafter", "div_trunc", "div_floor")
LARGE = (48, 100)
assert math.prod(LARGE) >= BLOCK

each_formula = pytest.mark.parametrize("name", NAMES)


def arrays_of(name: str, *shapes: tuple[int, ...], dtype: Any = np.float32) -> list[np.ndarray]:
    """One array for each array parameter of a formula; the last shape serves for the rest."""
    generator = np.random.default_rng(len(name))
    count = len(FORMULAS[name].arrays)
    padded = (*shapes, *(shapes[-1],) * count)[:count]
    if name.startswith("bitwise"):
        return [generator.integers(0, 20, shape) for shape in padded]
    low, high = (1.1, 3.0) if name.startswith("acosh") else (-0.9, 0.9)
    return [np.asarray(generator.uniform(low, high, shape), dtype) for shape in padded]


def scalars_of(name: str) -> list[float]:
    if name.startswith("polygamma"):
        return [1]
    return [0.3 + 0.1 * i for i in range(len(FORMULAS[name].scalars))]


def run(name: str, arrays: list[np.ndarray]) -> np.ndarray:
    return getattr(B, name)(*arrays, *scalars_of(name))


# Tracing


def test_a_common_expression_is_recorded_once() -> None:
    trace = Formula("f", lambda x: fn.exp(x) * 2 + fn.exp(x)).trace()
    assert sorted(n.function for n in trace.nodes if n.arguments) == ["add", "exp", "mul"]
    (exp,) = (n for n in trace.nodes if n.function == "exp")
    assert trace.uses[exp] == 2


def test_numbers_of_different_types_are_different_constants() -> None:
    trace = Formula("f", lambda x: fn.where(x, 1.0, True) + 1).trace()
    constants = [n.payload for n in trace.nodes if n.function == "constant"]
    assert sorted(map(repr, constants)) == ["1", "1.0", "True"]


def test_every_node_comes_after_its_arguments() -> None:
    for name in NAMES:
        trace = FORMULAS[name].trace()
        place = {node: i for i, node in enumerate(trace.nodes)}
        assert all(place[a] < place[n] for n in trace.nodes for a in n.arguments), name


def test_a_formula_cannot_branch_on_a_symbol() -> None:
    with pytest.raises(TypeError, match="branch on a symbol: use fn.where"):
        Formula("f", lambda x: x if x > 0 else -x).trace()


def test_tracing_happens_once_for_each_value_of_the_flags() -> None:
    seen = []

    def body(x, square):
        seen.append(square)
        return x * x if square else x + 1

    formula = Formula("f", body, flags=("square",))
    kinds = [formula.trace(square=s).outputs[0].function for s in (True, False, True)]
    assert kinds == ["mul", "add", "mul"] and seen == [True, False]


def test_parameters_are_sorted_into_arrays_scalars_and_flags() -> None:
    formula = Formula("f", lambda a, x, on, b: x, scalars=("a", "b"), flags=("on",))
    assert (formula.arrays, formula.scalars, formula.flags) == (("x",), ("a", "b"), ("on",))
    assert formula.parameters == ("x", "a", "b")


def test_interpret_computes_numbers_with_python() -> None:
    trace = Formula("f", lambda x, a: x * fn.sqrt(a) + abs(-a), scalars=("a",)).trace()
    (result,) = interpret(trace, {"x": np.ones(2), "a": 4.0}, B)
    assert result.tolist() == [6.0, 6.0]


@each_formula
def test_derivatives_can_be_differentiated_again(name: str) -> None:
    """`Lifted` interprets what is no op itself; it must know every function in there."""
    if name in OPS:
        assert getattr(LIFTED, name) is OPS[name]
        return
    formula = FORMULAS[name]
    numbers = {*formula.scalars}
    for node in formula.trace().nodes:
        if node.arguments and formula.trace().symbols(node) - numbers:
            assert callable(getattr(LIFTED, node.function)), node.function


# The printed kernels


@each_formula
def test_large_and_small_kernels_give_the_same_bits(name: str) -> None:
    for dtype in (np.float32, np.float64):
        arrays = arrays_of(name, LARGE, dtype=dtype)
        before = [a.copy() for a in arrays]
        whole = run(name, arrays)
        rows = [run(name, [a[i : i + 8] for a in arrays]) for i in range(0, LARGE[0], 8)]
        np.testing.assert_array_equal(whole, np.concatenate(rows), strict=True)
        assert type(whole) is np.ndarray
        shared = any(np.may_share_memory(whole, a) for a in arrays)
        assert not shared or name.startswith("conj"), "only conj may give its own argument"
        for array, copy in zip(arrays, before):
            np.testing.assert_array_equal(array, copy)


@each_formula
def test_the_size_does_not_matter_for_other_dtypes(name: str) -> None:
    if any(hasattr(special, node.function) for node in FORMULAS[name].trace().nodes):
        pytest.skip("made for floating point")
    for dtype in ("int64", "bool", "complex64", "complex128"):
        factor = 1 + 1j if dtype[0] == "c" else 9
        arrays = [(a * factor).astype(dtype) for a in arrays_of(name, LARGE)]
        try:
            rows = [run(name, [a[i : i + 8] for a in arrays]) for i in range(0, LARGE[0], 8)]
        except (TypeError, ValueError, RuntimeError, np.exceptions.ComplexWarning) as error:
            with pytest.raises(type(error)):  # not defined for this dtype
                run(name, arrays)
            continue
        expected = np.concatenate(rows)
        whole = run(name, arrays)
        assert whole.dtype == expected.dtype, dtype
        np.testing.assert_array_equal(whole, expected, dtype)


@each_formula
def test_shapes_broadcast(name: str) -> None:
    count = len(FORMULAS[name].arrays)
    for whole in range(count):
        for other in ((LARGE[1],), (), (LARGE[0], 1)):
            shapes = [LARGE if i == whole else other for i in range(count)]
            arrays = arrays_of(name, *shapes)
            expanded = [np.broadcast_to(a, LARGE).copy() for a in arrays]
            np.testing.assert_array_equal(run(name, arrays), run(name, expanded), strict=True)


@each_formula
def test_tiny_shapes_give_arrays(name: str) -> None:
    for shape in ((), (0,), (3, 0), (1,)):
        arrays = arrays_of(name, shape)
        result = run(name, arrays)
        assert type(result) is np.ndarray and result.shape == shape
        reshaped = run(name, [a.reshape(1, *shape) for a in arrays])
        assert reshaped.dtype == result.dtype, shape
        np.testing.assert_array_equal(result, reshaped[0], str(shape))


@each_formula
def test_layout_does_not_matter(name: str) -> None:
    arrays = arrays_of(name, LARGE)
    strided = [np.repeat(a, 2, 0)[::2].T.copy().T for a in arrays]
    np.testing.assert_array_equal(run(name, strided), run(name, arrays), strict=True)


@each_formula
@pytest.mark.parametrize("half", [np.float16, ml_dtypes.bfloat16])
def test_halves_are_computed_in_float32_and_rounded_once(name: str, half: Any) -> None:
    if name.startswith("bitwise") or name in IN_THEIR_OWN_DTYPE:
        pytest.skip("not defined in float32")
    if FORMULAS[name].stepwise:
        pytest.skip("rounded after each operation: tests/test_values.py")
    for shape in (LARGE, (5,), ()):
        arrays = arrays_of(name, shape, dtype=half)
        result = run(name, arrays)
        wide = run(name, [a.astype(np.float32) for a in arrays])
        with np.errstate(over="ignore"):
            expected = wide if wide.dtype == bool else wide.astype(half)
        assert result.dtype == expected.dtype, shape
        result, expected = result.astype(np.float32), expected.astype(np.float32)
        np.testing.assert_array_equal(result, expected, str(shape))


@each_formula
def test_a_half_result_does_not_depend_on_the_size(name: str) -> None:
    if name.startswith("bitwise"):
        pytest.skip("not defined for floating point")
    arrays = arrays_of(name, LARGE, dtype=np.float16)
    rows = [run(name, [a[i : i + 8] for a in arrays]) for i in range(0, LARGE[0], 8)]
    np.testing.assert_array_equal(run(name, arrays), np.concatenate(rows), strict=True)


@each_formula
def test_the_in_place_form_equals_the_other(name: str) -> None:
    kinds = (np.float32, np.float64, np.float16)[: 1 if name.startswith("bitwise") else 3]
    for dtype, shape in itertools.product(kinds, (LARGE, (6,), ())):
        arrays = arrays_of(name, shape, dtype=dtype)
        expected = run(name, arrays).astype(arrays[0].dtype)
        first, *others = (a.copy() for a in arrays)
        result = getattr(B, name + "_")(first, *others, *scalars_of(name))
        assert result is first
        np.testing.assert_array_equal(first, expected, strict=True)
        for array, copy in zip(others, arrays[1:]):
            np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("name", [n for n in NAMES if len(FORMULAS[n].arrays) == 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_a_number_is_an_operand(name: str, dtype: Any) -> None:
    """A Python number leaves the dtype to the array, and is not rounded to half precision."""
    if name.startswith("bitwise"):
        pytest.skip("not defined for floating point")
    if FORMULAS[name].stepwise and dtype is np.float16:
        pytest.skip("rounded after each operation: tests/test_values.py")
    (x,) = arrays_of(name, LARGE, dtype=dtype)[:1]
    result = getattr(B, name)(x, 0.3, *scalars_of(name))
    wide = x.astype(np.float32) if dtype is np.float16 else x
    full = np.full(LARGE, 0.3, wide.dtype)
    expected = getattr(B, name)(wide, full, *scalars_of(name))
    assert result.dtype == (bool if expected.dtype == bool else dtype)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(result, expected.astype(result.dtype))
        reflected = getattr(B, name)(full, wide, *scalars_of(name)).astype(result.dtype)
    if not FORMULAS[name].arrays[0] == "g":  # a gradient is never a number
        np.testing.assert_array_equal(getattr(B, name)(0.3, x, *scalars_of(name)), reflected)


def test_a_formula_of_no_array_is_refused() -> None:
    with pytest.raises(ValueError, match="'f' does not depend on an array"):
        print_formula("f", Formula("f", lambda x, a: a + 1, scalars=("a",)))


def test_a_number_in_double_precision_does_not_widen_the_result() -> None:
    x = nnkit.tensor([0.5, 2.0], requires_grad=True)
    for result in (nnkit.xlogy(x, 3.0), nnkit.xlogy(3.0, x)):
        assert result.dtype is nnkit.float32
        assert nnkit.autograd.grad(result.sum(), x)[0].dtype is nnkit.float32


def test_a_derivative_leaves_its_operands_alone() -> None:
    """`real` gives a real array itself: the temporary that follows must not be written into it."""
    base = nnkit.rand(5000) + 0.5
    exponent = nnkit.rand(5000).requires_grad_()
    before = exponent.detach().clone()
    (base**exponent).sum().backward()
    assert (exponent == before).all()
    assert nnkit.allclose(exponent.grad, base**before * base.log())
