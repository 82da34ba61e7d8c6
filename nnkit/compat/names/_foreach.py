"""Functions that apply an operation to each tensor of a list, such as ``torch._foreach_add``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nnkit
from nnkit import Tensor
from nnkit.autograd.grad_mode import capturing

_UNARY = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 "
    "neg reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc zero"
)
_OTHERS = "add sub mul div pow lerp addcdiv addcmul clamp_min clamp_max maximum minimum copy"
_PURE = "clone max mm"  # of which there is no form in place
_CLAMPS = {"maximum": "clamp_min", "minimum": "clamp_max"}  # by a number
_OPTIONS = ("alpha", "memory_format", "non_blocking")  # for all tensors; each other is an operand


def _check_list(self: Any) -> int:
    if not len(self):
        raise RuntimeError("Tensor list must have at least one tensor.")
    return len(self)


def _each_of(value: Any, count: int) -> list:
    """An operand for each of ``count`` tensors."""
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        if value and isinstance(value[0], Tensor):
            raise RuntimeError(
                f"Tensor lists must have the same number of tensors, got {count} and {len(value)}"
            )
        raise RuntimeError("Tensor list must have same number of elements as scalar list.")
    return list(value)


def _packed(scalars: Tensor, count: int) -> list:
    """The numbers in a tensor, of which each of ``count`` tensors gets one."""
    if scalars.ndim != 1:
        raise RuntimeError(
            f"Expected packed scalar Tensor to be of dimension 1. Got {scalars.ndim} instead."
        )
    if len(scalars) != count:
        raise RuntimeError(
            f"Expected length of scalars to match input of length {count} "
            f"but got {len(scalars)} instead."
        )
    return scalars.tolist()


def _of_each(name: str) -> Callable:
    own = name.removesuffix("_")
    inplace = own != name

    def one(tensor: Tensor, args: tuple, options: dict) -> Any:
        if not isinstance(tensor, Tensor):  # a number to the power of each
            return getattr(nnkit, own)(tensor, *args)
        clamps = own in _CLAMPS and not isinstance(args[0], Tensor)
        method = getattr(tensor, (_CLAMPS[own] if clamps else own) + "_" * inplace, None)
        if method is None:  # `maximum_` is torch's only here
            return tensor.copy_(getattr(tensor, own)(*args, **options))
        if own in ("addcdiv", "addcmul") and len(args) == 3:
            return method(*args[:2], value=args[2])
        return method(*args, **options)

    @capturing(None)
    def of_each(self: Any, *args: Any, **given: Any) -> Any:
        args = (*args, *[value for key, value in given.items() if key not in _OPTIONS])
        options = {key: value for key, value in given.items() if key in _OPTIONS}
        if own == "pow" and not isinstance(self, (list, tuple)):
            self = [self] * _check_list(args[0])
        count = _check_list(self)
        if own in ("addcdiv", "addcmul") and isinstance(args[-1], Tensor):
            args = (*args[:-1], _packed(args[-1], count))
        operands = zip(*[_each_of(value, count) for value in args]) if args else [()] * count
        results = [one(t, a, options) for t, a in zip(self, operands, strict=True)]
        return self if inplace else tuple(results)

    of_each.__name__ = f"_foreach_{name}"
    return of_each


def _foreach_norm(self: Any, ord: Any = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    _check_list(self)
    return tuple([nnkit.linalg.vector_norm(tensor, ord, dtype=dtype) for tensor in self])


def _foreach_powsum(self: Any, ord: Any = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    _check_list(self)
    return tuple([tensor.abs().pow(ord).sum(dtype=dtype) for tensor in self])


FUNCTIONS = {"_foreach_norm": _foreach_norm, "_foreach_powsum": _foreach_powsum}
for _name in f"{_UNARY} {_OTHERS} {_PURE}".split():
    for _each in (_name, f"{_name}_"):
        if _each not in ("zero", "copy", *[f"{pure}_" for pure in _PURE.split()]):
            FUNCTIONS[f"_foreach_{_each}"] = _of_each(_each)
