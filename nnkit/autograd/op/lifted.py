"""The algebra on Tensors, so that whatever is written over ``B`` can be differentiated.

A name is looked up as an op (its own rules make a node), then as a formula (its expression is
evaluated with Tensor ops), then as a reference body (run with this algebra), and last as a
primitive that no gradient passes through (comparisons, index computations).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from nnkit.autograd.op.promotion import on_one_device
from nnkit.autograd.op.registry import OPS, Lifted
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.backend.algebra import CATALOGUE, FORMULAS, Primitive, reference_body
from nnkit.backend.dtype import HALF
from nnkit.backend.formula import Formula, interpret
from nnkit.backend.lazy import is_zero, plain


def _find(self: Any, name: str) -> Callable[..., Any]:
    """A name of the algebra as a function on Tensors."""
    if name in OPS:
        return OPS[name]
    if name in FORMULAS:
        return partial(_evaluate, self, FORMULAS[name])
    if name not in CATALOGUE:
        raise AttributeError(f"no primitive {name!r} in the algebra")
    primitive = CATALOGUE[name]
    body = None if primitive.constant or primitive.writes else reference_body(primitive)
    return partial(body, self) if body is not None else _constant(primitive)


def _evaluate(algebra: Lifted, formula: Formula, *values: Any) -> Any:
    """The result of a formula on Tensors, with the history of its steps."""
    known = dict(zip(formula.parameters, values, strict=True))
    out = interpret(formula.trace(), known, algebra)[0]
    steps = formula.stepwise or out._data.dtype not in HALF or out._device.depth
    steps = steps or is_zero(out._data)
    if not steps and not any(out is value for value in values):
        arrays = [plain(v._data) if isinstance(v, Tensor) else v for v in values]
        whole = getattr(out._device.backend, formula.name)(*arrays)  # which rounds once
        if whole.shape == out._data.shape:
            out._data = whole
    return out


def _constant(primitive: Primitive) -> Callable[..., Any]:
    """A primitive without derivatives: runs on the data, gives tensors without history."""
    name = primitive.name

    def apply(*arguments: Any) -> Any:
        arguments = on_one_device(name, arguments)
        device = next((a._device for a in arguments if isinstance(a, Tensor)), None)
        if device is None:
            raise TypeError(f"{name}: the lifted algebra needs a Tensor argument to find a device")
        raw = [a._data if isinstance(a, Tensor) else a for a in arguments]
        result = getattr(device.backend, name)(*raw)
        if primitive.tells:
            return result
        if isinstance(result, tuple):
            return tuple(wrap(r, device) for r in result)
        return wrap(result, device)

    return apply


Lifted._find = _find
