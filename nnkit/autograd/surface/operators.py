"""Python's operators on Tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.autograd.arguments.overriding import NOBODY, Unanswered, ask, overridable
from nnkit.autograd.grad_mode import is_grad_enabled
from nnkit.autograd.op.promotion import OperandError
from nnkit.autograd.op.public import METHODS, attach, known_as
from nnkit.autograd.ops.elementwise import arithmetic, comparison, power
from nnkit.autograd.ops.exchange.interchange import as_tensor
from nnkit.autograd.tensor import Tensor
from nnkit.autograd.views.history import detach_
from nnkit.backend.dtype import INTEGER
from nnkit.backend.warning import warn_once


def _named(function: Callable, name: str) -> None:
    function.__name__ = name
    known_as(function, f"Tensor.{name}")


def _operator(name: str, function: Callable) -> None:
    """``__name__``; an operand of a foreign type gets its chance to answer."""

    def forward(self: Tensor, other: Any) -> Tensor:
        try:
            return function(self, other)
        except Unanswered:
            return NotImplemented
        except TypeError:
            if isinstance(other, Tensor):
                raise
            answered = ask(METHODS.get(name, forward), (self, other))
            return NotImplemented if answered is NOBODY else answered

    _named(forward, f"__{name}__")
    compiled = getattr(function, "compiled", None)
    setattr(Tensor, f"__{name}__", forward if compiled is None else compiled(forward))


def _reflected(name: str, function: Callable) -> None:
    def backward(self: Tensor, other: Any) -> Tensor:
        try:
            return function(other, self)
        except Unanswered:
            return NotImplemented
        except TypeError:
            if isinstance(other, Tensor):
                raise
            return NotImplemented

    _named(backward, f"__r{name}__")
    setattr(Tensor, f"__r{name}__", overridable(backward))


def matmul(self: Tensor, other: Any) -> Any:
    if not isinstance(self, Tensor) or not isinstance(other, Tensor):
        raise OperandError("matmul(): both operands must be Tensors")
    return self.matmul(other)


BINARY: dict[str, Callable] = {
    "add": arithmetic._add, "sub": arithmetic._sub, "mul": arithmetic.mul,
    "truediv": arithmetic._div, "floordiv": arithmetic.floor_divide,
    "mod": arithmetic.remainder, "pow": power.pow, "matmul": matmul,
    "and": comparison.bitwise_and, "or": comparison.bitwise_or, "xor": comparison.bitwise_xor,
    "lshift": comparison.bitwise_left_shift, "rshift": comparison.bitwise_right_shift,
    "div": arithmetic._div,
}  # fmt: skip
for _name, _function in BINARY.items():
    _operator(_name, _function)
    _reflected(_name, _function)
# Of these torch's are the same function, of the tensor first.
Tensor.__radd__, Tensor.__rmul__ = Tensor.__add__, Tensor.__mul__
for _name in ("ne", "lt", "le", "gt", "ge"):
    _operator(_name, getattr(comparison, _name))


def _equal(self: Tensor, other: Any) -> Tensor:
    """``==``, which alone takes NumPy's arrays; ``!=`` of one is Python's, of identity."""
    try:
        return comparison.eq(self, other)
    except OperandError:
        if not hasattr(other, "__array__"):
            raise
        return comparison.eq(self, as_tensor(other))


def _divided(other: Any, self: Tensor) -> Any:
    """``other / self``, as the product with the reciprocal that it is in torch."""
    return arithmetic.reciprocal(self) * other


_operator("eq", _equal)
for _name in ("truediv", "div"):
    _reflected(_name, _divided)

IN_PLACE = {
    "iadd": "add_", "isub": "sub_", "imul": "mul_", "itruediv": "div_", "idiv": "div_",
    "ifloordiv": "floor_divide_", "imod": "remainder_", "ipow": "pow_",
    "iand": "bitwise_and_", "ior": "bitwise_or_", "ixor": "bitwise_xor_",
    "ilshift": "bitwise_left_shift_", "irshift": "bitwise_right_shift_",
}  # fmt: skip
for _name, _method in IN_PLACE.items():
    _operator(_name, METHODS[_method])


def _unary(name: str, function: Callable) -> None:
    def apply(self: Tensor) -> Tensor:
        return function(self)

    _named(apply, f"__{name}__")
    setattr(Tensor, f"__{name}__", apply)


def _inverted(self: Tensor) -> Tensor:
    if self.dtype.category > INTEGER:
        raise TypeError(f"~ is only defined for integer and bool tensors, got {self.dtype}")
    return comparison.bitwise_not(self)


_unary("neg", arithmetic.neg)
_unary("abs", arithmetic.abs)
_unary("invert", _inverted)
_unary("pos", arithmetic.positive)


def item(self: Tensor) -> Any:
    """The value of a one-element tensor as a Python number.

    Example:
        >>> import nnkit
        >>> nnkit.tensor([1.5]).item()
        1.5
    """
    if self._array.size != 1:
        raise RuntimeError(
            f"a Tensor with {self._array.size} elements cannot be converted to Scalar"
        )
    return self._device.backend.item(self._array)


def _bool(self: Tensor) -> bool:
    if self._array.size == 1:
        return bool(item(self))
    if self._array.size == 0:
        raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
    raise RuntimeError(
        "Boolean value of Tensor with more than one value is ambiguous: "
        f"got shape {list(self.shape)}"
    )


def _number(self: Tensor) -> Any:
    if self._array.size != 1:
        raise ValueError(
            "only one element tensors can be converted to Python scalars: "
            f"got shape {list(self.shape)}"
        )
    return item(self)


def _real(self: Tensor) -> Any:
    number = _number(self)
    if not isinstance(number, complex):
        return number
    if number.imag:
        raise RuntimeError(f"value cannot be converted to a real number: got {number}")
    return number.real


def _float(self: Tensor) -> float:
    return float(_constant(self, _real))


def _int(self: Tensor) -> int:
    return int(_real(self))


def _complex(self: Tensor) -> complex:
    return complex(_constant(self, _number))


def _constant(self: Tensor, value: Callable) -> Any:
    """The number that ``value`` gives for a tensor, without a gradient; a warning where the tensor
    requires one."""
    if self.requires_grad and is_grad_enabled():
        warn_once(
            "Converting a tensor with requires_grad=True to a scalar may lead to unexpected "
            "behavior.\nConsider using tensor.detach() first."
        )
    return value(self)


def _index(self: Tensor) -> int:
    if self._array.size != 1 or self.dtype.category > 1:
        raise TypeError(
            "only integer tensors of a single element can be converted to an index: "
            f"got {self.dtype} of shape {list(self.shape)}"
        )
    return int(item(self))


Tensor.detach_ = detach_
Tensor.item = item
for _name, _function in {
    "__bool__": _bool, "__index__": _index, "__float__": _float, "__int__": _int,
    "__complex__": _complex,
}.items():  # fmt: skip
    attach(_name, _function)
