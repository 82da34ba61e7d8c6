"""Comparison and logic, element by element, and `where`."""

from __future__ import annotations

import math
from typing import Any

from nnkit.autograd.arguments.dims import check_tensor
from nnkit.autograd.grad_mode import no_grad
from nnkit.autograd.op.out import Out
from nnkit.autograd.op.pointwise import F4, F8, attempting, fn, pointwise
from nnkit.autograd.op.promotion import promote
from nnkit.autograd.op.public import public
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.ops.creation.factories import ones_like
from nnkit.autograd.surface.limits import FLOAT32_MAX, fitting, fitting_beside
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.backend.dtype import BOOL, bool_, int64
from nnkit.backend.warning import warn_once

_UNBOUNDED = "nnkit.tensor([1.0, -nnkit.inf, nnkit.inf, nnkit.nan])"  # of examples

eq = pointwise(
    "eq", lambda x, y: fn.eq(x, y), "``input == other``.",
    example=("nnkit.tensor([1, 2, 3]), 2", "tensor([False,  True, False])"), kind="bool",
    numbers="other",
)
ne = pointwise(
    "ne", lambda x, y: fn.ne(x, y), "``input != other``.",
    example=("nnkit.tensor([1, 2, 3]), 2", "tensor([ True, False,  True])"), kind="bool",
    aliases=("not_equal",), numbers="other",
)
lt = pointwise(
    "lt", lambda x, y: x < y, "``input < other``.",
    example=("nnkit.tensor([1, 2, 3]), 2", "tensor([ True, False, False])"), kind="bool",
    aliases=("less",), refuses=("complex",), numbers="other",
)
le = pointwise(
    "le", lambda x, y: x <= y, "``input <= other``.",
    example=("nnkit.tensor([1, 2, 3]), 2", "tensor([ True,  True, False])"), kind="bool",
    aliases=("less_equal",), refuses=("complex",), numbers="other",
)
gt = pointwise(
    "gt", lambda x, y: x > y, "``input > other``.",
    example=("nnkit.tensor([1, 2, 3]), 2", "tensor([False, False,  True])"), kind="bool",
    aliases=("greater",), refuses=("complex",), numbers="other",
)
ge = pointwise(
    "ge", lambda x, y: x >= y, "``input >= other``.",
    example=("nnkit.tensor([1, 2, 3]), 2", "tensor([False,  True,  True])"), kind="bool",
    aliases=("greater_equal",), refuses=("complex",), numbers="other",
)
logical_and = pointwise(
    "logical_and", lambda x, y: fn.logical_and(x, y), "Both are not zero.",
    example=("nnkit.tensor([0, 1, 2]), nnkit.tensor([0, 0, 5])", "tensor([False, False,  True])"),
    kind="bool", numbers="none",
)
logical_or = pointwise(
    "logical_or", lambda x, y: fn.logical_or(x, y), "At least one is not zero.",
    example=("nnkit.tensor([0, 1, 2]), nnkit.tensor([0, 0, 5])", "tensor([False,  True,  True])"),
    kind="bool", numbers="none",
)
logical_xor = pointwise(
    "logical_xor", lambda x, y: fn.logical_xor(x, y), "Exactly one is not zero.",
    example=("nnkit.tensor([0, 1, 2]), nnkit.tensor([0, 0, 5])", "tensor([False,  True, False])"),
    kind="bool", numbers="none",
)
logical_not = pointwise(
    "logical_not", lambda x: fn.logical_not(x), "Each element is zero.",
    example=("nnkit.tensor([0, 1, 2])", "tensor([ True, False, False])"), kind="bool",
)
isnan = pointwise("isnan", lambda x: fn.isnan(x), "NaN, for each element.",
                  example=(_UNBOUNDED, "tensor([False, False, False,  True])"),
                  kind="bool",
                  out=False, in_place=False)
isinf = pointwise("isinf", lambda x: fn.isinf(x), "Infinite, for each element.",
                  example=(_UNBOUNDED, "tensor([False,  True,  True, False])"),
                  kind="bool",
                  out=False, in_place=False)
isfinite = pointwise("isfinite", lambda x: fn.isfinite(x), "Neither infinite nor NaN.",
                     example=(_UNBOUNDED, "tensor([ True, False, False, False])"),
                     kind="bool", out=False, in_place=False)
_NOT_BOOL = "%s does not support non-boolean outputs, got {got}"
isposinf = pointwise("isposinf", lambda x: fn.eq(x, math.inf), "Positive infinity.",
                     example=(_UNBOUNDED, "tensor([False, False,  True, False])"),
                     kind="bool",
                     in_place=False, refuses=("complex",),
                     out=Out(dtype="same", words=_NOT_BOOL % "isposinf"))
isneginf = pointwise("isneginf", lambda x: fn.eq(x, -math.inf), "Negative infinity.",
                     example=(_UNBOUNDED, "tensor([False,  True, False, False])"),
                     kind="bool",
                     in_place=False, refuses=("complex",),
                     out=Out(dtype="same", words=_NOT_BOOL % "isneginf"))
signbit = pointwise("signbit", lambda x: fn.signbit(x), "The sign bit is set.",
                    example=("nnkit.tensor([-1.0, -0.0, 0.0])", "tensor([ True,  True, False])"),
                    kind="bool",
                    in_place=False, refuses=("complex",), out=Out(dtype="same"))
bitwise_and = pointwise(
    "bitwise_and", lambda x, y: fn.bitwise_and(x, y), "Bits set in both (logic for bool).",
    example=("nnkit.tensor([12, 10]), 6", "tensor([4, 2])"), refuses=("floating", "complex"),
)
bitwise_or = pointwise(
    "bitwise_or", lambda x, y: fn.bitwise_or(x, y), "Bits set in either (logic for bool).",
    example=("nnkit.tensor([12, 10]), 6", "tensor([14, 14])"), refuses=("floating", "complex"),
)
bitwise_xor = pointwise(
    "bitwise_xor", lambda x, y: fn.bitwise_xor(x, y), "Bits set in one of both.",
    example=("nnkit.tensor([12, 10]), 6", "tensor([10, 12])"), refuses=("floating", "complex"),
)
bitwise_not = pointwise(
    "bitwise_not", lambda x: fn.invert(x), "All bits flipped (logical not for bool).",
    example=("nnkit.tensor([0, 5, -1])", "tensor([-1, -6,  0])"), refuses=("floating", "complex"),
    out=Out(dtype="same"),
)
bitwise_left_shift = pointwise(
    "bitwise_left_shift", lambda x, y: fn.left_shift(x, y),
    "Bits moved left: ``input * 2**other``.",
    example=("nnkit.tensor([1, 3]), 2", "tensor([ 4, 12])"),
    refuses=("bool", "floating", "complex"),
)
bitwise_right_shift = pointwise(
    "bitwise_right_shift", lambda x, y: fn.right_shift(x, y), "Bits moved right, sign kept.",
    example=("nnkit.tensor([12, -8]), 2", "tensor([ 3, -2])"),
    refuses=("bool", "floating", "complex"),
)
_where = pointwise(
    "where", lambda condition, x, y: fn.where(condition, x, y), function=False,
    node="WhereBackward0", x=lambda g, condition: fn.where(condition, g, 0),
    y=lambda g, condition: fn.where(condition, 0, g),
)
_attempt_where = attempting(_where, (F4, F8, int64.array), numbers=0b110, masks=0b001)


def _check_tensors_alone(out: Any, arguments: tuple, options: dict) -> None:
    if not all(isinstance(a, Tensor) for a in arguments):
        raise TypeError("where(): argument 'out' requires that all arguments are tensors")


_WRONG_CHOICE = "Expected out type to be {wanted} but got {got}"


@public(
    out=Out(dtype="same", words=_WRONG_CHOICE, prepare=_check_tensors_alone), method=False
)
def where(
    condition: Tensor, input: Tensor | complex | None = None, other: Tensor | complex | None = None
) -> Any:
    """``input`` where ``condition`` holds, else ``other``; with broadcasting and promotion.

    With the condition alone, the same as ``nonzero(condition, as_tuple=True)``.

    Raises:
        TypeError: only one of the values is given.
        RuntimeError: the condition is not a bool (or uint8) tensor.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([-1.0, 2.0])
        >>> nnkit.where(x > 0, x, 0.0)
        tensor([0., 2.])
    """
    for value in (input, other):
        if isinstance(value, (int, float)) and not -FLOAT32_MAX <= value <= FLOAT32_MAX:
            break
    else:
        out = _attempt_where(condition, input, other)
        if out is not None:
            return out
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if input is None or other is None:
        raise TypeError("where(): expected both 'input' and 'other', or neither")
    if not isinstance(condition, Tensor):
        raise TypeError(
            f"where(): argument 'condition' must be Tensor, not {type(condition).__name__}"
        )
    if condition.dtype.category != BOOL:
        if condition.dtype.name != "uint8":
            raise RuntimeError(
                f"where(): expected condition to be a boolean tensor, got {condition.dtype}"
            )
        warn_once("where received a uint8 condition tensor, which is deprecated: use a bool one")
        condition = ne(condition, 0)
    if isinstance(other, Tensor):
        x, y = promote("where", fitting_beside("where", input, other, True), other)
    elif isinstance(input, Tensor):
        x, y = promote("where", input, fitting_beside("where", other, input, True))
    else:
        x, y = promote_numbers(condition, input, other)
    return _where(condition, x, y)


def promote_numbers(like: Tensor, x: Any, y: Any) -> tuple[Tensor, Tensor]:
    """Two numbers as 0-dim tensors of their common dtype, beside ``like``."""
    from nnkit.backend.dtype import of_number, promote_types

    d = promote_types(of_number(x), of_number(y))
    held = [fitting("where", number, d, True) for number in (x, y)]
    one, other = (like._device.backend.full((), number, d.array) for number in held)
    return wrap(one, like._device), wrap(other, like._device)


def where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """``self`` where ``condition`` holds, else ``other``."""
    return where(condition, self, other)


Tensor.where = where_method  # the method's first operand is the value, not the condition


@public
def isreal(input: Tensor) -> Tensor:
    """A mask of the elements that have no imaginary part: all of a real tensor.

    Example:
        >>> import nnkit
        >>> nnkit.isreal(nnkit.tensor([1 + 0j, 1j]))
        tensor([ True, False])
    """
    check_tensor("isreal", input)
    if not input.is_complex():
        return ones_like(input, dtype=bool_)
    return eq(input.imag, 0)


@public
def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """``|input - other| <= atol + rtol * |other|``, element by element.

    Example:
        >>> import nnkit
        >>> nnkit.isclose(nnkit.tensor([1.0, 1.0]), nnkit.tensor([1.0 + 1e-7, 1.1]))
        tensor([ True, False])
    """
    check_tensor("isclose", input)
    check_tensor("isclose", other, "other")
    if input.dtype is not other.dtype:
        raise RuntimeError(f"isclose(): {input.dtype} did not match {other.dtype}")
    for parameter, tolerance in (("rtol", rtol), ("atol", atol)):
        if not tolerance >= 0:
            raise RuntimeError(
                f"isclose(): {parameter} must be greater than or equal to zero, but got {tolerance}"
            )
    same = eq(input, other)
    if equal_nan and input.dtype.category > 1:
        same = logical_or(same, logical_and(isnan(input), isnan(other)))
    if not (rtol or atol):
        return same
    if input.dtype.category < 2:
        input, other = input.double(), other.double()
    difference = (input - other).abs()
    near = le(difference, (other * float(rtol)).abs() + float(atol))
    return logical_or(same, logical_and(isfinite(difference), near))


@public
def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether all elements are close, as `isclose` says.

    Example:
        >>> import nnkit
        >>> nnkit.allclose(nnkit.tensor([1.0]), nnkit.tensor([1.0 + 1e-7]))
        True
    """
    with no_grad():
        return bool(isclose(input, other, rtol, atol, equal_nan).all())


@public
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether both have the same shape and the same elements.

    Example:
        >>> import nnkit
        >>> nnkit.equal(nnkit.tensor([1, 2]), nnkit.tensor([1, 3]))
        False
    """
    if input._array.shape != other._array.shape:
        return False
    return bool(OPS["all"](eq(input, other), None, False).item())
