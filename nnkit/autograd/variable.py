"""Old spellings that still work, each with a DeprecationWarning that names its successor.

The names of early PyTorch: ``Variable``, ``creator``, ``volatile``, ``grad_variables=``.
"""

from __future__ import annotations

import warnings
from typing import Any

from nnkit.autograd.engine.backward import ExecutionEngine
from nnkit.autograd.tensor import Tensor


def deprecated(old: str, new: str, stacklevel: int = 3) -> None:
    """Warn that ``old`` is now spelled ``new``."""
    warnings.warn(f"{old} is deprecated: use {new}", DeprecationWarning, stacklevel=stacklevel)


class _VariableType(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_VariableType):
    """The old name of a Tensor that takes part in a graph; today every Tensor does.

    Args:
        data: a Tensor; the result is a new leaf on its memory.
        requires_grad: whether gradients with respect to it are wanted.
        volatile: deprecated; true means ``requires_grad=False``.

    Example:
        >>> import warnings, nnkit
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     nnkit.autograd.Variable(nnkit.ones(2), requires_grad=True)
        tensor([1., 1.], requires_grad=True)
    """

    _execution_engine = ExecutionEngine()

    def __new__(cls, data: Tensor, requires_grad: bool = False, volatile: Any = None) -> Any:
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        deprecated("Variable(tensor)", "the tensor itself, with requires_grad_()")
        if volatile is not None:
            deprecated("volatile=", "nnkit.no_grad()")
            if volatile and requires_grad:
                raise ValueError("Variable can't be volatile and require_grad at the same time!")
        variable = data.detach()
        variable.requires_grad_(requires_grad)
        return variable


def _creator(self: Tensor) -> Any:
    """Deprecated name of ``grad_fn``."""
    deprecated("Tensor.creator", "Tensor.grad_fn")
    return self.grad_fn


def _volatile(self: Tensor) -> bool:
    """Deprecated: whether the tensor takes no part in a graph."""
    deprecated("Tensor.volatile", "requires_grad, or nnkit.no_grad()")
    return False


for _name, _function in (("creator", _creator), ("volatile", _volatile)):
    setattr(Tensor, _name, property(_function))
