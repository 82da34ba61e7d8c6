"""Filling a tensor with random numbers: ``uniform_``, ``normal_``, ``random_`` and their kin.

What is drawn does not depend on what was there, so the gradient of the old contents is zero.
"""

from __future__ import annotations

import functools
import numbers
import sys
from collections.abc import Callable
from typing import Any

from nnkit.autograd.arguments.dims import expanded_shape
from nnkit.autograd.arguments.sizes import integer
from nnkit.autograd.batch.examples import check_differs
from nnkit.autograd.compiled import bind_write
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.pointwise import declined
from nnkit.autograd.op.public import public
from nnkit.autograd.op.rule import rule
from nnkit.autograd.surface.generator import source_of
from nnkit.autograd.tensor import Tensor
from nnkit.autograd.views.writes import check_write, write
from nnkit.backend.dtype import (
    BOOL,
    COMPLEX,
    FLOATING,
    INTEGER,
    bfloat16,
    bool_,
    dtype,
    float16,
    float32,
    float64,
    int64,
)
from nnkit.backend.warning import warn

_LARGEST = {
    float16: 65504.0, bfloat16: (2 - 2.0**-7) * 2.0**127, float32: (2 - 2.0**-23) * 2.0**127,
    float64: sys.float_info.max,
}  # fmt: skip
_DIGITS = {float16: 11, bfloat16: 8, float32: 24, float64: 53}
_REAL = (BOOL, INTEGER, FLOATING)
LOWEST, HIGHEST = -(2**63), 2**63 - 1


def _zeros(B: Any, g: Any) -> Any:
    return B.zeros_like(g)


_OPS = {
    name: rule(name, node=node, x=_zeros)
    for name, node in (
        ("uniform_", "UniformBackward0"), ("normal_", "NormalBackward0"),
        ("bernoulli_", "BernoulliBackward2"), ("random_", "RandomBackward0"),
        ("exponential_", "ExponentialBackward0"), ("geometric_", "GeometricBackward0"),
        ("cauchy_", "CauchyBackward0"), ("log_normal_", "LogNormalBackward0"),
    )
}  # fmt: skip
_OPS["bernoulli_from_"] = rule(
    "bernoulli_from_", node="BernoulliBackward1", broadcasts=True, x=_zeros, p=_zeros
)


_WRITES = {
    name: bind_write(name, name, len(op.op.primitive.arrays), None, declined)
    for name, op in _OPS.items()
}


def draw(x: Tensor, kernel: str, *arguments: Any) -> Tensor:
    """Run an in-place kernel on ``x`` with torch's checks, version and history."""
    written = _WRITES[kernel](x, *arguments)
    if written is not None:
        return written
    if MODE.batches:
        check_differs(kernel, x, arguments)
    in_place = getattr(x._device.backend, kernel)
    return write(x, kernel, _OPS[kernel], *arguments, kernel=in_place)


def draw_anew(x: Tensor, kernel: str, *arguments: Any) -> Tensor:
    """`draw` for new memory, of which nobody has taken notice."""
    if MODE.batches or x._device.depth:
        return draw(x, kernel, *arguments)
    getattr(x._device.backend, kernel)(x._array, *arguments)
    return x


def draw_real(
    x: Tensor, kernel: str, first: float, second: float, generator: Any, draw: Callable = draw
) -> Tensor:
    """Fill with numbers of a distribution that has real and complex ones alone."""
    if x._array.size or kernel == "uniform_":
        need(kernel, x.dtype, (FLOATING, COMPLEX), NotImplementedError)
    return draw(x, kernel, first, second, source_of(kernel, generator, x._device))


def number(name: str, parameter: str, value: Any) -> float:
    """A real number, or a tensor of one element that requires no gradient, as a float."""
    if value.__class__ is float:
        return value
    if isinstance(value, Tensor) and value._array.size == 1 and not value.requires_grad:
        value = value.item()
    if not isinstance(value, numbers.Real):
        raise TypeError(
            f"{name}(): argument '{parameter}' must be float, not {type(value).__name__}"
        )
    return float(value)


def need(name: str, d: dtype, categories: tuple[int, ...], error: type[Exception]) -> None:
    """``error`` where the distribution has no numbers of the dtype."""
    if d.category not in categories or "float8" in d.kinds:
        raise error(f"{name}(): not implemented for '{d.name}' tensors")


def need_to_draw(
    name: str, x: Tensor, categories: tuple[int, ...], error: type[Exception] = NotImplementedError
) -> None:
    """``error`` as torch's kernels raise it: where a tensor that may be written has elements."""
    check_write(x, name)
    if x._array.size:
        need(name, x.dtype, categories, error)


def _from(name: str, default: Any, options: dict[str, Any]) -> Any:
    """torch's parameter ``from``, whose name is a keyword of Python's."""
    value = options.pop("from", default)
    if options:
        raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(options))}'")
    return value


@public(namespace=False)
def uniform_(
    input: Tensor, low: Any = 0.0, to: float = 1.0, *, generator: Any = None, **options: Any
) -> Tensor:
    """Fill with numbers of the uniform distribution on [from, to), in place.

    ``input`` is floating point or complex (both parts are then drawn).

    Raises:
        RuntimeError: ``from > to``, or a bound or their difference does not fit the dtype.
        NotImplementedError: the dtype is bool or an integer one.

    Example:
        >>> import nnkit
        >>> _ = nnkit.manual_seed(0)
        >>> nnkit.empty(2).uniform_(-1, 1)
        tensor([-0.0075,  0.5364])
    """
    low = number("uniform_", "from", _from("uniform_", low, options))
    high = number("uniform_", "to", to)
    d = input.dtype
    need("uniform_", d, (FLOATING, COMPLEX), NotImplementedError)
    largest = _LARGEST[d.to_real()]
    for parameter, value in (("from", low), ("to", high)):
        if not -largest <= value <= largest:
            raise RuntimeError(f"uniform_(): {parameter} is out of bounds for {d.name}: {value}")
    if low > high:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}"
        )
    if high - low > largest:
        raise RuntimeError(
            f"uniform_ expects to-from <= {largest} of {d.name}, but found to={high} and from={low}"
        )
    return draw(input, "uniform_", low, high, source_of("uniform_", generator, input._device))


@public(namespace=False)
def normal_(input: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with numbers of the normal distribution, in place.

    A complex ``input`` gets parts of standard deviation ``std / sqrt(2)``.

    Raises:
        RuntimeError: ``std`` is negative or NaN.
        NotImplementedError: the dtype is bool or an integer one.

    Example:
        >>> import nnkit
        >>> _ = nnkit.manual_seed(0)
        >>> nnkit.empty(2).normal_()
        tensor([ 1.5410, -0.2934])
    """
    mean, std = number("normal_", "mean", mean), number("normal_", "std", std)
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    return draw_real(input, "normal_", mean, std, generator)


@public(namespace=False)
def bernoulli_(input: Tensor, p: Tensor | float = 0.5, *, generator: Any = None) -> Tensor:
    """Fill with 1 where a coin of chance ``p`` falls, 0 elsewhere, in place.

    Args:
        p: a number, or a floating-point tensor whose shape broadcasts to that of ``input``.

    Raises:
        RuntimeError: a chance lies outside [0, 1].
        NotImplementedError: ``input`` is complex, or ``p`` is no floating-point tensor.

    Example:
        >>> import nnkit
        >>> _ = nnkit.manual_seed(0)
        >>> nnkit.empty(4).bernoulli_(nnkit.tensor([0.0, 1.0, 0.0, 1.0]))
        tensor([0., 1., 0., 1.])
    """
    source = source_of("bernoulli_", generator, input._device)
    if isinstance(p, Tensor):
        need_to_draw("bernoulli_", input, _REAL)
        if input._array.size:
            need("bernoulli_", p.dtype, (FLOATING,), NotImplementedError)
        expanded_shape("bernoulli_", p._array.shape, input._array.shape)
        return draw(input, "bernoulli_from_", p, source)
    p = number("bernoulli_", "p", p)
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    need_to_draw("bernoulli_", input, _REAL)
    return draw(input, "bernoulli_", p, source)


@public(namespace=False)
def random_(
    input: Tensor,
    *bounds: Any,
    to: int = ...,  # pyright: ignore[reportArgumentType]
    generator: Any = None,
    **options: Any,
) -> Tensor:
    """Fill with integers of [from, to), all equally likely, in place.

    ``random_(to)`` starts from 0. Without bounds (or from ``from`` on with ``to=None``) the
    numbers go as far as the dtype counts: to its largest integer, or to 2**24 for float32, 2**53
    for float64.

    Raises:
        RuntimeError: ``from >= to``, or a bound does not fit the dtype.
        TypeError: a bound is not an int.

    Example:
        >>> import nnkit
        >>> _ = nnkit.manual_seed(0)
        >>> nnkit.empty(4).random_(10)
        tensor([4., 9., 3., 0.])
    """
    first = _from("random_", ..., options)
    given = [v for v in (first, *bounds, to) if v is not ...]
    if len(given) == 1 and given[0] is None:
        raise TypeError("random_(): argument 'to' must be int, not NoneType")
    if len(given) > 2:
        raise TypeError(f"random_() takes at most 2 bounds, got {len(given)}")
    source = source_of("random_", generator, input._device)
    if not given:
        need_to_draw("random_", input, _REAL)
        return draw(input, "random_", None, None, source)
    low, high = given if len(given) == 2 else (0, given[0])
    low, high = integer_bounds("random_", input.dtype, low, high)
    return draw(input, "random_", low, high, source)


def integer_bounds(name: str, d: dtype, low: Any, high: Any) -> tuple[int, int]:
    """[low, high) moved inward to integers that the dtype can hold, after torch's checks."""
    if isinstance(low, bool) or isinstance(high, bool):
        parameter = "from" if isinstance(low, bool) else "to"
        raise TypeError(f"{name}(): argument '{parameter}' must be int, not bool")
    low = integer(name, "from", low)
    if d.category == COMPLEX:
        raise RuntimeError(
            f"{name}() handles only integral, floating-point and boolean types, got {d.name}"
        )
    need(name, d, _REAL, NotImplementedError)
    digits = _DIGITS.get(d)
    if high is None:
        if low == LOWEST:
            if d not in (int64, float64, float32, bfloat16):
                raise RuntimeError(
                    f"{name}() draws from all 64 bits only for int64, float64, float32 and "
                    f"bfloat16, got {d.name}"
                )
            return LOWEST, HIGHEST + 1
        last = 2**digits if digits else _integer_range(d)[1]
    else:
        last = integer(name, "to", high) - 1
    if low > last:
        raise RuntimeError(
            f"{name} expects 'from' to be less than 'to', but got from={low} >= to={last + 1}"
        )
    if digits:
        # The dtype must not round the ends out of the range.
        if _rounded(low + 1, digits) < low:
            low = _rounded(low + 1, digits) + 2 ** (abs(low + 1).bit_length() - digits)
        if high is not None and _rounded(last, digits) > last:
            last = _rounded(last, digits) - 2 ** (abs(last).bit_length() - digits) - 1
        if low > last:
            raise RuntimeError(
                f"{name} expects 'from' cast to {d.name} to be less than 'to', "
                f"but got from={low} >= to={last + 1}"
            )
    smallest, largest = _integer_range(d)
    for parameter, value in (("from", low), ("to - 1", last)):
        if not smallest <= value <= largest:
            raise RuntimeError(f"{name}(): {parameter} is out of bounds for {d.name}: {value}")
        if digits and abs(value) > 2**digits:
            warn(
                f"{name}(): {parameter} is out of bounds [-(2^{digits}), 2^{digits}]: got {value}, "
                f"beyond which {d.name} does not hold every integer."
            )
    return low, last + 1


@functools.cache
def _integer_range(d: dtype) -> tuple[int, int]:
    if d.category == FLOATING:
        return -int(_LARGEST[d]), int(_LARGEST[d])
    if d is bool_:
        return 0, 1
    if not d.is_signed:
        return 0, 2 ** (8 * d.itemsize) - 1
    return -(2 ** (8 * d.itemsize - 1)), 2 ** (8 * d.itemsize - 1) - 1


def _rounded(value: int, digits: int) -> int:
    """``value`` rounded to a significand of ``digits`` bits, ties to even."""
    spare = max(abs(value).bit_length() - digits, 0)
    half, low = 1 << spare >> 1, value & ((1 << spare) - 1)
    up = low > half or (low == half and spare > 0 and value >> spare & 1)
    return (value >> spare) + up << spare


def _continuous(
    name: str, check: Callable[..., str], error: type[Exception], categories: tuple[int, ...],
    always: bool = False,
) -> Callable[..., Tensor]:  # fmt: skip
    """Check the parameters and the dtype (of no elements only if ``always``), then draw."""

    def fill(input: Tensor, generator: Any, **parameters: Any) -> Tensor:
        values = {key: number(name, key, value) for key, value in parameters.items()}
        complaint = check(**values)
        if complaint:
            raise RuntimeError(f"{name} expects {complaint}")
        if always:
            need(name, input.dtype, categories, error)
        need_to_draw(name, input, categories, error)
        return draw(input, name, *values.values(), source_of(name, generator, input._device))

    return fill


_exponential = _continuous(
    "exponential_",
    lambda lambd: "" if lambd > 0 else f"lambda > 0.0, but found lambda={lambd}",
    RuntimeError,
    (FLOATING,),
)
_cauchy = _continuous(
    "cauchy_",
    lambda median, sigma: "" if sigma > 0 else f"sigma > 0.0, but found sigma={sigma}",
    RuntimeError, (FLOATING,), True,
)  # fmt: skip
_log_normal = _continuous(
    "log_normal_",
    lambda mean, std: "" if std > 0 else f"std > 0.0, but found std={std}",
    NotImplementedError,
    (FLOATING,),
)
_geometric = _continuous(
    "geometric_",
    lambda p: "" if 0 < p < 1 else f"p to be in (0, 1), but got p={p}",
    NotImplementedError,
    (INTEGER, FLOATING),
)


@public(namespace=False)
def exponential_(input: Tensor, lambd: float = 1, *, generator: Any = None) -> Tensor:
    """Fill with numbers of density ``lambd exp(-lambd x)``, x > 0, in place.

    Raises:
        RuntimeError: ``lambd`` is not positive, or the dtype is no floating-point one.
    """
    return _exponential(input, generator, lambd=lambd)


@public(namespace=False)
def geometric_(input: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """Fill with how many throws it took until success, of chance ``p`` each, in place.

    Raises:
        RuntimeError: ``p`` lies outside (0, 1).
        NotImplementedError: the dtype is bool or complex.
    """
    return _geometric(input, generator, p=p)


@public(namespace=False)
def cauchy_(input: Tensor, median: float = 0, sigma: float = 1, *, generator: Any = None) -> Tensor:
    """Fill with numbers of density ``sigma / pi / ((x - median)**2 + sigma**2)``, in place.

    Raises:
        RuntimeError: ``sigma`` is not positive, or the dtype is no floating-point one.
    """
    return _cauchy(input, generator, median=median, sigma=sigma)


@public(namespace=False)
def log_normal_(input: Tensor, mean: float = 1, std: float = 2, *, generator: Any = None) -> Tensor:
    """Fill with ``exp(z)``, z normal with ``mean`` and ``std``, in place.

    Raises:
        RuntimeError: ``std`` is not positive.
        NotImplementedError: the dtype is no floating-point one.
    """
    return _log_normal(input, generator, mean=mean, std=std)
