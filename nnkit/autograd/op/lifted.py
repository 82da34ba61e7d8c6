"""The algebra on Tensors: with it as ``B``, whatever is written over ``B`` can be differentiated.

A primitive is looked up as an op (its rules make a node), then as a formula (evaluated with Tensor
ops), then as a reference body (run with this algebra), and last as a primitive without a gradient
(comparisons, index computations).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from nnkit.autograd.batch.examples import BatchLevel
from nnkit.autograd.op.promotion import kernel_asked, on_one_device
from nnkit.autograd.op.registry import OPS, Lifted
from nnkit.autograd.tensor import Tensor, on_its_own, wrap
from nnkit.autograd.views.overlap import shares_memory
from nnkit.backend.algebra import CATALOGUE, FORMULAS, Primitive, reference_body
from nnkit.backend.dtype import HALF
from nnkit.backend.formula import Formula, interpret
from nnkit.backend.lazy import is_zero, plain
from nnkit.backend.memory import by_rows, has_order_of


def _find(self: Any, name: str) -> Callable[..., Any]:
    """The function on Tensors for a primitive."""
    if name in OPS:
        return OPS[name]
    if name in FORMULAS:
        return partial(_evaluate, self, FORMULAS[name])
    if name not in CATALOGUE:
        raise AttributeError(f"no primitive {name!r} in the algebra")
    primitive = CATALOGUE[name]
    body = None if primitive.constant or primitive.writes else reference_body(primitive)
    return partial(_follow, self, name, body) if body is not None else _constant(primitive)


def _evaluate(algebra: Lifted, formula: Formula, *values: Any) -> Any:
    """The result of a formula on Tensors, with the history of its steps."""
    known = dict(zip(formula.parameters, values, strict=True))
    out = interpret(formula.trace(), known, algebra)[0]
    if any(map(_lies_otherwise, values)) or (_is_half(out) and not formula.stepwise):
        return _as_the_kernel((out,), formula.name, values)[0]
    return out


def _follow(algebra: Lifted, name: str, body: Callable, *values: Any) -> Any:
    """The result of a reference body on Tensors, with the history of its steps."""
    out = body(algebra, *values)
    several = isinstance(out, tuple)
    outputs = out if several else (out,)
    if not any(CATALOGUE[name].shares.values()):
        for each in outputs:
            _own(each, values)
    if not any(map(_is_half, values)):
        return out
    outputs = _as_the_kernel(outputs, name, values)
    return outputs if several else outputs[0]


def _own(out: Any, values: tuple) -> None:
    """Make sure that a result is not a view of an intermediate result, like that of a kernel."""
    parts = [v if v.__class__ in (tuple, list) else (v,) for v in values]
    given = [v for part in parts for v in part if isinstance(v, Tensor)]
    while isinstance(out, Tensor):
        if out._base is not None and not any(shares_memory(out, v) for v in given):
            on_its_own(out)
        out = _all_examples(out)
        given = [v if (whole := _all_examples(v)) is None else whole for v in given]


def _all_examples(value: Tensor) -> Tensor | None:
    """For the tensor of one example inside `vmap`, the tensor of the whole batch."""
    return value._device.lower(value)[0] if isinstance(value._device, BatchLevel) else None


def _is_half(value: Any) -> bool:
    return isinstance(value, Tensor) and value._array.dtype in HALF


def _lies_otherwise(value: Any) -> bool:
    if not isinstance(value, Tensor) or value._device.depth:
        return False
    array = plain(value._array)
    return not is_zero(array) and not by_rows(array)


def _as_the_kernel(outputs: tuple, name: str, values: tuple) -> tuple:
    """Replace results computed step by step by what the kernel computes, as it is without a graph:
    in the kernel's memory order and, in half precision, rounded once."""
    device = next(out._device for out in outputs if out is not None)
    if device.depth or kernel_asked(name, *values):  # the history is that of the tensors below
        return outputs
    if any(out is value for out in outputs for value in values if out is not None):
        return outputs
    whole = getattr(device.backend, name)(*map(_raw, values))
    arrays = whole if isinstance(whole, tuple) else (whole,)
    return tuple(map(_as_computed, outputs, arrays))


def _as_computed(out: Any, array: Any) -> Any:
    if out is None or array is None or is_zero(out._array):
        return out
    if array.dtype not in HALF and has_order_of(array, out._array):
        return out
    if out._array.dtype != array.dtype:
        out = OPS["cast"](out, array.dtype)
    if out._base is None and array.shape == out._array.shape:
        out._array = array
    return out


def _raw(value: Any) -> Any:
    if isinstance(value, Tensor):
        return plain(value._array)
    return type(value)(map(_raw, value)) if value.__class__ in (tuple, list) else value


def _constant(primitive: Primitive) -> Callable[..., Any]:
    """A primitive without derivatives, as a function that returns tensors without history."""
    name = primitive.name

    def apply(*arguments: Any) -> Any:
        arguments = on_one_device(name, arguments)
        device = next((a._device for a in arguments if isinstance(a, Tensor)), None)
        if device is None:
            raise TypeError(f"{name}: the lifted algebra needs a Tensor argument to find a device")
        raw = [a._array if isinstance(a, Tensor) else a for a in arguments]
        result = getattr(device.backend, name)(*raw)
        if primitive.tells:
            return result
        if isinstance(result, tuple):
            return tuple(wrap(r, device) for r in result)
        return wrap(result, device)

    return apply


Lifted._find = _find
