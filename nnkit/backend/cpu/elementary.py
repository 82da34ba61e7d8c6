"""Elementary functions of formulas where NumPy's own differ from torch's or do not exist.

Each has an optional ``out`` like a ufunc, unless the printer lists it under `NO_OUT`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nnkit.backend import dtype as dtypes
from nnkit.backend.cpu import special


def conj(x: Any) -> Any:
    """The conjugate; real values are returned as they are, not copied."""
    try:
        return np.conjugate(x) if x.dtype.kind == "c" else x
    except AttributeError:  # a Python number
        return x.conjugate()


def div_floor(x: Any, y: Any, out: Any = None) -> Any:
    """x / y rounded down; integers divided by zero raise, as in torch."""
    _refuse_zero(x, y)
    return np.floor_divide(x, y, out=out)


def div_trunc(x: Any, y: Any, out: Any = None) -> Any:
    """x / y rounded towards zero, exact for integers of any size."""
    if _is_integer(x) and _is_integer(y):
        _refuse_zero(x, y)
        quotient = np.floor_divide(x, y, out=out)
        inexact = (np.remainder(x, y) != 0) & ((np.less(x, 0)) != (np.less(y, 0)))
        return np.add(quotient, inexact, out=out, casting="unsafe", dtype=quotient.dtype)
    return np.trunc(np.true_divide(x, y, out=out), out=out)


def remainder(x: Any, y: Any, out: Any = None) -> Any:
    """x - y * floor(x / y), with the sign of y; a zero has that of x."""
    _refuse_zero(x, y)
    if _is_integer(x) and _is_integer(y):
        return np.remainder(x, y, out=out)
    rest = np.fmod(x, y)
    other_sign = (rest != 0) & ((rest < 0) != (np.asarray(y) < 0))
    return np.add(rest, np.where(other_sign, y, rest.dtype.type(-0.0)), out=out)


def _through(half: Any) -> Any:
    def round_to(x: Any, out: Any = None) -> Any:
        if not isinstance(x, np.ndarray):
            return float(half.type(x))
        return _written(x.astype(half).astype(x.dtype), out)

    return round_to


float16, bfloat16 = _through(dtypes.float16.array), _through(dtypes.bfloat16.array)


def fmax(x: Any, y: Any, out: Any = None) -> Any:
    """The larger, x of equal zeros, which NumPy leaves open; a NaN loses to a number."""
    if _is_integer(x) and _is_integer(y):
        return np.maximum(x, y, out=out)
    return _written(np.where((x < y) | (x != x), y, x), out)


def fmin(x: Any, y: Any, out: Any = None) -> Any:
    """The smaller; otherwise as `fmax`."""
    if _is_integer(x) and _is_integer(y):
        return np.minimum(x, y, out=out)
    return _written(np.where((x > y) | (x != x), y, x), out)


def _in_double(ufunc: Any) -> Any:
    """A function of two numbers that rounds float32 once: its terms may cancel."""

    def compute(x: Any, y: Any, out: Any = None) -> Any:
        if np.result_type(x, y) != np.float32:
            return ufunc(x, y, out=out)
        wide = ufunc(x, y, dtype=np.float64)
        return wide.astype(np.float32) if out is None else _written(wide, out)

    return compute


logaddexp, logaddexp2 = _in_double(np.logaddexp), _in_double(np.logaddexp2)


def _written(result: Any, out: Any) -> Any:
    if out is None:
        return result
    np.copyto(out, result)
    return out


def fmod(x: Any, y: Any, out: Any = None) -> Any:
    """x - y * trunc(x / y), with the sign of x."""
    _refuse_zero(x, y)
    return np.fmod(x, y, out=out)


def heaviside(x: Any, y: Any, out: Any = None) -> Any:
    """0 below 0 and at NaN, 1 above, y at 0; in the dtype of the operands, integers too."""
    steps = np.greater(x, 0).astype(np.result_type(x, y))
    return _written(np.where(np.equal(x, 0), y, steps), out)


def power(x: Any, y: Any, out: Any = None) -> Any:
    """x ** y; of integers a negative power is its whole part, 0 but for 1 and -1."""
    if _is_integer(x) and _is_integer(y) and np.less(y, 0).any():
        one = np.where(np.equal(x, -1), 1 - 2 * np.bitwise_and(y, 1), np.equal(x, 1))
        result = np.where(np.less(y, 0), one, np.power(x, np.maximum(y, 0)))
        return np.positive(result, out=out, dtype=np.result_type(x, y), casting="unsafe")
    if y.__class__ is float and y == -0.5:
        # NaN at -inf, as the square root that NumPy takes for 0.5
        return np.true_divide(1, np.sqrt(x, out=out), out=out)
    result = x**y if out is None else np.power(x, y, out=out)
    if result.dtype.kind == "c" and isinstance(y, np.generic | np.ndarray) and not np.all(y):
        # exp(y * log(x)), as C has it; NumPy makes 1 of any number to the power of 0.
        unknown = np.equal(x, 0) & np.equal(y, 0)
        result = _written(np.where(unknown, complex(np.nan, np.nan), result), out)
    return result


def signbit(x: Any, out: Any = None) -> Any:
    """Whether the sign bit is set; NumPy's own makes floats of integers."""
    return np.less(x, 0, out=out) if _is_integer(x) else np.signbit(x, out=out)


def real(x: Any) -> Any:
    """The real part; real values are returned as they are."""
    return x.real if getattr(x, "dtype", None) is not None and x.dtype.kind == "c" else x


def polygamma_at(x: Any, n: int, out: Any = None) -> Any:
    """The n-th derivative of digamma at x, with the array first as in all formulas."""
    return special.polygamma(n, x, out=out)


def _is_integer(x: Any) -> bool:
    return isinstance(x, int) if not hasattr(x, "dtype") else x.dtype.kind in "iub"


def _refuse_zero(x: Any, y: Any) -> None:
    if not (_is_integer(x) and _is_integer(y)):
        return
    has_zero = not (y.all() if getattr(y, "ndim", 0) else y)
    if has_zero and np.size(x):
        raise RuntimeError("ZeroDivisionError: division by zero on integers")
