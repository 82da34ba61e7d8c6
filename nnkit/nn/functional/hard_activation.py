"""Activation functions made of straight pieces, and what all activation functions share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.arguments.dims import check_tensor
from nnkit.autograd.op.out import Out
from nnkit.autograd.op.public import public
from nnkit.autograd.ops.elementwise import activation as ops
from nnkit.autograd.surface.limits import check_numbers, finfo, fitting
from nnkit.autograd.views.writes import check_write, write
from nnkit.backend.dtype import BOOL, COMPLEX, FLOATING, int64

__all__ = [
    "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "hardtanh_", "relu6", "softshrink",
    "threshold", "threshold_",
]  # fmt: skip

hardshrink, threshold_ = ops.hardshrink, ops.threshold_


def floating(name: str, op: Callable, input: Tensor, inplace: bool, *scalars: float) -> Tensor:
    """An op that is defined for floating-point tensors, in place or not; the first of its
    ``scalars`` is the slope on the negative side, or has its sign."""
    if inplace:
        out = ops.written_over(name + "_", op, input, *scalars)
        if out is not None:
            return out
        check_write(input, name + "_")  # torch asks for history and memory before the dtype
    ops.check_floating(name, input)
    check_numbers(name, input.dtype, *scalars)
    if not inplace:
        return op(input, *scalars)
    return write(input, name + "_", ops.in_place_of(op, scalars[0] if scalars else 0), *scalars)


def in_place(function: Callable) -> Any:
    """``function`` with ``inplace=True``, under its name with a final underscore."""
    name = function.__name__

    @functools.wraps(function)
    def call(input: Tensor, *arguments: Any, **options: Any) -> Tensor:
        return function(input, *arguments, **options, inplace=True)

    call.__name__ = call.__qualname__ = name + "_"
    call.__doc__ = f"`{name}`, written into ``input``."
    return call


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(x, 0), 6)``

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.relu6(nnkit.tensor([-1.0, 2.0, 9.0]))
        tensor([0., 2., 6.])
    """
    return hardtanh(input, 0.0, 6.0, inplace)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """``min(max(x, min_val), max_val)``

    Raises:
        ValueError: ``min_val`` is above ``max_val``.
        RuntimeError: ``input`` is bool, or unsigned and a bound is negative.
        NotImplementedError: ``input`` is complex.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.hardtanh(nnkit.tensor([-3.0, 0.5, 3.0]))
        tensor([-1.0000,  0.5000,  1.0000])
    """
    check_tensor("hardtanh", input)
    if min_val > max_val:
        raise ValueError(
            f"hardtanh(): min_val cannot be greater than max_val, got {min_val} and {max_val}"
        )
    if inplace:
        out = ops.written_over("hardtanh_", ops.hardtanh, input, min_val, max_val)
        if out is not None:
            return out
        check_write(input, "hardtanh_")
    if input.dtype.category == COMPLEX:
        raise NotImplementedError(f"hardtanh(): not implemented for '{input.dtype.name}' tensors")
    if input.dtype.category == BOOL:
        raise RuntimeError("Bool inputs not supported for hardtanh")
    if input.dtype.category < FLOATING:
        min_val, max_val = (fitting("hardtanh", bound, int64) for bound in (min_val, max_val))
        if min(min_val, max_val) < 0 and not input.dtype.is_signed:
            raise RuntimeError(
                "hardtanh(): an unsigned input cannot have negative bounds, got "
                f"{min_val} and {max_val}"
            )
    low, high = (fitting("hardtanh", bound, input.dtype) for bound in (min_val, max_val))
    return (
        write(input, "hardtanh_", ops.hardtanh, low, high)
        if inplace
        else ops.hardtanh(input, low, high)
    )


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(x + 3, 0), 6) / 6``

    Raises:
        NotImplementedError: ``input`` is not floating point.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.hardsigmoid(nnkit.tensor([-3.0, 0.0, 1.5]))
        tensor([0.0000, 0.5000, 0.7500])
    """
    return floating("hardsigmoid", ops.hardsigmoid, input, inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * hardsigmoid(x)``

    Howard et al., "Searching for MobileNetV3", 2019.

    Raises:
        NotImplementedError: ``input`` is not floating point.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.hardswish(nnkit.tensor([-3.0, 1.0, 4.0]))
        tensor([-0.0000,  0.6667,  4.0000])
    """
    return floating("hardswish", ops.hardswish, input, inplace)


@public(namespace=False, method=False, out=Out(dtype="same"))
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """``x - lambd`` above ``lambd``, ``x + lambd`` below ``-lambd``, else 0.

    Raises:
        NotImplementedError: ``input`` is not floating point.
        RuntimeError: ``lambd`` is negative.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.softshrink(nnkit.tensor([-1.0, 0.2, 2.0]))
        tensor([-0.5000,  0.0000,  1.5000])
    """
    ops.check_floating("softshrink", input)
    largest = finfo(input.dtype).max
    if not 0 <= lambd <= largest:
        raise RuntimeError(
            f"softshrink(): lambda must be in range [0, {largest:g}] for input dtype "
            f"{input.dtype.scalar_type}, but found {lambd:g}"
        )
    return ops.softshrink(input, float(lambd))


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """``x`` where it is above ``threshold``, else ``value``.

    Raises:
        NotImplementedError: ``input`` is bool or complex.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.threshold(nnkit.tensor([-1.0, 2.0]), 0.0, 7.0)
        tensor([7., 2.])
    """
    return (ops.threshold_ if inplace else ops.threshold)(input, threshold, value)


hardtanh_ = in_place(hardtanh)
