"""Powers: one element raised to another, or to a number."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.arguments.dims import check_tensor
from nnkit.autograd.op.out import Out
from nnkit.autograd.op.pointwise import F4, F8, INTEGERS, attempting, fn, pointwise
from nnkit.autograd.op.promotion import promote, promoted_dtype
from nnkit.autograd.op.public import public
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.op.single import single
from nnkit.autograd.ops.creation.conversion import contiguous, converted
from nnkit.autograd.ops.elementwise.arithmetic import mul
from nnkit.autograd.surface import return_types
from nnkit.autograd.surface.limits import fitting_beside
from nnkit.autograd.tensor import Tensor
from nnkit.autograd.views.writes import write
from nnkit.backend.dtype import (
    BOOL,
    FLOATING,
    HALF,
    INTEGER,
    complex128,
    float64,
    int32,
    python_number,
)

_pow = pointwise(
    "pow", lambda x, y: fn.pow(x, y), public=False, refuses=("bool",), node="PowBackward1",
    x=lambda g, x, y: fn.where(fn.eq(y, 0), 0, g * fn.conj(y * fn.pow(x, y - 1))),
    y=lambda g, x, y, out: g * fn.conj(
        fn.where(fn.logical_and(fn.eq(x, 0), fn.ge(fn.real(y), 0)), 0, out * fn.log(x))
    ),
)
_pow_scalar = pointwise(
    "pow_scalar", lambda x, exponent: x**exponent, scalars=("exponent",), function=False,
    node="PowBackward0", x=lambda g, x, exponent: g * fn.conj(exponent * x ** (exponent - 1)),
)
_pow_zero = pointwise(
    "pow_zero", lambda x: fn.zeros_like(x) + 1, function=False, node="PowBackward0",
    by_rows=("x",), x=lambda g, x: fn.zeros_like(g + x),
)


def _power(x: Tensor, y: Any) -> Tensor:
    """`pow` where a derivative is differentiated, which raises to numbers too: as torch does, it is
    then a power of its own, down to that of zero, whose derivative is no power any more."""
    if isinstance(y, Tensor):
        return _pow.apply(x, y)
    return _pow_scalar(x, y) if y else _pow_zero(x)


_power.op = _pow.apply.op
OPS["pow"] = _power
OPS["square_grad_x"] = lambda g, x: mul(g, (_power(x, 1) * 2).conj())


_attempt_of_number = attempting(_pow.apply, (F4, F8, *INTEGERS), numbers=1)


@single(alone="refused", name="pow", node="PowBackward2")
def _number_to(base: complex, exponent: Tensor) -> Tensor:
    """The powers of a number, which lie by rows in torch."""
    out = None if exponent._requires_grad else _attempt_of_number(base, exponent)
    return contiguous(_pow(*promote("pow", base, exponent)) if out is None else out)


def _has_base(operands: tuple) -> bool:
    """Whether the base is a tensor; powers of a number give ``out`` its size first."""
    return isinstance(operands[0], Tensor)


@public(out=Out(checks_first=_has_base), in_place=True)
def pow(input: Tensor | complex, exponent: Tensor | complex) -> Tensor:
    """``input`` to the power ``exponent``; either may be a number.

    Raises:
        RuntimeError: an integer tensor to the power of a negative integer number.

    Example:
        >>> import nnkit
        >>> nnkit.pow(nnkit.tensor([1.0, 2.0, 3.0]), 2)
        tensor([1., 4., 9.])
    """
    exponent = python_number(exponent)
    if isinstance(exponent, Tensor) and not isinstance(input, Tensor):
        if input == 1 and exponent.is_inference():  # torch fills
            exponent = exponent.detach()
        return _number_to(input, exponent)
    if isinstance(exponent, (int, float)) and isinstance(input, Tensor):
        if not isinstance(exponent, bool) and input.dtype.category >= FLOATING:
            if not exponent:
                return _pow_zero(input)
            half = input._array.dtype in HALF
            return _pow_scalar(input, fitting_beside("pow", exponent, input) if half else exponent)
        if isinstance(exponent, int) and exponent < 0 and input.dtype.category < FLOATING:
            raise RuntimeError("pow(): Integers to negative integer powers are not allowed.")
    if (
        isinstance(exponent, Tensor)
        and isinstance(input, Tensor)
        and exponent.is_complex() > input.is_complex()
    ):
        input, exponent = promote("pow", input, exponent)  # the gradient needs log(input)
    return _pow(input, exponent)


def _float_power_in_place(self: Tensor, exponent: Any) -> Tensor:
    wide = complex128 if promoted_dtype("float_power", self, exponent).is_complex else float64
    if self.dtype is not wide:
        raise RuntimeError(
            f"float_power_(): the base has dtype {self.dtype} but the operation's result requires "
            f"dtype {wide}"
        )
    return write(self, "float_power_", float_power, exponent)


_WRONG_POWER = (
    "the output given to float_power has dtype {got} but the operation's result requires dtype "
    "{wanted}"
)


@public(
    out=Out(dtype="same", words=_WRONG_POWER, checks_first=_has_base),
    in_place=_float_power_in_place,
)
def float_power(input: Tensor | complex, exponent: Tensor | complex) -> Tensor:
    """``input ** exponent`` computed in float64 (complex128 for complex operands).

    Example:
        >>> import nnkit
        >>> nnkit.float_power(nnkit.tensor([1, 2]), 3)
        tensor([1., 8.], dtype=nnkit.float64)
    """
    d = promoted_dtype("float_power", input, exponent)
    wide = complex128 if d.is_complex else float64
    widened = [v.to(wide) if isinstance(v, Tensor) else v for v in (input, exponent)]
    return pow(*widened)


@public(out=Out(checks_first=True), in_place=True)
def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """``input * 2**other``; for integers ``other`` neither factor overflows by itself.

    Example:
        >>> import nnkit
        >>> nnkit.ldexp(nnkit.tensor([1.0, 3.0]), nnkit.tensor([2, -1]))
        tensor([4.0000, 1.5000])
    """
    check_tensor("ldexp", input)
    check_tensor("ldexp", other, "other")
    if input.dtype.category == FLOATING and other.dtype.category == BOOL:
        raise NotImplementedError("ldexp(): not implemented for bool exponents of float tensors")
    if input.dtype.category != FLOATING or other.dtype.category != INTEGER:
        return mul(input, pow(2.0, other))
    scaled = _scaled(converted(input, float64), converted(other, float64))
    return converted(scaled, input.dtype)


def _scaled_up(x: Any, exponent: Any) -> Any:
    """``x * 2**exponent`` by two powers, neither of which overflows."""
    half = fn.floor(0.5 * exponent)
    return x * fn.exp2(half) * fn.exp2(exponent - half)


def _bounded(exponent: Any) -> Any:
    """An exponent half of which float64 holds."""
    return fn.minimum(fn.maximum(exponent, -2040), 2040)


_scaled = pointwise(
    "scaled_by_power", lambda x, exponent: _scaled_up(x, _bounded(exponent)),
    function=False, node="MulBackward0",
    x=lambda g, exponent: _scaled_up(g, _bounded(exponent)),
)
_exponent = pointwise("exponent", lambda x: fn.exponent(x), public=False)
_unscaled = pointwise(
    "unscaled", lambda x, exponent: _scaled_up(x, -exponent), function=False, node="FrexpBackward0",
    x=lambda g, exponent: _scaled_up(g, -exponent),
)


@public(out=Out(checks_first=True))
def frexp(input: Tensor) -> Any:
    """The mantissa, of size 1/2 to 1, and the int32 exponent with ``mantissa * 2**exponent``.

    What is zero, infinite or no number is its own mantissa, with exponent 0.

    Raises:
        RuntimeError: the elements are not floating point.

    Example:
        >>> import nnkit
        >>> mantissa, exponent = nnkit.frexp(nnkit.tensor([1.0, -6.0]))
        >>> mantissa, exponent
        (tensor([ 0.5000, -0.7500]), tensor([1, 3], dtype=nnkit.int32))
    """
    check_tensor("frexp", input)
    if input.dtype.category != FLOATING:
        raise RuntimeError(
            f"torch.frexp() only supports floating-point dtypes, got {input.dtype.name}"
        )
    exponent = _exponent(input.detach())
    return return_types.frexp((_unscaled(input, exponent), converted(exponent, int32)))
