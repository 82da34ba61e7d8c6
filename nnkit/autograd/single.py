"""Functions that are one operation in torch, and several here.

Torch's autograd knows nothing of inference tensors, but an operation that a tensor it knows takes
part in is recorded with all of its operands. What is made of several ops would ask that of each of
them: so `single` answers for all.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from nnkit.autograd.grad_mode import MODE, no_grad
from nnkit.autograd.op import Guard, refusal
from nnkit.autograd.tensor import InferenceWrites, SeenWrites, Tensor, wrap


def single(function: Callable | None = None, *, alone: str | None = None, name: str = "") -> Any:
    """Declare a function of Tensors to be one operation for torch's autograd.

    Args:
        alone: what torch does where all tensors are inference tensors, as of `rule`: None does
            not record it, ``"recorded"`` does, ``"refused"`` raises a RuntimeError if one requires
            grad.
        name: what a message calls it.
    """
    if function is None:
        return functools.partial(single, alone=alone, name=name)

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        if MODE.enabled:
            given = [*_tensors(arguments), *_tensors(options.values())]
            unseen = [t._writes.__class__ is InferenceWrites for t in given]
            if True in unseen:
                if all(unseen) and alone != "recorded":
                    if alone and any(t._requires_grad for t in given):
                        raise RuntimeError(refusal(name or function.__name__))
                    with no_grad():
                        return function(*arguments, **options)
                arguments = tuple(map(seen, arguments))
                options = {name: seen(value) for name, value in options.items()}
        return function(*arguments, **options)

    return call


def _tensors(values: Any) -> list[Tensor]:
    """The tensors among arguments, and in lists of them."""
    parts = [v if v.__class__ in (list, tuple) else (v,) for v in values]
    return [t for part in parts for t in part if isinstance(t, Tensor)]


def seen(value: Any) -> Any:
    """An inference tensor as autograd sees it beside others: with its history, not to be saved."""
    if value.__class__ in (list, tuple):
        return type(value)(map(seen, value))
    if not isinstance(value, Tensor) or value._writes.__class__ is not InferenceWrites:
        return value
    out = wrap(value._data, value._device)
    out._writes = SeenWrites()
    if value._requires_grad:
        out._requires_grad = True
        out._edge = Guard((value._edge or value,), (), value._device)
    return out
