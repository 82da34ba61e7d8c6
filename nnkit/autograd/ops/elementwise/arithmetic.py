"""Arithmetic, element by element: sums, products, quotients, absolute values and signs."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from nnkit.autograd.arguments.dims import broadcast_shape, check_tensor
from nnkit.autograd.forward.dual import read_only_zeros_like
from nnkit.autograd.op.out import Out, complex_by_rows
from nnkit.autograd.op.pointwise import (
    F4,
    F8,
    attempting,
    fn,
    is_plain_operand,
    numbered,
    pointwise,
    writing,
)
from nnkit.autograd.op.promotion import check_dtype, check_steps, promote, promoted_dtype
from nnkit.autograd.op.public import PUBLIC, public
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.op.rule import rule
from nnkit.autograd.surface.limits import FLOAT32_MAX, check_numbers, fitting
from nnkit.autograd.tensor import Tensor
from nnkit.autograd.views.writes import write
from nnkit.backend.dtype import BOOL, COMPLEX, FLOATING, HALF, INTEGER, held, of_number

THREE = ("input", "tensor1", "tensor2")


_add = pointwise("add", lambda x, y: x + y, public=False, x=lambda g: g, y=lambda g: g)
_sub = pointwise(
    "sub", lambda x, y: x - y, public=False, refuses=("bool",), reflected="RsubBackward1",
    x=lambda g: g, y=lambda g: -g,
)
# With ``alpha``: of tensors one operation, as without it. Half precision is rounded twice, as in
# torch where fewer than 32 elements are left.
_add_scaled = pointwise(
    "add_scaled", lambda x, y, alpha: x + y * alpha, scalars=("alpha",), node="AddBackward0",
    function=False, stepwise=("forward",), x=lambda g: g, y=lambda g, alpha: g * fn.conj(alpha),
)
_sub_scaled = pointwise(
    "sub_scaled", lambda x, y, alpha: x - y * alpha, scalars=("alpha",), function=False,
    node="SubBackward0", reflected="RsubBackward1", stepwise=("forward",),
    x=lambda g: g, y=lambda g, alpha: -g * fn.conj(alpha),
)
mul = pointwise(
    "mul", lambda x, y: x * y, "The product ``input * other``, with broadcasting.",
    example=("nnkit.tensor([1.0, 2.0]), 10", "tensor([10., 20.])"),
    aliases=("multiply",), x=lambda g, y: g * fn.conj(y), y=lambda g, x: g * fn.conj(x),
)
_scaled_by = pointwise(
    "scaled_by", lambda x, factor: x * factor, scalars=("factor",), node="MulBackward0",
    public=False, x=lambda g, factor: g * factor,
)
_div = pointwise(
    "div", lambda x, y: x / y, kind="float", public=False,
    alone=lambda x, y: None if isinstance(x, Tensor) else "number",  # torch inverts y first
    x=lambda g, y: g / fn.conj(y), y=lambda g, x, y: -g * fn.conj(x / y / y),
)
_div_floor, _div_trunc = [
    pointwise(
        f"div_{way}", body, public=False, refuses=("bool", "complex"),
        node=numbered("Div", tensor=2, number=3), also={"x": ("y",), "y": ("x", "y")},
        x=lambda g: fn.zeros_like(g), y=lambda g: fn.zeros_like(g),
    )
    for way, body in (
        ("floor", lambda x, y: fn.div_floor(x, y)), ("trunc", lambda x, y: fn.div_trunc(x, y)),
    )
]  # fmt: skip
floor_divide = pointwise(
    "floor_divide", lambda x, y: fn.div_floor(x, y),
    "``input / other`` rounded down; has no derivative (`div` with a rounding mode has).",
    example=("nnkit.tensor([7, -7]), 2", "tensor([ 3, -4])"),
    refuses=("bool", "complex"), node="NotImplemented", out=Out(history="ended"),
)
remainder = pointwise(
    "remainder", lambda x, y: fn.remainder(x, y),
    "The remainder of ``input / other`` with the sign of ``other`` (Python's ``%``).",
    example=("nnkit.tensor([7, -7]), 3", "tensor([1, 2])"),
    refuses=("bool", "complex"), node=numbered("Remainder", tensor=1, number=0), x=lambda g: g,
    y=lambda g, x, y: -g * fn.div_floor(x, y),
)
fmod = pointwise(
    "fmod", lambda x, y: fn.fmod(x, y),
    "The remainder of ``input / other`` with the sign of ``input`` (C's ``fmod``).",
    example=("nnkit.tensor([7, -7]), 3", "tensor([ 1, -1])"), refuses=("bool", "complex"),
    node=numbered("Fmod", tensor=1, number=0), numbers="other",
    x=lambda g: g, y=lambda g, x, y: -g * fn.trunc(x / y),
)
rule(  # without what a quotient by 0 would make of the derivative of `trunc`
    "fmod_grad_y", broadcasts=True, g=lambda B, g_out, x, y: B.fmod_grad_y(g_out, x, y),
    x=lambda B, g_out: B.zeros_like(g_out), y=lambda B, g_out: B.zeros_like(g_out),
)
_WRONG_RESULT = "Found dtype {got} but expected {wanted}"


def _dtype_of_moduli(out: Tensor, result: Tensor, operands: tuple) -> str:
    """The rule for ``out=``: absolute values of complex numbers go into any real numbers, all
    others into their own dtype alone."""
    (x,) = operands
    into_reals = x.is_complex() and not out.is_complex()
    return "castable" if into_reals or out.dtype is x.dtype else "same"


neg = pointwise(
    "neg", lambda x: -x, "``-input``.", example=("nnkit.tensor([1, -2])", "tensor([-1,  2])"),
    aliases=("negative",), refuses=("bool",), x=lambda g: -g,
    out=Out(dtype="same"),
)
abs = pointwise(
    "abs", lambda x: fn.abs(x), "The absolute value; of a complex number its modulus.",
    example=("nnkit.tensor([-1.5, 2.0])", "tensor([1.5000, 2.0000])"), aliases=("absolute",),
    refuses=("bool",), in_place="complex", alone="refused", x=lambda g, x: g * fn.sgn(x),
    out=Out(dtype=_dtype_of_moduli, words=_WRONG_RESULT, axes=complex_by_rows),
)
sign = pointwise(
    "sign", lambda x: fn.sign(x), "-1, 0 or 1 by the sign of each element.",
    example=("nnkit.tensor([-3.0, 0.0, 5.0])", "tensor([-1.,  0.,  1.])"),
    refuses=("complex",), x=lambda g: fn.zeros_like(g),
    out=Out(dtype="same"),
)
_sgn = pointwise(
    "sgn", lambda x: fn.sgn(x), function=False,
    x=lambda g, x, out: fn.where(fn.eq(x, 0), 0, (g - out * fn.real(g * fn.conj(out))) / fn.abs(x)),
)
# Of real numbers: like `sign`, but torch saves input and result.
_sgn_real = pointwise(
    "sgn_real", lambda x: fn.sign(x), function=False, node="SgnBackward0",
    by_rows=("x",), also={"x": ("x", "out")}, x=lambda g: fn.zeros_like(g),
)
OPS["sgn_real_grad_x"] = read_only_zeros_like
square = pointwise(
    "square", lambda x: x * x, "The square of each element.",
    example=("nnkit.tensor([3, -4])", "tensor([ 9, 16])"), kind="number", node="PowBackward0",
    x=lambda g, x: g * (2 * fn.conj(x)),
)
sqrt = pointwise(
    "sqrt", lambda x: fn.sqrt(x), "The square root; NaN for negative real numbers.",
    example=("nnkit.tensor([4.0, -1.0])", "tensor([2., nan])"),
    kind="float", x=lambda g, out: g / (2 * fn.conj(out)),
)
rsqrt = pointwise(
    "rsqrt", lambda x: 1 / fn.sqrt(x), "``1 / sqrt(input)``.",
    example=("nnkit.tensor([4.0, 16.0])", "tensor([0.5000, 0.2500])"), kind="float",
    stepwise=("forward", "backward"), x=lambda g, out: -0.5 * g * fn.conj(out**3),
)
reciprocal = pointwise(
    "reciprocal", lambda x: fn.reciprocal(x), "``1 / input``.",
    example=("nnkit.tensor([2, 4])", "tensor([0.5000, 0.2500])"), kind="float",
    x=lambda g, out: -g * fn.conj(out * out),
)
copysign = pointwise(
    "copysign", lambda x, y: fn.copysign(x, y),
    "The magnitude of ``input``, the sign of ``other``.",
    example=("nnkit.tensor([1.0, -2.0]), -1.0", "tensor([-1., -2.])"), kind="float",
    refuses=("complex",), x=lambda g, x, out: g * fn.where(fn.eq(x, 0), 0, out / x),
    y=lambda g: fn.zeros_like(g), by_rows=("y",), numbers="other",
    node=numbered("Copysign", tensor=0, number=1),
)
hypot = pointwise(
    "hypot", lambda x, y: fn.hypot(x, y), "``sqrt(input**2 + other**2)`` without overflow.",
    example=("nnkit.tensor([3.0, 5.0]), nnkit.tensor([4.0, 12.0])", "tensor([ 5., 13.])"),
    refuses=("complex", "integer", "bool"), x=lambda g, x, out: g * x / out,
    y=lambda g, y, out: g * y / out, numbers="none",
)
_heaviside = pointwise(
    "heaviside", lambda x, y: fn.heaviside(x, y), public=False, refuses=("complex",),
    numbers="none", node="NotImplemented",
)
nextafter = pointwise(
    "nextafter", lambda x, y: fn.nextafter(x, y),
    "The next floating-point number after ``input`` towards ``other``.",
    example=("nnkit.tensor([1.0]), nnkit.tensor([2.0])", "tensor([1.0000])"),
    refuses=("complex", "integer", "bool"), x=lambda g, x, y: fn.where(fn.eq(x, y), 0, g),
    y=lambda g: fn.zeros_like(g), by_rows=("y",), numbers="none",
)
_lerp = pointwise(
    "lerp",
    lambda x, y, weight: fn.where(
        fn.abs(weight) < 0.5, x + weight * (y - x), y - (y - x) * (1 - weight)
    ),
    function=False, node="LerpBackward1", x=lambda g, weight: g * (1 - fn.conj(weight)),
    y=lambda g, weight: g * fn.conj(weight), weight=lambda g, x, y: g * fn.conj(y - x),
)
# By a number: a node that saves no tensor.
BY_NUMBER: dict[str, Any] = {
    "scalars": ("weight",), "function": False, "node": "LerpBackward0",
    "x": lambda g, weight: g * (1 - fn.conj(weight)), "y": lambda g, weight: g * fn.conj(weight),
}
_lerp_near = pointwise("lerp_near", lambda x, y, weight: x + weight * (y - x), **BY_NUMBER)
_lerp_far = pointwise("lerp_far", lambda x, y, weight: y - (y - x) * (1 - weight), **BY_NUMBER)
_attempts_of_lerp = tuple([attempting(by) for by in (_lerp_near, _lerp_far)])
_writes_of_lerp = tuple([writing(by, "lerp_") for by in (_lerp_near, _lerp_far)])
_addcmul = pointwise(
    "addcmul", lambda x, y, z, value: x + value * y * z, scalars=("value",), function=False,
    x=lambda g: g, y=lambda g, z, value: g * fn.conj(z * value),
    z=lambda g, y, value: g * fn.conj(y * value),
)
_addcdiv = pointwise(
    "addcdiv", lambda x, y, z, value: x + value * y / z, scalars=("value",), function=False,
    x=lambda g: g, y=lambda g, z, value: g * fn.conj(value / z),
    z=lambda g, y, z, value: -g * fn.conj(value * y / (z * z)),
)
_attempt_addcmul, _attempt_addcdiv = attempting(_addcmul), attempting(_addcdiv)


def scaled(x: Tensor, factor: Any) -> Tensor:
    """``x * factor``; a node that saves no tensor, as a factor in a sum is none in torch."""
    if x.dtype.category < FLOATING or isinstance(factor, (complex, Tensor)):
        return mul(x, factor)
    return _scaled_by(x, factor)


def factor_of(name: str, alpha: Any, *operands: Any, parameter: str = "alpha") -> Any:
    """A factor, the argument ``parameter``, as the dtype of the result holds it, with torch's check
    of its type."""
    shapes = [t._array.shape for t in operands if isinstance(t, Tensor)]
    if shapes and shapes[0] != shapes[-1]:
        broadcast_shape(name, shapes)
    d = promoted_dtype(name, *operands)
    kind = of_number(alpha).category
    if alpha.__class__ is bool and d.category != BOOL:
        raise RuntimeError(f"{name}(): Boolean {parameter} only supported for Boolean results.")
    if kind > max(d.category, INTEGER):
        of, wrong = (
            ("non-complex", "complex") if kind == COMPLEX else ("integral", "floating point")
        )
        raise RuntimeError(
            f"{name}(): For {of} input tensors, argument {parameter} must not be a {wrong} number. "
            f"Got {alpha} for {d.name}"
        )
    alpha = fitting(name, alpha, d)
    return held(alpha, d) if d.array in HALF else alpha


def _product(plain: Any, other: Any, alpha: Any) -> Any:
    """A number by ``alpha``; a bool as it is for ``sub``, which refuses it."""
    if other.__class__ is bool and plain.__name__ == "sub":
        return other
    return bool(other * alpha) if alpha.__class__ is bool else other * alpha


_attempts = {by: attempting(by) for by in (_add_scaled, _sub_scaled)}


def _combined(plain: Any, by: Any, input: Any, other: Any, alpha: Any) -> Tensor:
    """``plain`` of ``input`` and ``other``, or ``by`` of them and ``alpha``."""
    if alpha.__class__ is int and alpha == 1:
        return plain(input, other)
    if alpha.__class__ in (int, float) and -FLOAT32_MAX <= alpha <= FLOAT32_MAX:
        out = _attempts[by](input, other, alpha)
        if out is not None:
            return out
    alpha = factor_of(plain.__name__, alpha, input, other)
    if not isinstance(other, Tensor):
        return plain(input, _product(plain, other, alpha))
    return plain.promoted(by.op, input, other, alpha)


def _in_place_of(plain: Any, by: Any) -> Callable:
    """``add_`` and ``sub_``: one kernel that writes."""
    name = plain.__name__ + "_"
    attempt = writing(by, name)

    def write_in_place(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
        if alpha.__class__ is int and alpha == 1:
            return plain.in_place(self, other)
        if alpha.__class__ in (int, float) and -FLOAT32_MAX <= alpha <= FLOAT32_MAX:
            out = attempt(self, other, alpha)
            if out is not None:
                return out
        is_tensor = isinstance(other, Tensor)
        simple = is_tensor and self._array.dtype in (F4, F8) and is_plain_operand(other, self)
        if not (simple and alpha.__class__ is float and -FLOAT32_MAX <= alpha <= FLOAT32_MAX):
            alpha = factor_of(name, alpha, self, other)
        if not is_tensor:
            return plain.in_place(self, _product(plain, other, alpha))
        kernel = None
        if simple:
            primitive = getattr(self._device.backend, f"{by.__name__}_")
            kernel = lambda x, y: primitive(x, y, alpha)
        compute = lambda x, y: plain.promoted(by.op, x, y, alpha)
        return write(self, name, compute, other, kernel=kernel)

    return write_in_place


def _div_in_place(self: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    if rounding_mode is None:
        return _div.in_place(self, other)
    return write(self, "div_", div, other, rounding_mode=rounding_mode)


@public(out=True, in_place=_in_place_of(_add, _add_scaled))
def add(input: Tensor | complex, other: Tensor | complex, *, alpha: complex = 1) -> Tensor:
    """The sum ``input + alpha * other``, with broadcasting and type promotion.

    Example:
        >>> import nnkit
        >>> nnkit.add(nnkit.tensor([1.0, 2.0]), 10, alpha=2)
        tensor([21., 22.])
    """
    return _combined(_add, _add_scaled, input, other, alpha)


@public(out=True, in_place=_in_place_of(_sub, _sub_scaled), aliases=("subtract",))
def sub(input: Tensor | complex, other: Tensor | complex, *, alpha: complex = 1) -> Tensor:
    """The difference ``input - alpha * other``, with broadcasting and type promotion.

    Example:
        >>> import nnkit
        >>> nnkit.sub(nnkit.tensor([1.0, 2.0]), 1)
        tensor([0., 1.])
    """
    return _combined(_sub, _sub_scaled, input, other, alpha)


@public(method=False)
def rsub(input: Tensor, other: Tensor | complex, *, alpha: complex = 1) -> Tensor:
    """``other - alpha * input``.

    Example:
        >>> import nnkit
        >>> nnkit.rsub(nnkit.tensor([1.0, 2.0]), 5)
        tensor([4., 3.])
    """
    check_tensor("rsub", input)
    return _combined(_sub, _sub_scaled, other, input, alpha)


@public(out=True, in_place=_div_in_place, aliases=("divide",))
def div(
    input: Tensor | complex, other: Tensor | complex, *, rounding_mode: str | None = None
) -> Tensor:
    """The quotient ``input / other``.

    Args:
        rounding_mode: None for true division (integers give floats), ``"trunc"`` to round
            towards zero, ``"floor"`` to round down; these keep integer dtypes.

    Raises:
        RuntimeError: another ``rounding_mode``, or an integer division by zero.

    Example:
        >>> import nnkit
        >>> nnkit.div(nnkit.tensor([-7, 7]), 2, rounding_mode="trunc")
        tensor([-3,  3])
    """
    if rounding_mode is None:
        return _div(input, other)
    if rounding_mode == "floor":
        return _div_floor(input, other)
    if rounding_mode == "trunc":
        return _div_trunc(input, other)
    raise RuntimeError(
        "div expected rounding_mode to be one of None, 'trunc', or 'floor' "
        f"but found '{rounding_mode}'"
    )


@public
def positive(input: Tensor) -> Tensor:
    """``input`` itself; RuntimeError for bool tensors, for which ``+`` is not defined."""
    check_tensor("positive", input)
    if input.dtype.category == BOOL:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


@public(out=Out(checks_first=True), in_place=True)
def true_divide(input: Tensor | complex, other: Tensor | complex) -> Tensor:
    """``input / other``; integers are divided as floats."""
    return _div(input, other)


def _attempt_by_weight(attempts: tuple, input: Tensor, end: Tensor, weight: Any) -> Tensor | None:
    """The result of the first of two attempts, or of the second for a number from 0.5 on; None for
    other weights."""
    if weight.__class__ is float and -FLOAT32_MAX <= weight <= FLOAT32_MAX:
        return attempts[builtins.abs(weight) >= 0.5](input, end, weight)
    return None


def _lerp_in_place(self: Tensor, end: Tensor, weight: Tensor | complex) -> Tensor:
    out = _attempt_by_weight(_writes_of_lerp, self, end, weight)
    if out is not None:
        return out
    return write(self, "lerp_", lerp, end, weight)


def _dtype_of_lerp(out: Tensor, result: Tensor, operands: tuple) -> str:
    return "same" if isinstance(operands[2], Tensor) else "castable"


@public(out=Out(dtype=_dtype_of_lerp, words=_WRONG_RESULT), in_place=_lerp_in_place)
def lerp(input: Tensor, end: Tensor, weight: Tensor | complex) -> Tensor:
    """``input + weight * (end - input)``, computed from the nearer end.

    Raises:
        RuntimeError: the dtypes differ.
        NotImplementedError: they are bool or integer.

    Example:
        >>> import nnkit
        >>> nnkit.lerp(nnkit.tensor([0.0, 10.0]), nnkit.tensor([1.0, 20.0]), 0.5)
        tensor([ 0.5000, 15.0000])
    """
    out = _attempt_by_weight(_attempts_of_lerp, input, end, weight)
    if out is not None:
        return out
    for t in (end, weight):
        if isinstance(t, Tensor) and t.dtype is not input.dtype and (t is end or t.ndim):
            raise RuntimeError(f"lerp(): expected dtype {input.dtype}, got {t.dtype}")
    check_dtype("lerp", input.dtype, ("bool", "integer"), (input, end, weight))
    if isinstance(weight, Tensor):
        return _lerp(*promote("lerp", input, end, weight))
    if isinstance(weight, complex) and input.dtype.category != COMPLEX:
        weight = fitting("lerp", weight, input.dtype)  # a real one, or an error
    check_numbers("lerp", input.dtype, weight)
    by_number = _lerp_near if builtins.abs(weight) < 0.5 else _lerp_far
    return by_number(*promote("lerp", input, end), weight)


def _real(name: str, value: Any, operand: Tensor) -> None:
    """RuntimeError where a complex number goes into a real result."""
    if isinstance(value, complex) and operand.dtype.category != COMPLEX:
        raise RuntimeError(f"{name}(): value {value} cannot be converted to {operand.dtype}")


def _attempt_by_value(attempt: Callable, *operands_and_value: Any) -> Tensor | None:
    """The result of ``attempt``, unless the number at the end may overflow; None for other
    values."""
    value = operands_and_value[-1]
    if value.__class__ in (int, float) and -FLOAT32_MAX <= value <= FLOAT32_MAX:
        return attempt(*operands_and_value)
    return None


def _in_place_by_value(apply: Any) -> Callable:
    """``addcmul_`` and ``addcdiv_``: one kernel that writes."""
    plain = apply.op.name
    name = f"{plain}_"
    attempt = writing(apply, name)

    def write_in_place(
        self: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: complex = 1
    ) -> Tensor:
        out = _attempt_by_value(attempt, self, tensor1, tensor2, value)
        if out is not None:
            return out
        return write(self, name, PUBLIC[plain], tensor1, tensor2, value=value)

    return write_in_place


@public(out=True, in_place=_in_place_by_value(_addcmul))
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: complex = 1) -> Tensor:
    """``input + value * tensor1 * tensor2``.

    Raises:
        NotImplementedError: all are bool.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([1.0, 2.0])
        >>> nnkit.addcmul(x, x, x, value=10)
        tensor([11., 42.])
    """
    out = _attempt_by_value(_attempt_addcmul, input, tensor1, tensor2, value)
    if out is not None:
        return out
    operands = promote("addcmul", input, tensor1, tensor2, parameters=THREE)
    check_dtype("addcmul", operands[0].dtype, ("bool",), operands)
    _real("addcmul", value, operands[0])
    if operands[0].dtype.category == INTEGER:
        value = fitting("addcmul", value, operands[0].dtype)
    check_numbers("addcmul", operands[0].dtype, value)
    return _addcmul(*operands, value)


@public(out=True, in_place=_in_place_by_value(_addcdiv))
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: complex = 1) -> Tensor:
    """``input + value * tensor1 / tensor2``; floating point only.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([1.0, 2.0])
        >>> nnkit.addcdiv(x, nnkit.tensor([1.0, 1.0]), nnkit.tensor([2.0, 4.0]), value=2)
        tensor([2.0000, 2.5000])
    """
    out = _attempt_by_value(_attempt_addcdiv, input, tensor1, tensor2, value)
    if out is not None:
        return out
    if tensor1.dtype.category < FLOATING and tensor2.dtype.category < FLOATING:
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, expected floating tensors: use "
            "div() with a rounding_mode"
        )
    operands = promote("addcdiv", input, tensor1, tensor2, parameters=THREE)
    _real("addcdiv", value, operands[0])
    return _addcdiv(*operands, value)


def _heaviside_(self: Tensor, values: Tensor) -> Tensor:
    if isinstance(values, Tensor):
        check_steps(self.dtype, values.dtype)
    return _heaviside.in_place(self, values)  # type: ignore[attr-defined]


def _dtype_of_steps(out: Tensor, result: Tensor, operands: tuple) -> str:
    check_steps(result.dtype, out.dtype)
    return "same"


@public(out=Out(dtype=_dtype_of_steps, history="ended"), in_place=_heaviside_)
def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """0 where ``input < 0`` or NaN, 1 where ``input > 0``, ``values`` where it is 0.

    It has no derivative.

    Args:
        input: a tensor of any shape.
        values: a tensor that broadcasts with it.

    Raises:
        TypeError: one of them is no tensor.
        RuntimeError: the shapes do not broadcast, the devices or the dtypes differ, or these are
            complex.

    Example:
        >>> import nnkit
        >>> nnkit.heaviside(nnkit.tensor([-1.0, 0.0, 2.0]), nnkit.tensor([0.5]))
        tensor([0.0000, 0.5000, 1.0000])
    """
    return _heaviside(input, values)


@public(out=Out(dtype="same"), in_place=True)
def sgn(input: Tensor) -> Tensor:
    """The sign of each element; of a complex number ``input / abs(input)``, 0 at 0.

    Example:
        >>> import nnkit
        >>> nnkit.sgn(nnkit.tensor([-2.0, 0.0, 3.0]))
        tensor([-1.,  0.,  1.])
    """
    check_tensor("sgn", input)
    return _sgn(input) if input.is_complex() else _sgn_real(input)


sgn.op = _sgn.op
OPS["sgn"] = sgn
