"""The compiled factors of matrices, and systems that they solve, against their twins."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from nnkit.backend.cpu import BACKEND as B
from nnkit.backend.errors import LinAlgError
from tests.backend.native_cases import LAYOUTS, close, compare, needs_native, numbers, served

pytestmark = needs_native
DTYPES = ("float32", "float64")
# One matrix, several, none; as many rows as are solved here, and more.
SHAPES = ((1, 1), (3, 3), (0, 4, 4), (5, 2, 2), (2, 3, 7, 7), (16, 16), (17, 17), (90, 5, 5))


def _matrices() -> Iterator[np.ndarray]:
    """Matrices that are far from singular, in several layouts."""
    for dtype in DTYPES:
        for shape in SHAPES:
            yield numbers(shape, dtype) * np.array(0.3, dtype) + 3 * np.eye(shape[-1], dtype=dtype)
        x = numbers((6, 6), dtype) + 5 * np.eye(6, dtype=dtype)
        for layout in LAYOUTS.values():
            laid = layout(x)
            if laid.shape[-1:] == laid.shape[-2:-1] and np.linalg.cond(laid).max() < 100:
                yield laid


def _systems() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for x in _matrices():
        for sides in (0, 1, 3):
            yield x, numbers((*x.shape[:-1], sides), x.dtype)
        yield x, numbers((*x.shape[:-2], 4, x.shape[-1]), x.dtype).swapaxes(-1, -2)
    yield numbers((3, 3)) + 3 * np.eye(3, dtype="f4"), numbers((2, 3, 1))


def _triangles() -> Iterator[tuple]:
    for x, y in _systems():
        for upper in (False, True):
            yield x, y, upper, False
            yield x / 4, y, upper, True


def _eliminated() -> Iterator[tuple[np.ndarray]]:
    """Also what is singular, is no square, or has numbers that are none."""
    for x in _matrices():
        yield (x,)
    for dtype in DTYPES:
        for shape in ((3, 6), (6, 3), (4, 5, 2), (2, 2), (4, 4)):
            x = numbers(shape, dtype)
            yield (x,)
            yield (np.round(x),)
            yield (x * np.finfo(dtype).smallest_subnormal * 9,)
            x[..., 0] = 0
            yield (x,)
            x[..., -1, -1] = np.nan
            yield (x,)


def _definite() -> Iterator[tuple[np.ndarray]]:
    for x in _matrices():
        yield (np.matmul(x, x.swapaxes(-1, -2)),)


def _squares() -> Iterator[tuple[np.ndarray]]:
    """Matrices of any rank, and with numbers that are none."""
    yield from ((x,) for x in _matrices())
    for dtype in DTYPES:
        for n in (1, 2, 3, 6):
            x = numbers((4, n, n), dtype)
            yield (np.round(x),)
            x[0], x[1, 0], x[2, 0, 0], x[3, -1, 0] = 1, 0, np.nan, np.inf
            yield (x,)


def _least_squares() -> Iterator[tuple[np.ndarray, np.ndarray, float, bool]]:
    """High, wide and square matrices, of full rank and not, with matrices and vectors of sides."""
    for dtype in DTYPES:
        bound = 10 * float(np.finfo(dtype).eps)
        for m, n in ((1, 1), (2, 2), (5, 3), (3, 5), (40, 9), (9, 40)):
            x, y = numbers((2, m, n), dtype), numbers((2, m, 3), dtype)
            x[1] = np.outer(x[1, :, 0], x[1, 0])
            for sides in (y, y[..., 0], y.swapaxes(0, 1).copy().swapaxes(0, 1)):
                yield x, sides, bound, False
            yield 1e-30 * x[0], 1e-30 * y[0], bound, False
            yield 0 * x, y, bound, False
            x[0, 0, 0], y[1, 0, 0] = np.inf, np.inf
            yield x, y, bound, False


CASES = {
    "lstsq": _least_squares,
    "adjugate": _squares,
    "inverse": lambda: ((x,) for x, _ in _systems()),
    "solve": _systems,
    "solve_triangular": _triangles,
    "cholesky": _definite,
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_equals_twin(name: str) -> None:
    for arguments in CASES[name]():
        near = 1e-4 if arguments[0].dtype.itemsize == 4 else 1e-12
        compare(getattr(B, name), *arguments, tolerance=close(near, near))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_elimination_leaves_the_bits_of_its_twin() -> None:
    for arguments in _eliminated():
        compare(B.lu_factor, *arguments)


def test_orders_of_rows_are_those_of_the_twin() -> None:
    for shape in ((4,), (3, 5), (2, 1, 3)):
        pivots = (np.arange(np.prod(shape)).reshape(shape) * 7 % 5 + 1).astype(np.int32)
        assert served(B.pivot_order, pivots, 6)
        compare(B.pivot_order, pivots, 6)
        assert not served(B.pivot_order, pivots, 3)


def test_what_is_served() -> None:
    x, y = numbers((2, 3, 3)) + 3 * np.eye(3, dtype="f4"), numbers((2, 3, 1))
    assert served(B.solve, x, y) and served(B.inverse, x) and served(B.lu_factor, x)
    assert served(B.solve_triangular, x, y, True, False)
    assert served(B.adjugate, x) and served(B.adjugate, x[:, :2, :2].copy())
    assert served(B.lstsq, x, y, 1e-6, False) and not served(B.lstsq, x, y, 1e-6, True)
    assert not served(B.inverse, numbers((17, 17)))
    assert not served(B.solve, x, y[0])


def test_matrices_that_have_no_factor() -> None:
    with pytest.raises(LinAlgError, match="singular"):
        B.inverse(np.zeros((2, 2), np.float32))
    with pytest.raises(LinAlgError, match="Batch element 1.*not positive-definite"):
        B.cholesky(np.stack([np.eye(2), -np.eye(2)]))
    assert np.isnan(B.solve(np.full((2, 2), np.nan), np.ones((2, 1)))).all()


def test_adjugates_of_large_matrices_are_those_of_their_singular_values() -> None:
    """Those far from singular are computed from inverses."""
    x = numbers((3, 6, 6), "float64")
    u, sizes, v = np.linalg.svd(x)
    for kept in (6, 5, 4):
        near = (u * np.where(np.arange(6) < kept, sizes, 1e-9)[:, None, :]) @ v
        minors = [[_minor(m, i, j) for m in near] for j in range(6) for i in range(6)]
        expected = np.array(minors).T.reshape(3, 6, 6)
        np.testing.assert_allclose(B.adjugate(near), expected, atol=1e-10 * np.abs(x).max() ** 5)


def _minor(x: np.ndarray, row: int, column: int) -> float:
    rest = np.delete(np.delete(x, row, 0), column, 1)
    return (-1) ** (row + column) * float(np.linalg.det(rest))
