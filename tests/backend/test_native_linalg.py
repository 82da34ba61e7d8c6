"""The compiled products of matrices against their twins."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from nnkit.backend.cpu import BACKEND as B
from tests.backend.native_cases import LAYOUTS, close, compare, needs_native, numbers, served

pytestmark = needs_native
DTYPES = ("float32", "float64")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
# Rows, columns and depth: none, one, odd, whole tiles, several pieces, several panels.
SIZES = ((3, 2, 4), (1, 1, 1), (0, 3, 2), (2, 0, 3), (2, 3, 0), (1, 33, 40), (2, 70, 17),
         (5, 7, 300), (64, 10, 64), (37, 29, 31), (200, 96, 70),
         (130, 128, 512), (1, 300, 700))  # fmt: skip


def _operands(m: int, n: int, k: int, dtype: str) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """x (m, k) and y (k, n), each also as the transpose of an array in C order."""
    x, y = numbers((m, k), dtype), numbers((k, n), dtype)
    for left in (x, x.T.copy().T):
        for right in (y, y.T.copy().T):
            yield left, right


def _pairs() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for dtype in DTYPES:
        for m, n, k in SIZES:
            yield from _operands(m, n, k, dtype)
        for layout in LAYOUTS.values():
            yield layout(numbers((9, 20), dtype)), layout(numbers((20, 30), dtype))
    for dtype in ("float16", "complex64", "complex128"):
        for m, n, k in ((3, 2, 4), (0, 3, 2), (2, 3, 0), (37, 29, 31), (200, 96, 70)):
            yield from _operands(m, n, k, dtype)


def _integers() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for dtype in INTEGERS:
        for m, n, k in ((3, 2, 4), (0, 3, 2), (2, 3, 0), (37, 29, 31), (200, 96, 70), (2, 1100, 9)):
            yield from _operands(m, n, k, dtype)
        large = numbers((30, 50), dtype) * np.array(99).astype(dtype)  # so that sums wrap around
        yield large, large.T
    for layout in LAYOUTS.values():
        yield layout(numbers((9, 20), "int32")), layout(numbers((20, 30), "int32"))


def _linear() -> Iterator[tuple]:
    for x, y in _pairs():
        yield x, y.T, None
        yield x, y.T, numbers(y.shape[1:], y.dtype)
    for dtype in DTYPES:
        weight, bias = numbers((11, 7), dtype), numbers((11,), dtype)
        x = numbers((2, 3, 5, 7), dtype)
        for rows in (x, x.swapaxes(0, 2), x[:, 1:], x[..., ::-1], x[:, :1], x[0, 0, 0]):
            yield rows, weight, bias
        yield np.broadcast_to(x[0], (4, 3, 5, 7)), weight, numbers((22,), dtype)[::2]


def _grad_weight() -> Iterator[tuple]:
    for x, y in _pairs():
        yield x.T, y
    g, x = numbers((2, 3, 5)), numbers((2, 3, 7))
    yield g, x
    yield g.swapaxes(0, 1), x.swapaxes(0, 1)
    yield g[:, :, ::2], x[:, :, 1:]


def _stacks() -> Iterator[tuple]:
    for dtype in DTYPES:
        for a, b in (((4, 3, 5), (4, 5, 2)), ((2, 70, 40), (2, 40, 90)), ((0, 3, 2), (0, 2, 3)),
                     ((2, 300, 200), (2, 200, 100))):  # fmt: skip
            x, y = numbers(a, dtype), numbers(b, dtype)
            yield x, y
            yield x.swapaxes(1, 2).copy().swapaxes(1, 2), y.swapaxes(1, 2).copy().swapaxes(1, 2)
            yield x[:, ::-1], y[::-1]


def _matmul() -> Iterator[tuple]:
    yield from _pairs()
    yield from _stacks()
    yield from _integers()
    yield numbers((2, 3, 4, 5), "int64"), numbers((2, 3, 5, 6), "int64")
    yield numbers((2, 1, 4, 5), "int64"), numbers((3, 5, 6), "int64")
    yield numbers((2, 3, 5), "int32"), numbers((5,), "int32")
    yield numbers((5,), "int32"), numbers((5, 1100), "int32")
    yield numbers((3, 1, 4, 5)), numbers((2, 5, 6))
    yield numbers((4, 5)), numbers((2, 3, 5, 6))
    yield numbers((2, 3, 4, 5)), numbers((5, 6))
    yield numbers((2, 3, 5)), numbers((5,))
    yield numbers((5,)), numbers((5, 2))
    yield numbers((3, 2, 5)).swapaxes(0, 1), numbers((10,))[::2]


def _mv() -> Iterator[tuple]:
    for x, y in _pairs():
        yield x, y[:, 0].copy() if y.shape[1] else numbers(y.shape[:1], y.dtype)


def _dot() -> Iterator[tuple]:
    for dtype in (*DTYPES, "complex64", "float16"):
        for count in (0, 1, 15, 16, 1000, 4097):
            yield numbers((count,), dtype), numbers((count,), dtype)
        yield numbers((9,), dtype)[::-1], numbers((9,), dtype)


def _added(pairs) -> Iterator[tuple]:
    for x, y in pairs:
        shape = (*x.shape[:-1], y.shape[-1])
        for beta, alpha in ((1.0, 1.0), (0.5, -2.0), (0.0, 1.0), (0, 3)):
            yield numbers(shape, x.dtype), x, y, beta, alpha
        yield numbers(shape[-1:], x.dtype), x, y, 1.0, 1.0
        yield np.full((1, 1), np.nan, x.dtype), x, y, 0.0, 2.0
        yield numbers((), x.dtype), x, y, 1.0, 1.0


CASES = {
    "linear": _linear,
    "linear_grad_weight": _grad_weight,
    "mm": lambda: itertools.chain(_pairs(), _integers()),
    "matmul": _matmul,
    "bmm": _stacks,
    "mv": _mv,
    "dot": _dot,
    "vdot": _dot,
    "addmm": lambda: _added(_pairs()),
    "baddbmm": lambda: _added(_stacks()),
}


@pytest.mark.parametrize("name", CASES)
def test_equals_twin(name):
    for arguments in CASES[name]():
        depth = max(a.shape[-1] if a.ndim else 1 for a in arguments if isinstance(a, np.ndarray))
        single = arguments[1].dtype != np.float64
        epsilon = 1e-3 if arguments[1].dtype == np.float16 else 1e-6 if single else 1e-15
        tolerance = close(4 * epsilon, 8 * epsilon * (depth + 1) ** 0.5 * 4)
        compare(getattr(B, name), *arguments, tolerance=tolerance, same_order=False)


def test_serves_what_linear_layers_need():
    x, weight, bias = numbers((8, 5)), numbers((3, 5)), numbers((3,))
    assert served(B.linear, x, weight, bias)
    assert served(B.linear, numbers((8, 3)), weight.T, None)
    assert served(B.linear_grad_weight, numbers((8, 3)), x)
    assert not served(B.linear, x.astype(np.int64), weight.astype(np.int64), None)
    assert not served(B.linear, x, weight[:, :4], None)
    for dtype in INTEGERS:
        assert served(B.matmul, x.astype(dtype), weight.astype(dtype).T)


def test_long_sums_are_whole():
    """They are computed in parts; of whole numbers all are exact."""
    rng = np.random.default_rng(0)
    for dtype in DTYPES:
        x, y = (rng.integers(-3, 4, s).astype(dtype) for s in ((40, 9000), (9000, 48)))
        bias, exact = np.arange(48).astype(dtype), (x.astype("int64") @ y.astype("int64"))
        for left in (x, x.T.copy().T):
            for right in (y, y.T.copy().T):
                np.testing.assert_array_equal(B.mm(left, right), exact)
                np.testing.assert_array_equal(B.linear(left, right.T, bias), exact + bias)


def test_rows_do_not_depend_on_their_number():
    """An element is a sum over the depth in one order, however large the rest is."""
    x, y = numbers((200, 300)), numbers((300, 500))
    whole = B.mm(x, y)
    assert (B.mm(x[10:50], y) == whole[10:50]).all()
    assert (B.mm(x, y[:, 16:90].copy()) == whole[:, 16:90]).all()


def test_cross_products_have_the_bits_of_their_twin():
    for shape, axis in (((3,), 0), ((7, 3), -1), ((3, 7), 0), ((2, 3, 5, 4), 1), ((9000, 3), 1)):
        for dtype in ("float32", "float64", "int64"):
            x = numbers(shape, dtype)
            for layout in LAYOUTS.values():
                compare(B.cross, layout(x), x[::-1].copy(), axis, same_order=False)
    x = numbers((5, 3))
    assert served(B.cross, x, x + 1, 1)


def _definite(*shape: int, dtype: str) -> np.ndarray:
    """Positive definite matrices; what lies above their diagonals is not to be read."""
    x = numbers(shape, dtype)
    x = x @ x.swapaxes(-1, -2) / np.asarray(shape[-1], dtype) + np.eye(shape[-1], dtype=dtype)
    return np.where(np.tri(shape[-1], dtype=bool), x, np.asarray(np.nan, dtype))


def test_cholesky_of_whole_and_broken_blocks():
    for dtype, epsilon in (("float32", 1e-6), ("float64", 1e-15)):
        for shape in ((1, 1), (17, 17), (64, 64), (65, 65), (200, 200), (700, 700), (9, 70, 70)):
            x = _definite(*shape, dtype=dtype)
            for given in (x, x.swapaxes(-1, -2).copy().swapaxes(-1, -2)):
                tolerance = close(100 * epsilon, 10 * epsilon)
                compare(B.cholesky, given, tolerance=tolerance, same_order=False)
                assert served(B.cholesky, given)
                compare(B.cholesky_info, given)
                assert served(B.cholesky_info, given)
    indefinite = np.eye(100)
    indefinite[80, 80] = -1
    assert not served(B.cholesky, indefinite)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("has_ones", [False, True])
def test_triangular_systems_by_blocks(upper, has_ones):
    for dtype, epsilon in (("float32", 1e-6), ("float64", 1e-15)):
        for shape, sides in (((24, 24), 8), ((64, 64), 9), ((65, 65), 300), ((200, 200), 600),
                             ((3, 70, 70), 20), ((0, 30, 30), 9)):  # fmt: skip
            x = numbers(shape, dtype) / np.asarray(shape[-1], dtype) + np.eye(
                shape[-1], dtype=dtype
            )
            y = numbers((*shape[:-1], sides), dtype)
            inside = np.tri(shape[-1], k=-has_ones, dtype=bool)
            x = np.where(inside.T if upper else inside, x, np.asarray(np.nan, dtype))
            for given in (y, y.swapaxes(-1, -2).copy().swapaxes(-1, -2)):
                arguments = x, given, upper, has_ones
                tolerance = close(1e3 * epsilon, 1e2 * epsilon)
                compare(B.solve_triangular, *arguments, tolerance=tolerance, same_order=False)
                assert served(B.solve_triangular, *arguments)


def test_the_first_minor_that_is_not_positive_definite():
    x = np.stack([np.eye(9)] * 10)
    for order in range(1, 10):
        x[order, order - 1 :, order - 1 :] *= -1
    np.testing.assert_array_equal(B.cholesky_info(x), np.arange(10))
