"""The shared harness for compiled kernels: layouts, and `compare`, a kernel against its NumPy twin.

A test file ``test_native_<subject>.py`` declares ``CASES``, from the name of each of its kernels to
a function that yields tuples of arguments, and runs them through `compare`::

    CASES = {"softmax": softmax_cases}

    @pytest.mark.parametrize("name", CASES)
    def test_equals_twin(name):
        for arguments in CASES[name]():
            compare(getattr(B, name), *arguments)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16

from nnkit.backend.algebra import CATALOGUE, FORMULAS
from nnkit.backend.cpu import native

needs_native = pytest.mark.skipif(native.MODULE is None, reason=native.STATUS)
THREADS = (1, 2, 5)
FLOATS = tuple(np.dtype(d) for d in ("float32", "float64", "float16", bfloat16))
EDGES = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, np.inf, -np.inf, np.nan, 1e-40, -1e30, 80.0, -90.0, 7e4)


def numbers(shape: tuple[int, ...], dtype: Any = np.float32, edges: bool = False) -> np.ndarray:
    """Normal numbers (small integers, truth values) in C order; ``edges``: special ones as well."""
    return _numbers(shape, np.dtype(dtype), edges).copy()


@lru_cache(1000)
def _numbers(shape: tuple[int, ...], dtype: np.dtype, edges: bool) -> np.ndarray:
    rng = np.random.default_rng(sum(shape) + len(shape))
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        return rng.integers(0, 7, shape).astype(dtype)
    values = rng.standard_normal(shape) * 2
    if dtype.kind == "c":
        return (values + 2j * rng.standard_normal(shape)).astype(dtype)
    if edges:
        flat = values.reshape(-1)
        flat[::3] = rng.permutation(np.resize(EDGES, flat[::3].shape))
    with np.errstate(over="ignore", under="ignore"):
        return values.astype(dtype)


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def place(
    values: np.ndarray, strides: tuple[int, ...], offset: int = 0, fill: int = 0xA5
) -> np.ndarray:
    """The values in memory of their own: ``strides`` in bytes, first element ``offset`` bytes on
    from a multiple of 64. The bytes in between and around are ``fill``."""
    reach = [step * (count - 1) for step, count in zip(strides, values.shape) if count]
    low = -sum(min(r, 0) for r in reach)
    total = low + sum(max(r, 0) for r in reach) + values.itemsize
    buffer = np.full(total + 256, fill, np.uint8)
    start = 64 + low + (offset - low - address(buffer)) % 64
    result = np.ndarray(values.shape, values.dtype, buffer, start, strides)
    result[...] = values
    return result


def _c_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    return tuple(itemsize * int(np.prod(shape[i + 1 :])) for i in range(len(shape)))


def _transposed(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x.T).T


def _permuted(x: np.ndarray) -> np.ndarray:
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, -1, 0)), 0, -1) if x.ndim else x.copy()


def _sliced(x: np.ndarray) -> np.ndarray:
    return place(x, tuple(3 * s for s in _c_strides(x.shape, x.itemsize)))


def _reversed(x: np.ndarray) -> np.ndarray:
    return place(x, tuple(-s for s in _c_strides(x.shape, x.itemsize)))


def _partly_reversed(x: np.ndarray) -> np.ndarray:
    return np.flip(x, -1).copy()[..., ::-1] if x.ndim else x.copy()


def _broadcast(x: np.ndarray) -> np.ndarray:
    return np.broadcast_to(x[:1].copy(), x.shape) if x.ndim else x.copy()


def _broadcast_inside(x: np.ndarray) -> np.ndarray:
    return np.broadcast_to(x[..., :1].copy(), x.shape) if x.ndim else x.copy()


def _misaligned(x: np.ndarray) -> np.ndarray:
    return place(x, _c_strides(x.shape, x.itemsize), offset=1)


def _odd_start(x: np.ndarray) -> np.ndarray:
    return place(x, _c_strides(x.shape, x.itemsize), offset=x.itemsize)


def channels_last(x: np.ndarray) -> np.ndarray:
    """The array with axis 1 as the innermost in memory."""
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)


def _swapped(x: np.ndarray) -> np.ndarray:
    return x.copy() if x.dtype == bfloat16 else x.astype(x.dtype.newbyteorder())


# Each takes an array in C order and gives one of the same shape that lies differently in memory.
LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "C": np.copy,
    "transposed": _transposed,
    "permuted": _permuted,
    "sliced": _sliced,
    "reversed": _reversed,
    "partly reversed": _partly_reversed,
    "broadcast": _broadcast,
    "broadcast inside": _broadcast_inside,
    "odd start": _odd_start,
    "misaligned": _misaligned,
    "swapped": _swapped,
}
# Arrays of such layouts a kernel may leave to NumPy.
FOREIGN = ("misaligned", "swapped")
SHAPES = ((), (1,), (0,), (3, 0, 2), (7,), (5, 3), (2, 3, 17), (1025,), (3, 700))


def copy_alike(value: Any) -> Any:
    """A copy of an argument that lies in memory as the original does."""
    if isinstance(value, list | tuple):
        return type(value)(copy_alike(v) for v in value)
    if not isinstance(value, np.ndarray):
        return value
    result = place(value, value.strides, address(value) % 64)
    result.flags.writeable = value.flags.writeable
    return result


def arrays_of(value: Any) -> Iterator[np.ndarray]:
    """The arrays in an argument or a result, in order."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, list | tuple):
        for v in value:
            yield from arrays_of(v)


class Watched:
    """Copies of arguments, and whether a call has left alone what it must not write."""

    def __init__(self, arguments: tuple, written: set[int]) -> None:
        self.arguments = copy_alike(arguments)
        self._inputs: list[tuple[np.ndarray, np.ndarray, bool]] = []
        for i, argument in enumerate(self.arguments):
            for array in arrays_of(argument):
                buffer = array.base if array.base is not None else array
                self._inputs.append((array, buffer.copy(), i in written))

    def check(self) -> None:
        """Assert that nothing else was written; what was is as before the call again."""
        for array, before, may_be_written in self._inputs:
            buffer: Any = array.base if array.base is not None else array
            found = buffer
            if may_be_written:
                found = buffer.copy()
                start = address(array) - address(buffer)
                layout = array.shape, array.dtype, found, start, array.strides
                buffer[:] = before
                np.ndarray(*layout)[...] = array
            assert (before == found).all(), "bytes outside the results were written"


@contextmanager
def threads(count: int) -> Iterator[None]:
    assert native.MODULE is not None
    before = native.MODULE.threads()
    native.MODULE.set_threads(count)
    try:
        yield
    finally:
        native.MODULE.set_threads(before)


class DeclinedError(Exception):
    """The kernel handed the arguments on to its twin."""


def refuse(*_: Any) -> Any:
    """The twin of a kernel that has to do without one."""
    raise DeclinedError


def served(kernel: Any, *arguments: Any) -> bool:
    """Whether the kernel itself computes these arguments, and does not leave them to its twin."""
    name = kernel.__name__
    formula = FORMULAS.get(name) or FORMULAS.get(name[:-1])
    if formula is None:
        alone = native.bind(name, refuse)
    else:
        alone = native.bind_formula(name, formula, refuse)
    try:
        alone(*copy_alike(arguments))
    except DeclinedError:
        return False
    return True


def written_by(name: str) -> set[int]:
    """The positions of the arguments that a primitive writes."""
    primitive = CATALOGUE[name]
    return {i for i, a in enumerate(primitive.parameters) if a in primitive.writes}


def bits(array: np.ndarray) -> bytes:
    """The bytes of the elements, each NaN as the same one."""
    if array.dtype.kind in "fcV" or array.dtype == bfloat16:
        array = array.copy()
        array[np.isnan(array)] = np.nan
    return array.tobytes()


def order(array: np.ndarray) -> list[int]:
    """The axes that have a length, from the outermost in memory to the innermost."""
    axes = [i for i in range(array.ndim) if array.shape[i] > 1]
    return sorted(axes, key=lambda i: -abs(array.strides[i])) if array.size else []


def compare(
    kernel: Any,
    *arguments: Any,
    tolerance: Any = 0.0,
    written: set[int] | None = None,
    same_order: bool = True,
) -> None:
    """The kernel equals its twin in values, dtype, shape and order of axes; its bits are the same
    under 1, 2 and 5 threads; neither writes anything but its result.

    Args:
        tolerance: how far values may be from the twin's, absolutely: 0, a number, or a function of
            the twin's result (an array) that gives an array of that shape. ``ulps(n)`` and
            ``close(rtol, atol)`` make such functions. A tuple of these is taken in its order: the
            next one is asked where the last did not suffice.
        written: positions of the arguments that are written; the catalogue's, unless given.
        same_order: False where a result may lie in memory otherwise than the twin's.
    """
    if written is None:
        written = written_by(kernel.__name__)
    watched = Watched(arguments, written)
    expected = _results(kernel.twin(*watched.arguments), watched, written)
    first: list[bytes] = []
    watched = Watched(arguments, written)
    for count in THREADS:
        with threads(count):
            results = _results(kernel(*watched.arguments), watched, written)
        found = [bits(r) for r in results]
        first = first or found
        assert found == first, f"{count} threads change the bits"
        if count == THREADS[0]:
            assert len(results) == len(expected)
            for got, want in zip(results, expected):
                assert_equal(got, want, tolerance, same_order)
        watched.check()


def _results(returned: Any, watched: Watched, written: set[int]) -> list[np.ndarray]:
    """What a call gave: the arrays it returned, then those it wrote."""
    results = list(arrays_of(returned))
    for i in sorted(written):
        results += [a for a in arrays_of(watched.arguments[i]) if not any(a is r for r in results)]
    return results


def assert_equal(
    got: np.ndarray, want: np.ndarray, tolerance: Any, same_order: bool = True
) -> None:
    assert type(got) is np.ndarray
    assert got.dtype == want.dtype.newbyteorder("=") or got.dtype == want.dtype
    assert got.shape == want.shape
    if same_order:
        assert order(got) == order(want), f"strides {got.strides}, the twin's {want.strides}"
    with np.errstate(all="ignore"):
        same = (got == want) | ((got != got) & (want != want))
        if same.all():
            return
        wide = np.longdouble if got.dtype.kind != "c" else np.clongdouble
        distance = np.abs(got.astype(wide) - want.astype(wide))
        wrong = ~same
        for one in tolerance if isinstance(tolerance, tuple) else (tolerance,):
            allowed = one(want) if callable(one) else one
            wrong &= ~((distance <= allowed) | np.isposinf(allowed))  # pyright: ignore
            if not wrong.any():
                break
    if wrong.any():
        at = tuple(np.argwhere(wrong)[0])
        raise AssertionError(
            f"{wrong.sum()} of {wrong.size} values differ; at {at}: {got[at]!r}, the twin's "
            f"{want[at]!r}"
        )


def unit(array: np.ndarray) -> np.ndarray:
    """One unit in the last place of each value."""
    if array.dtype == bfloat16:
        return np.spacing(np.abs(array).astype(np.float32)) * 2.0**16
    return np.spacing(np.abs(array))


def ulps(count: float) -> Callable[[np.ndarray], np.ndarray]:
    """A tolerance in units in the last place of the twin's value."""
    return lambda want: count * unit(want).astype(np.longdouble)


def close(rtol: float, atol: float = 0.0) -> Callable[[np.ndarray], np.ndarray]:
    """A tolerance relative to the twin's value, and an absolute one."""
    return lambda want: rtol * np.abs(want).astype(np.longdouble) + atol


def broadcasting(values: list[np.ndarray]) -> Iterator[list[np.ndarray]]:
    """The operands again with axes of one element, or none, in place of some of their axes."""
    for k in range(len(values)):
        if values[k].ndim < 2:
            continue
        yield [v[:1] if i == k else v for i, v in enumerate(values)]
        yield [v[..., :1] if i == k else v for i, v in enumerate(values)]
        yield [v[0] if i == k else v for i, v in enumerate(values)]
        yield [np.copy(v[(0,) * v.ndim]) if i == k else v for i, v in enumerate(values)]
