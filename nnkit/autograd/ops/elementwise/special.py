"""Special functions: Bessel's, the normal distribution's, incomplete gamma functions, entropies."""

from __future__ import annotations

import math
from typing import Any

from nnkit.autograd.op.pointwise import fn, pointwise
from nnkit.autograd.op.promotion import check_dtype, promote
from nnkit.autograd.op.rule import refusing
from nnkit.autograd.ops.elementwise.transcendental import erf
from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import to_float

EPS = 2.0**-52  # below it the quotients in the derivatives of order 1 are taken to their limits


def _away_from_zero(x: Any) -> Any:
    return fn.where(abs(x) > EPS, x, EPS)


def _log_ndtr(x: Any) -> Any:
    """``log(ndtr(x))`` without underflow on the left and cancellation on the right."""
    left = fn.log(fn.erfcx(fn.minimum(x, -1) * -math.sqrt(0.5)) / 2) - x * x / 2
    right = fn.log1p(fn.erfc(fn.maximum(x, -1) * math.sqrt(0.5)) * -0.5)
    return fn.where(x < -1, left, right)


def _entr(x: Any) -> Any:
    inside = fn.where(fn.eq(x, 0), 0, -x * fn.log(x))
    return fn.where(x < 0, -math.inf, inside)


def _times_log1p(x: Any, y: Any) -> Any:
    """``x * log1p(y)``, 0 where x is 0 and y a number."""
    zero = fn.logical_and(fn.eq(x, 0), fn.logical_not(fn.isnan(y)))
    return fn.where(zero, 0, x * fn.log1p(y))


def _density(g: Any, a: Any, x: Any) -> Any:
    """The derivative of the lower incomplete gamma function in its limit."""
    return g * fn.exp((a - 1) * fn.log(x) - x - fn.lgamma(a))


i0 = pointwise(
    "i0", lambda x: fn.i0(x), "The modified Bessel function of the first kind of order 0.",
    example=("nnkit.tensor([0.0, 1.0])", "tensor([1.0000, 1.2661])"),
    kind="float", refuses=("complex",), x=lambda g, x: g * fn.i1(x),
)
i0e = pointwise(
    "i0e", lambda x: fn.i0e(x), "``exp(-|input|) * i0(input)``.",
    example=("nnkit.tensor([0.0, 100.0])", "tensor([1.0000, 0.0399])"),
    node="SpecialI0EBackward0", kind="float", public="special", refuses=("complex",),
    x=lambda g, x, out: g * (fn.i1e(x) - fn.sgn(x) * out),
)
i1 = pointwise(
    "i1", lambda x: fn.i1(x), "The modified Bessel function of the first kind of order 1.",
    example=("nnkit.tensor([0.0, 1.0])", "tensor([0.0000, 0.5652])"),
    node="SpecialI1Backward0", kind="float", public="special",
    refuses=("complex",), x=lambda g, x, out: g * fn.where(
        abs(x) > EPS, fn.i0(_away_from_zero(x)) - out / _away_from_zero(x), 0.5
    ),
)
i1e = pointwise(
    "i1e", lambda x: fn.i1e(x), "``exp(-|input|) * i1(input)``.",
    node="SpecialI1EBackward0", kind="float", public="special",
    refuses=("complex",), x=lambda g, x, out: g * fn.where(
        abs(x) > EPS,
        fn.i0e(_away_from_zero(x))
        - out * (fn.sgn(_away_from_zero(x)) + 1 / _away_from_zero(x)),
        0.5,
    ),
)
entr = pointwise(
    "entr", _entr, "``-input * log(input)``: 0 at 0, -inf for negative numbers.",
    example=("nnkit.tensor([0.0, 0.5, 1.0])", "tensor([0.0000, 0.3466, -0.0000])"),
    node="SpecialEntrBackward0", kind="float", public="special", refuses=("complex",),
    x=lambda g, x: g * -(1 + fn.log(x)),
)
erfcx = pointwise(
    "erfcx", lambda x: fn.erfcx(x),
    "``exp(input**2) * erfc(input)``, without overflow of the first or underflow of the second.",
    example=("nnkit.tensor([0.0, 100.0])", "tensor([1.0000, 0.0056])"),
    node="SpecialErfcxBackward0", kind="float", public="special",
    refuses=("complex", "half"), x=lambda g, x, out: (2 * x * out - 2 / math.sqrt(math.pi)) * g,
)
log_ndtr = pointwise(
    "log_ndtr", _log_ndtr, "``log(ndtr(input))``, right where `ndtr` is 0.",
    example=("nnkit.tensor([0.0, -100.0])", "tensor([-6.9315e-01, -5.0055e+03])"),
    node="SpecialLogNdtrBackward0", kind="float", public="special", refuses=("complex", "half"),
    x=lambda g, x, out: g / math.sqrt(2 * math.pi) * fn.exp(-(out + x * x / 2)),
)
ndtri = pointwise(
    "ndtri", lambda x: fn.ndtri(x), "The inverse of `ndtr`: infinite at 0 and 1, NaN outside.",
    example=("nnkit.tensor([0.5, 0.975])", "tensor([0.0000, 1.9600])"),
    node="SpecialNdtriBackward0", kind="float", public="special", refuses=("complex", "half"),
    x=lambda g, out: g * math.sqrt(2 * math.pi) * fn.exp(out * out / 2),
)
zeta = pointwise(
    "zeta", lambda x, y: fn.zeta(x, y),
    "Hurwitz's zeta function, the sum of ``(other + k)**-input`` over k >= 0; it has a "
    "derivative in ``other``.",
    example=("nnkit.tensor([2.0]), 1", "tensor([1.6449])"),
    node="SpecialZetaBackward0", kind="float", public="special", refuses=("complex", "half"),
    x=refusing("zeta", NotImplementedError), y=lambda g, x, y: g * -x * fn.zeta(x + 1, y),
)
_xlog1py = pointwise(
    "xlog1py", _times_log1p, node="SpecialXlog1PyBackward0", function=False,
    stepwise=("forward", "backward"),
    x=lambda g, x, y: fn.where(
        fn.logical_and(fn.eq(x, 0), y <= -1),
        0,
        g * fn.log1p(fn.where(fn.logical_and(fn.eq(g, 0), y <= -1), 0, y)),
    ),
    y=lambda g, x, y: g * x / (y + 1),
)
igamma = pointwise(
    "igamma", lambda a, x: fn.igamma(a, x),
    "The lower regularised incomplete gamma function: the share of ``Gamma(input)`` that its "
    "integral has up to ``other``.",
    example=("nnkit.tensor([1.0, 2.0]), nnkit.tensor([1.0, 1.0])", "tensor([0.6321, 0.2642])"),
    numbers="none", refuses=("integer", "bool", "complex"),
    a=refusing("igamma", NotImplementedError), x=_density,
)
igammac = pointwise(
    "igammac", lambda a, x: fn.igammac(a, x),
    "The upper regularised incomplete gamma function, ``1 - igamma(input, other)``.",
    example=("nnkit.tensor([1.0, 2.0]), nnkit.tensor([1.0, 1.0])", "tensor([0.3679, 0.7358])"),
    numbers="none", refuses=("integer", "bool", "complex"),
    a=refusing("igammac", NotImplementedError), x=lambda g, a, x: -_density(g, a, x),
)


def xlog1py(input: Tensor | complex, other: Tensor | complex) -> Tensor:
    """``input * log1p(other)``, 0 where ``input`` is 0; either may be a number.

    Example:
        >>> import nnkit
        >>> nnkit.special.xlog1py(nnkit.tensor([0.0, 2.0]), nnkit.tensor([-1.0, 0.0]))
        tensor([0., 0.])
    """
    operands = promote("special.xlog1py", input, other, floating=True)
    check_dtype("special.xlog1py", operands[0].dtype, ("complex",), operands)
    return _xlog1py(*operands)


def ndtr(input: Tensor) -> Tensor:
    """The standard normal distribution function, ``(1 + erf(input / sqrt(2))) / 2``.

    Example:
        >>> import nnkit
        >>> nnkit.special.ndtr(nnkit.tensor([-1.0, 0.0]))
        tensor([0.1587, 0.5000])
    """
    check_dtype("special.ndtr", to_float(input.dtype), ("complex",))
    return (1 + erf(input / math.sqrt(2.0))) * 0.5
