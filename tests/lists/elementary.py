"""The elementary functions of formulas, of single numbers.

Python's raise where a float has inf or NaN for an answer; these give it.
"""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Callable
from typing import Any

from tests.lists import special

INF, NAN = math.inf, math.nan
Complex = complex


def _quotient(x: Any, y: Any) -> Any:
    try:
        return x / y
    except ZeroDivisionError:
        if isinstance(x, Complex) or isinstance(y, Complex):
            x, y = Complex(x), Complex(y)
            return Complex(_quotient(x.real, y.real), _quotient(x.imag, y.real))
        sign = math.copysign(1, x) * math.copysign(1, y)
        return NAN if x != x or x == 0 else sign * INF
    except OverflowError:
        return Complex(NAN, NAN)


def _power(x: Any, y: Any) -> Any:
    if isinstance(x, int) and isinstance(y, int):
        if y >= 0:
            return pow(int(x), int(y), 1 << 64)
        return 1 if x == 1 else (1 - 2 * (y & 1)) if x == -1 else 0
    if isinstance(x, Complex) or isinstance(y, Complex):
        try:
            return x**y
        except (ZeroDivisionError, OverflowError):
            return Complex(NAN, NAN)
    try:
        return math.pow(x, y)
    except OverflowError:
        return -INF if x < 0 and y % 2 == 1 else INF
    except ValueError:
        if x == 0:
            return math.copysign(INF, x) if y % 2 == 1 else INF
        return NAN


def _integers(x: Any, y: Any) -> bool:
    """Whether both are; then y must not be 0."""
    if not (isinstance(x, int) and isinstance(y, int)):
        return False
    if not y:
        raise RuntimeError("ZeroDivisionError: division by zero on integers")
    return True


def _fmod(x: Any, y: Any) -> Any:
    if _integers(x, y):
        return int(math.copysign(abs(x) % abs(y), x)) if abs(x) < 2**53 else abs(x) % abs(y)
    try:
        return math.fmod(x, y)
    except ValueError:
        return NAN


def _remainder(x: Any, y: Any) -> Any:
    if _integers(x, y):
        return x % y
    rest = _fmod(x, y)
    return rest + y if rest and (rest < 0) != (y < 0) else rest


def _div_floor(x: Any, y: Any) -> Any:
    if _integers(x, y):
        return x // y
    if not y:
        return _quotient(x, y)
    rest = _fmod(x, y)
    quotient = _quotient(x - rest, y)
    if rest and (rest < 0) != (y < 0):
        quotient -= 1
    if not quotient:
        return math.copysign(0.0, _quotient(x, y))
    whole = _whole(math.floor)(quotient)
    return whole + 1.0 if quotient - whole > 0.5 else whole


def _div_trunc(x: Any, y: Any) -> Any:
    if _integers(x, y):
        return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    return _whole(math.trunc)(_quotient(x, y))


def _whole(function: Callable) -> Callable:
    """A rounding to whole numbers that keeps floats, and the sign of 0."""

    def rounded(x: Any) -> Any:
        if isinstance(x, int) or not math.isfinite(x):
            return x
        return math.copysign(float(function(x)), x)

    return rounded


def _frac(x: float) -> float:
    return x - math.trunc(x) if math.isfinite(x) else NAN


def _real_or_complex(
    name: str, beyond: Callable = lambda x: INF, outside: Callable = lambda x: NAN
) -> Callable:
    """A function of `math`, or of `cmath`; what it gives for too large results and elsewhere."""
    real: Any = getattr(math, name)
    of_complex: Any = getattr(cmath, name, None)

    def function(x: Any) -> Any:
        try:
            if x.__class__ is Complex:
                return of_complex(x)
            return real(x)
        except OverflowError:
            return beyond(x) if x.__class__ is not Complex else Complex(NAN, NAN)
        except ValueError:
            if x.__class__ is Complex:
                return Complex(-INF, 0.0) if name.startswith("log") and not x else Complex(NAN, NAN)
            return outside(x)

    return function


def _at_zero(x: float) -> float:
    return -INF if x == 0 else NAN


def _log1p(x: Any) -> Any:
    if x.__class__ is not Complex:
        return _real_log1p(x)
    excess = x.real * (2 + x.real) + x.imag * x.imag
    size = abs(x + 1)
    real = 0.5 * math.log1p(excess) if abs(x) < 0.5 else _functions["log"](size)
    return Complex(real, math.atan2(x.imag, 1 + x.real))


_real_log1p = _real_or_complex("log1p", outside=lambda x: -INF if x == -1 else NAN)


def _sign(x: Any) -> Any:
    if x.__class__ is Complex:
        size = abs(x)
        return x / size if size else x
    return (x > 0) - (x < 0) if isinstance(x, int) else float((x > 0) - (x < 0))


def _maximum(x: Any, y: Any) -> Any:
    return x if x != x or x >= y else y


def _minimum(x: Any, y: Any) -> Any:
    return x if x != x or x <= y else y


def _sigmoid(x: Any) -> Any:
    return _quotient(1, 1 + _functions["exp"](-x))


def _log_sigmoid(x: Any) -> Any:
    if x.__class__ is Complex:
        return -_functions["log"](1 + _functions["exp"](-x))
    return min(x, 0.0) - math.log1p(math.exp(-abs(x))) if x == x else x


def _logaddexp(x: Any, y: Any) -> Any:
    if isinstance(x, Complex) or isinstance(y, Complex):
        x, y = (x, y) if x.real >= y.real else (y, x)
        if x.real == -INF:
            return x
        return x + _log1p(_functions["exp"](y - x))
    if x == y:
        return x + math.log(2)
    return x + y if x != x or y != y else max(x, y) + math.log1p(math.exp(-abs(x - y)))


def _logaddexp2(x: float, y: float) -> float:
    if x == y:
        return x + 1
    if x != x or y != y:
        return x + y
    return max(x, y) + math.log1p(2.0 ** -abs(x - y)) / math.log(2)


def _sqrt(x: Any) -> Any:
    if x.__class__ is Complex:
        return cmath.sqrt(x)
    return math.sqrt(x) if not x < 0 else NAN


def _expm1(x: Any) -> Any:
    if x.__class__ is Complex:
        return cmath.exp(x) - 1 if abs(x) > 0.1 else _small_expm1(x)
    return _real_expm1(x)


def _small_expm1(x: complex) -> complex:
    half = math.sin(x.imag / 2)
    grown = math.expm1(x.real)
    return Complex(grown * math.cos(x.imag) - 2 * half * half, math.exp(x.real) * math.sin(x.imag))


_real_expm1 = _real_or_complex("expm1")


def _log_to(base: float, exact: Callable) -> Callable:
    def log(x: Any) -> Any:
        if x.__class__ is Complex:
            return _functions["log"](x) / math.log(base)
        try:
            return exact(x)
        except ValueError:
            return _at_zero(x)

    return log


def _exp2(x: Any) -> Any:
    return _functions["exp"](x * math.log(2)) if x.__class__ is Complex else _power(2.0, x)


def _exponent(x: float) -> float:
    return float(math.frexp(x)[1]) if math.isfinite(x) else 0.0


def _isfinite(x: Any) -> bool:
    return cmath.isfinite(x)


def _where(condition: Any, x: Any, y: Any) -> Any:
    return x if condition else y


def _shift(function: Callable) -> Callable:
    def shifted(x: int, y: int) -> int:
        if 0 <= y < 64:
            return function(x, y)
        return -1 if function is operator.rshift and x < 0 else 0

    return shifted


_functions: dict[str, Callable] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": _quotient,
    "neg": operator.neg, "abs": abs, "pow": _power, "sqrt": _sqrt,
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge, "where": _where, "zeros_like": lambda x: 0 * 0,
    "conj": lambda x: x.conjugate(), "real": lambda x: x.real,
    "maximum": _maximum, "minimum": _minimum,
    "fmax": lambda x, y: y if x != x or x < y else x,
    "fmin": lambda x, y: y if x != x or x > y else x,
    "logical_and": lambda x, y: bool(x) and bool(y), "logical_or": lambda x, y: bool(x) or bool(y),
    "logical_xor": lambda x, y: bool(x) != bool(y), "logical_not": operator.not_,
    "isnan": lambda x: x != x, "isinf": lambda x: cmath.isinf(x), "isfinite": _isfinite,
    "signbit": lambda x: x < 0 if isinstance(x, int) else math.copysign(1, x) < 0,
    "sign": _sign, "sgn": _sign, "copysign": math.copysign, "nextafter": math.nextafter,
    "hypot": math.hypot, "heaviside": lambda x, y: y if x == 0 else int(x > 0),
    "floor": _whole(math.floor), "ceil": _whole(math.ceil), "trunc": _whole(math.trunc),
    "round": _whole(round), "frac": _frac,
    "div_floor": _div_floor, "div_trunc": _div_trunc, "remainder": _remainder, "fmod": _fmod,
    "reciprocal": lambda x: _quotient(1.0, x), "exponent": _exponent,
    "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor,
    "invert": lambda x: not x if isinstance(x, bool) else ~x,
    "left_shift": _shift(operator.lshift), "right_shift": _shift(operator.rshift),
    "exp": _real_or_complex("exp"), "exp2": _exp2, "expm1": _expm1,
    "log": _real_or_complex("log", outside=_at_zero), "log1p": _log1p,
    "log2": _log_to(2, math.log2), "log10": _log_to(10, math.log10),
    "sin": _real_or_complex("sin"), "cos": _real_or_complex("cos"), "tan": _real_or_complex("tan"),
    "asin": _real_or_complex("asin"), "acos": _real_or_complex("acos"),
    "atan": _real_or_complex("atan"), "atan2": math.atan2,
    "sinh": _real_or_complex("sinh", beyond=lambda x: math.copysign(INF, x)),
    "cosh": _real_or_complex("cosh"), "tanh": _real_or_complex("tanh"),
    "asinh": _real_or_complex("asinh"), "acosh": _real_or_complex("acosh"),
    "atanh": _real_or_complex(
        "atanh", outside=lambda x: math.copysign(INF, x) if abs(x) == 1 else NAN
    ),
    "sigmoid": _sigmoid, "log_sigmoid": _log_sigmoid,
    "logaddexp": _logaddexp, "logaddexp2": _logaddexp2,
    "erf": math.erf, "erfc": math.erfc,
    "lgamma": _real_or_complex("lgamma", outside=lambda x: INF),
}  # fmt: skip
ELEMENTARY = _functions | special.FUNCTIONS
PREDICATES = frozenset(
    "eq ne lt le gt ge logical_and logical_or logical_xor logical_not isnan isinf isfinite signbit"
    .split()
)  # fmt: skip
