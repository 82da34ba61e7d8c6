"""The functions of torch that do one thing with each tensor of a list, ``torch._foreach_add``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nnkit
from nnkit import Tensor

_UNARY = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 "
    "neg reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc zero"
)
_OTHERS = "add sub mul div pow lerp addcdiv addcmul clamp_min clamp_max maximum minimum copy"
_CLAMPS = {"maximum": "clamp_min", "minimum": "clamp_max"}  # by a number


def _for(value: Any, index: int) -> Any:
    return value[index] if isinstance(value, (list, tuple)) else value


def _of_each(name: str) -> Callable:
    inplace = name.endswith("_")

    def one(tensor: Tensor, args: tuple, kwargs: dict) -> Any:
        own = name.rstrip("_")
        if own in _CLAMPS and args and not isinstance(args[0], Tensor):
            own = _CLAMPS[own]
        method = getattr(tensor, own + "_" * inplace, None)
        if method is None:  # `maximum_` is torch's only here
            return tensor.copy_(getattr(tensor, own)(*args, **kwargs))
        if own in ("addcdiv", "addcmul") and len(args) == 3:
            return method(*args[:2], value=args[2])
        return method(*args, **kwargs)

    def of_each(self: Any, *args: Any, **kwargs: Any) -> tuple[Tensor, ...] | None:
        with_index = [
            one(tensor, tuple(_for(a, index) for a in args), kwargs)
            for index, tensor in enumerate(self)
        ]
        return None if inplace else tuple(with_index)

    of_each.__name__ = f"_foreach_{name}"
    return of_each


def _foreach_norm(self: Any, ord: Any = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    return tuple(nnkit.linalg.vector_norm(tensor, ord, dtype=dtype) for tensor in self)


def _foreach_max(self: Any) -> tuple[Tensor, ...]:
    return tuple(tensor.max() for tensor in self)


FUNCTIONS = {"_foreach_norm": _foreach_norm, "_foreach_max": _foreach_max}
for _name in f"{_UNARY} {_OTHERS}".split():
    for _each in (_name, f"{_name}_"):
        if _each not in ("zero", "copy"):
            FUNCTIONS[f"_foreach_{_each}"] = _of_each(_each)
