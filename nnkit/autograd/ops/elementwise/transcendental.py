"""Exponentials, logarithms, trigonometric and hyperbolic functions, the error function."""

from __future__ import annotations

import math
from typing import Any

from nnkit.autograd.arguments.dims import check_tensor
from nnkit.autograd.forward.level import ENTERED_LEVELS
from nnkit.autograd.op.out import Out
from nnkit.autograd.op.pointwise import fn, pointwise
from nnkit.autograd.op.promotion import check_dtype, promote
from nnkit.autograd.op.public import public
from nnkit.autograd.op.registry import LIFTED
from nnkit.autograd.op.rule import guarded
from nnkit.autograd.op.single import single
from nnkit.autograd.ops.creation.conversion import contiguous, converted
from nnkit.autograd.ops.elementwise.comparison import where
from nnkit.autograd.ops.shape.joining import stack
from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import BOOL, COMPLEX, FLOATING, default_dtype, held, to_float

LN2, LN10 = math.log(2), math.log(10)


def _inverse(x: Any) -> Any:
    """1 / x, and 0 at 0: the gradient that torch gives `atan2` at the origin, where it has no
    second derivative."""
    return fn.where(fn.eq(x, 0), 0, fn.reciprocal(x))


exp = pointwise("exp", lambda x: fn.exp(x), "``e ** input``.",
                example=("nnkit.tensor([0.0, 1.0])", "tensor([1.0000, 2.7183])"), kind="float",
                x=lambda g, out: g * fn.conj(out))
exp2 = pointwise("exp2", lambda x: fn.exp2(x), "``2 ** input``.",
                 example=("nnkit.tensor([0, 3])", "tensor([1., 8.])"), kind="float",
                 x=lambda g, out: g * fn.conj(out) * LN2)
expm1 = pointwise("expm1", lambda x: fn.expm1(x), "``e ** input - 1``, exact near 0.",
                  example=("nnkit.tensor([0.0, 1.0])", "tensor([0.0000, 1.7183])"), kind="float",
                  x=lambda g, out: g * fn.conj(out + 1))
log = pointwise("log", lambda x: fn.log(x),
                "The natural logarithm; -inf at 0, NaN for negative real numbers.",
                example=("nnkit.tensor([1.0, 10.0])", "tensor([0.0000, 2.3026])"), kind="float",
                x=lambda g, x: g / fn.conj(x))
log2 = pointwise("log2", lambda x: fn.log2(x),
                 "The logarithm to base 2; NaN for negative real numbers.",
                 example=("nnkit.tensor([1.0, 8.0])", "tensor([0., 3.])"), kind="float",
                 x=lambda g, x: g / (fn.conj(x) * LN2))
log10 = pointwise("log10", lambda x: fn.log10(x),
                  "The logarithm to base 10; NaN for negative real numbers.",
                  example=("nnkit.tensor([1.0, 100.0])", "tensor([0., 2.])"), kind="float",
                  x=lambda g, x: g / (fn.conj(x) * LN10))
log1p = pointwise("log1p", lambda x: fn.log1p(x), "``log(1 + input)``, exact near 0.",
                  example=("nnkit.tensor([0.0, 1.0])", "tensor([0.0000, 0.6931])"), kind="float",
                  x=lambda g, x: g / fn.conj(x + 1))
sin = pointwise("sin", lambda x: fn.sin(x), "The sine of an angle in radians.",
                example=("nnkit.tensor([0.0, 1.0])", "tensor([0.0000, 0.8415])"), kind="float",
                x=lambda g, x: g * fn.conj(fn.cos(x)))
cos = pointwise("cos", lambda x: fn.cos(x), "The cosine of an angle in radians.",
                example=("nnkit.tensor([0.0, 1.0])", "tensor([1.0000, 0.5403])"), kind="float",
                x=lambda g, x: g * -fn.conj(fn.sin(x)))
tan = pointwise("tan", lambda x: fn.tan(x), "The tangent of an angle in radians.",
                example=("nnkit.tensor([0.0, 1.0])", "tensor([0.0000, 1.5574])"), kind="float",
                x=lambda g, out: g * fn.conj(1 + out * out))
asin = pointwise("asin", lambda x: fn.asin(x), "The angle whose sine is ``input``.",
                 example=("nnkit.tensor([0.0, 1.0])", "tensor([0.0000, 1.5708])"), kind="float",
                 aliases=("arcsin",),
                 x=lambda g, x: g * fn.conj(1 / fn.sqrt(1 - x * x)))
acos = pointwise("acos", lambda x: fn.acos(x), "The angle whose cosine is ``input``.",
                 example=("nnkit.tensor([0.0, 1.0])", "tensor([1.5708, 0.0000])"), kind="float",
                 aliases=("arccos",),
                 x=lambda g, x: g * -fn.conj(1 / fn.sqrt(1 - x * x)))
atan = pointwise("atan", lambda x: fn.atan(x), "The angle whose tangent is ``input``.",
                 example=("nnkit.tensor([0.0, 1.0])", "tensor([0.0000, 0.7854])"),
                 kind="float", aliases=("arctan",),
                 x=lambda g, x: g / fn.conj(x * x + 1))


def _along_atan2(primals: tuple, tangents: list, *_: Any) -> Tensor:
    """The tangent of the angle, at (0, 0) NaN."""
    (x, y), (of_x, of_y) = primals, tangents
    square = LIFTED.add(LIFTED.mul(x, x), LIFTED.mul(y, y))
    return LIFTED.div(LIFTED.sub(LIFTED.mul(y, of_x), LIFTED.mul(x, of_y)), square)


atan2 = pointwise(
    "atan2", lambda x, y: fn.atan2(x, y), "The angle of the point (``other``, ``input``).",
    example=("nnkit.tensor([1.0, 0.0]), nnkit.tensor([1.0, -1.0])", "tensor([0.7854, 3.1416])"),
    kind="float", aliases=("arctan2",), refuses=("complex",),
    x=lambda g, x, y: g * y * _inverse(x * x + y * y),
    y=lambda g, x, y: g * -x * _inverse(x * x + y * y), numbers="none", along=_along_atan2,
)


@single(alone="refused", node="AngleBackward0", orders_gradients=True)
def _angle(input: Tensor) -> Tensor:
    real, imag = contiguous(input.real), contiguous(input.imag)
    out = atan2(imag, real)
    if ENTERED_LEVELS:  # at 0 the tangent of `atan2` is NaN, that of an angle 0
        out = where((real == 0) & (imag == 0), out.detach(), out)
    return guarded("angle", out, input)


_angle_of_real = pointwise(
    "angle_of_real", lambda x: fn.where(x < 0, math.pi, fn.where(fn.isnan(x), x, 0)),
    function=False, node="AngleBackward0", x=lambda g, x: fn.zeros_like(x + g),
)


@public(out=Out(checks_first=lambda operands: not operands[0].is_complex()))
def angle(input: Tensor) -> Tensor:
    """The angle of each number in the complex plane: ``atan2(imag, real)``.

    Of a real number pi where it is negative, else 0, with a gradient of 0. Integers are computed
    in the default floating dtype.

    Example:
        >>> import nnkit
        >>> nnkit.angle(nnkit.tensor([1j, -1.0, 1.0]))
        tensor([1.5708, 3.1416, 0.0000])
    """
    check_tensor("angle", input)
    if input.is_complex():  # torch's result lies by rows
        return _angle(input)
    return _angle_of_real(converted(input, to_float(input.dtype)))


sinh = pointwise("sinh", lambda x: fn.sinh(x), "The hyperbolic sine, ``(exp(x) - exp(-x)) / 2``.",
                 example=("nnkit.tensor([0.0, 1.0])", "tensor([0.0000, 1.1752])"), kind="float",
                 x=lambda g, x: g * fn.conj(fn.cosh(x)))
cosh = pointwise("cosh", lambda x: fn.cosh(x), "The hyperbolic cosine, ``(exp(x) + exp(-x)) / 2``.",
                 example=("nnkit.tensor([0.0, 1.0])", "tensor([1.0000, 1.5431])"), kind="float",
                 x=lambda g, x: g * fn.conj(fn.sinh(x)))
tanh = pointwise("tanh", lambda x: fn.tanh(x), "The hyperbolic tangent, ``sinh(x) / cosh(x)``.",
                 example=("nnkit.tensor([0.0, 1.0])", "tensor([0.0000, 0.7616])"), kind="float",
                 stepwise=(), x=lambda g, out: g * fn.conj(1 - out * out))
asinh = pointwise("asinh", lambda x: fn.asinh(x),
                  "The inverse of `sinh`, ``log(x + sqrt(x**2 + 1))``.",
                  example=("nnkit.tensor([0.0, 1.0])", "tensor([0.0000, 0.8814])"), kind="float",
                  aliases=("arcsinh",), differentiable_in_place=False,
                  x=lambda g, x: g * fn.conj(1 / fn.sqrt(x * x + 1)))
acosh = pointwise("acosh", lambda x: fn.acosh(x),
                  "The inverse of `cosh`, ``log(x + sqrt(x**2 - 1))``.",
                  example=("nnkit.tensor([1.0, 2.0])", "tensor([0.0000, 1.3170])"), kind="float",
                  aliases=("arccosh",), differentiable_in_place=False,
                  x=lambda g, x: g * fn.conj(1 / fn.sqrt(x * x - 1)))
atanh = pointwise("atanh", lambda x: fn.atanh(x),
                  "The inverse of `tanh`, ``log((1 + x) / (1 - x)) / 2``.",
                  example=("nnkit.tensor([0.0, 0.5])", "tensor([0.0000, 0.5493])"), kind="float",
                  aliases=("arctanh",), differentiable_in_place=False,
                  x=lambda g, x: g * 1 / fn.conj(1 - x * x))
erf = pointwise("erf", lambda x: fn.erf(x),
                "``2 / sqrt(pi)`` times the integral of ``exp(-t**2)`` from 0 to x.",
                example=("nnkit.tensor([0.0, 1.0])", "tensor([0.0000, 0.8427])"), kind="float",
                refuses=("complex",),
                x=lambda g, x: (2 / math.sqrt(math.pi)) * fn.exp(-(x * x)) * g)
erfc = pointwise("erfc", lambda x: fn.erfc(x), "``1 - erf(input)``, exact for large input.",
                 example=("nnkit.tensor([0.0, 1.0])", "tensor([1.0000, 0.1573])"),
                 kind="float", refuses=("complex",),
                 x=lambda g, x: (-2 / math.sqrt(math.pi)) * fn.exp(-(x * x)) * g)
erfinv = pointwise("erfinv", lambda x: fn.erfinv(x), "The inverse of the error function.",
                   example=("nnkit.tensor([0.0, 0.5])", "tensor([0.0000, 0.4769])"),
                   kind="float", refuses=("complex",),
                   x=lambda g, x: (math.sqrt(math.pi) / 2)
                   * fn.exp(fn.erfinv(x) * fn.erfinv(x)) * g)
sigmoid = pointwise("sigmoid", lambda x: fn.sigmoid(x), "``1 / (1 + exp(-input))``.",
                    example=("nnkit.tensor([0.0, 1.0])", "tensor([0.5000, 0.7311])"), kind="float",
                    stepwise=(), x=lambda g, out: g * fn.conj(1 - out) * fn.conj(out))
lgamma = pointwise("lgamma", lambda x: fn.lgamma(x), "The logarithm of ``|Gamma(input)|``.",
                   example=("nnkit.tensor([1.0, 5.0])", "tensor([0.0000, 3.1781])"),
                   kind="float", refuses=("complex",),
                   x=lambda g, x: g * fn.digamma(x))
digamma = pointwise("digamma", lambda x: fn.digamma(x), "The derivative of `lgamma`.",
                    example=("nnkit.tensor([1.0, 2.0])", "tensor([-0.5772,  0.4228])"),
                    kind="float", refuses=("complex",),
                    x=lambda g, x: g * fn.polygamma_at(x, 1))


def times_log(x: Any, y: Any) -> Any:
    """``x * log(y)``, 0 where x is 0 and y a number."""
    zero = fn.logical_and(fn.eq(x, 0), fn.logical_not(fn.isnan(y)))
    return fn.where(zero, 0, x * fn.log(y))


def times_log_grad(g: Any, x: Any, y: Any) -> Any:
    """The gradient to x of `times_log`, ``g * log(y)``: 0 too where no gradient comes."""
    product = g * fn.log(fn.where(fn.logical_and(fn.eq(g, 0), y <= 0), 1, y))
    return fn.where(fn.logical_and(fn.eq(x, 0), y <= 0), 0, product)


_xlogy = pointwise(
    "xlogy", times_log, function=False, stepwise=("forward", "backward"), by_rows=("x",),
    x=times_log_grad, y=lambda g, x, y: g * x / y,
)
_logaddexp = pointwise(
    "logaddexp", lambda x, y: fn.logaddexp(x, y), public=False, in_place=False,
    refuses=("integer", "bool", "complex"), x=lambda g, x, y: g / (1 + fn.exp(y - x)),
    y=lambda g, x, y: g / (1 + fn.exp(x - y)), numbers="none",
)


@public(out=True)
def logaddexp(input: Tensor, other: Tensor) -> Tensor:
    """``log(exp(input) + exp(other))``, without overflow.

    Args:
        input, other: floating point or complex; they broadcast.

    Raises:
        TypeError: one of them is no Tensor.
        NotImplementedError: integers.

    Example:
        >>> import nnkit
        >>> nnkit.logaddexp(nnkit.tensor([0.0, 1000.0]), nnkit.tensor([0.0, 1000.0]))
        tensor([6.9315e-01, 1.0007e+03])
    """
    check_tensor("logaddexp", input)
    check_tensor("logaddexp", other, "other")
    if COMPLEX in (input.dtype.category, other.dtype.category):
        return guarded("logaddexp", _complex_logaddexp(input, other), input, other)
    return _logaddexp(input, other)


def _complex_logaddexp(x: Tensor, y: Tensor) -> Tensor:
    """The one of the larger real part is taken out, unless both are infinite."""
    first = where(x.real < y.real, y, x)
    second = where(x.real < y.real, x, y)
    same = first.real.isinf().logical_and(first.real.eq(second.real))
    ordinary = first + (1 + (where(same, 0, second) - where(same, 0, first)).exp()).log()
    total = where(same, first, 0).exp() + where(same, second, 0).exp()
    infinite = where(first.real < 0, first, total.log())
    return where(same, infinite, ordinary)


logaddexp2 = pointwise(
    "logaddexp2", lambda x, y: fn.logaddexp2(x, y), "``log2(2**input + 2**other)``.",
    example=(
        "nnkit.tensor([0.0, 1000.0]), nnkit.tensor([0.0, 1000.0])",
        "tensor([1.0000e+00, 1.0010e+03])",
    ),
    in_place=False, refuses=("integer", "bool", "complex"),
    x=lambda g, x, y: g / (1 + fn.exp2(y - x)), y=lambda g, x, y: g / (1 + fn.exp2(x - y)),
    numbers="none",
)
sinc = pointwise(
    "sinc", lambda x: fn.where(fn.eq(x, 0), 1, fn.sin(x * math.pi) / (x * math.pi)),
    "``sin(pi * input) / (pi * input)``, 1 at 0.",
    example=("nnkit.tensor([0.0, 0.5])", "tensor([1.0000, 0.6366])"), kind="float",
    x=lambda g, x: fn.where(
        fn.eq(x * x * math.pi, 0), 0,
        g * fn.conj(fn.where(
            fn.eq(x * x * math.pi, 0), 0,
            (x * math.pi * fn.cos(x * math.pi) - fn.sin(x * math.pi)) / (x * x * math.pi),
        )),
    ),
)
deg2rad = pointwise("deg2rad", lambda x: x * (math.pi / 180), "Degrees to radians.",
                    example=("nnkit.tensor([0.0, 180.0])", "tensor([0.0000, 3.1416])"),
                    kind="float", refuses=("complex",), alone="refused",
                    x=lambda g: g * (math.pi / 180))
rad2deg = pointwise("rad2deg", lambda x: x * (180 / math.pi), "Radians to degrees.",
                    example=("nnkit.tensor([0.0, 1.0])", "tensor([ 0.0000, 57.2958])"),
                    kind="float", refuses=("complex",), alone="refused",
                    x=lambda g: g * (180 / math.pi))
_logit = pointwise(
    "logit", lambda x: fn.log(x / (1 - x)), function=False, stepwise=("forward", "backward"),
    x=lambda g, x: fn.where(fn.logical_or(x < 0, x > 1), math.nan, g / (x * (1 - x))),
)
_logit_between = pointwise(
    "logit_between",
    lambda x, low, high: fn.log(
        fn.where(x < low, low, fn.where(x > high, high, x))
        / (1 - fn.where(x < low, low, fn.where(x > high, high, x)))
    ),
    scalars=("low", "high"), function=False, node="LogitBackward0",
    stepwise=("forward", "backward"),
    x=lambda g, x, low, high: fn.where(
        fn.logical_or(x < low, x > high), 0, g / (x * (1 - x))
    ),
)
_polygamma = pointwise(
    "polygamma_at", lambda x, n: fn.polygamma_at(x, n), scalars=("n",), function=False,
    node="PolygammaBackward0", x=lambda g, x, n: g * fn.polygamma_at(x, n + 1),
)


@public(out=True, in_place=True)
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """``log(input / (1 - input))``, the inverse of `sigmoid`; not of complex numbers.

    Args:
        eps: hold ``input`` between ``eps`` and ``1 - eps`` first; without it, values outside
            [0, 1] give NaN.

    Example:
        >>> import nnkit
        >>> nnkit.logit(nnkit.tensor([0.5, 0.9]))
        tensor([0.0000, 2.1972])
    """
    check_dtype("logit", input.dtype, ("complex",))
    if input.dtype.category < FLOATING:
        input = converted(input, default_dtype())
    if eps is None:
        return _logit(input)
    low = held(eps, input.dtype)
    return _logit_between(input, low, held(1 - low, input.dtype))


@public(method=False, out=Out(checks_first=True))
def polygamma(n: int, input: Tensor) -> Tensor:
    """The ``n``-th derivative of `digamma`.

    Raises:
        RuntimeError: ``n`` is negative.

    Example:
        >>> import nnkit
        >>> nnkit.polygamma(1, nnkit.tensor([1.0, 0.5]))
        tensor([1.6449, 4.9348])
    """
    check_tensor("polygamma", input)
    if n < 0:
        raise RuntimeError(f"polygamma(n, x) does not support negative n. Got {n}")
    if input.dtype.category == COMPLEX:
        raise NotImplementedError(f"polygamma(): not implemented for '{input.dtype.name}' tensors")
    return _polygamma(*promote("polygamma", input, floating=True), n)


@public(name="polygamma", namespace=False, in_place=True)
def polygamma_method(self: Tensor, n: int) -> Tensor:
    """`nnkit.polygamma` with the order after the tensor."""
    return polygamma(n, self)


@public(out=True, in_place=True)
def xlogy(input: Tensor | complex, other: Tensor | complex) -> Tensor:
    """``input * log(other)``, 0 where ``input`` is 0; either may be a number, neither complex.

    Example:
        >>> import nnkit
        >>> nnkit.xlogy(nnkit.tensor([0.0, 2.0]), nnkit.tensor([0.0, 1.0]))
        tensor([0., 0.])
    """
    operands = promote("xlogy", input, other, floating=True)
    check_dtype("xlogy", operands[0].dtype, ("complex",), operands)
    return _xlogy(*operands)


@public(out=True, in_place=True)
@single(node="MvlgammaBackward0")
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension ``p``.

    Example:
        >>> import nnkit
        >>> nnkit.mvlgamma(nnkit.tensor([2.0]), 1)
        tensor([0.])
    """
    if input.dtype.category == BOOL:
        raise RuntimeError("mvlgamma(): not implemented for 'bool' tensors")
    if p < 1:
        raise RuntimeError(f"mvlgamma(): p has to be greater than or equal to 1, got {p}")
    constant = p * (p - 1) / 4 * math.log(math.pi)
    out = lgamma(stack([input + (1 - p + j) / 2 for j in range(p)], -1)).sum(-1) + constant
    return guarded("mvlgamma", out, input)
