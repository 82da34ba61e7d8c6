"""Translation of primitives into operators of torch: those of ``aten`` that compute the same, or an
operator with the primitive's own name and arguments, such as ``nnkit::layer_norm``.

A rule is the call of an operator, written with the names of the primitive's parameters, or a
function. That gets ``ask``, which calls an operator by its name and overload, and the arguments of
the call, with Tensors in place of arrays; it returns the results as Tensors, or NotImplemented.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import nnkit
from nnkit import Tensor
from nnkit.autograd.tensor import wrap
from nnkit.backend.algebra import Primitive
from nnkit.backend.cost import is_array
from nnkit.backend.dtype import OF_ARRAY
from nnkit.backend.lazy import plain
from nnkit.compat.names._ops import OpOverload, OpOverloadPacket, ops

Ask = Callable[..., Any]  # ask(name, *arguments, **options): the operator's result


def operator(name: str) -> OpOverload:
    """The operator of ``aten`` with a name such as ``add.Tensor``."""
    packet, _, overload = name.partition(".")
    return getattr(getattr(ops.aten, packet), overload or "default")


def translated(
    tensor_of: Callable[[Any], Tensor], primitive: Primitive, arguments: tuple, ask: Callable,
    array_of: Callable[[Tensor], Any],
) -> Any:  # fmt: skip
    """The result of a call at a door, an array or several, computed by operators.

    Args:
        tensor_of: from an array to a Tensor.
        arguments: arrays and statics, as a backend gets them.
        ask: from an `OpOverload`, positional and keyword arguments to its result.
        array_of: from a Tensor to its array.
    """
    tensors = _with_tensors(arguments, tensor_of)
    rule = _rule(primitive)
    result = NotImplemented
    if rule is not None:
        result = rule(lambda name, *args, **named: ask(operator(name), args, named), *tensors)
    if result is NotImplemented:
        result = ask(_own(primitive), tensors, {})
    if primitive.writes and len(primitive.outputs) == 1 and not primitive.sequences:
        return arguments[0]
    return _with_arrays(result, array_of)


def raw(tensor: Tensor) -> Any:
    """The array of an ordinary tensor."""
    return plain(tensor._array)


def _with_tensors(value: Any, tensor_of: Callable[[Any], Tensor]) -> Any:
    if is_array(value):
        return tensor_of(value)
    if isinstance(value, (tuple, list)):
        return type(value)([_with_tensors(each, tensor_of) for each in value])
    return OF_ARRAY.get(value, value) if _is_dtype(value) else value


def _with_arrays(value: Any, array_of: Callable[[Tensor], Any]) -> Any:
    if isinstance(value, Tensor):
        return array_of(value)
    if isinstance(value, (tuple, list)):
        return tuple([_with_arrays(each, array_of) for each in value])
    return value.array if isinstance(value, nnkit.dtype) else value


def _is_dtype(value: Any) -> bool:
    return type(value).__hash__ is not None and not is_array(value) and value in OF_ARRAY


def _own(primitive: Primitive) -> OpOverload:
    """The operator with a primitive's own name."""
    held = vars(getattr(ops, nnkit.__name__))
    if primitive.name not in held:
        run = partial(_run, primitive.name)
        held[primitive.name] = OpOverloadPacket(f"{nnkit.__name__}::{primitive.name}", run)
    return held[primitive.name].default


def _run(name: str, *arguments: Any) -> Any:
    """Call a primitive with Tensors in place of arrays."""
    place = next((t._device for t in _tensors(arguments)), nnkit.device("cpu"))
    result = getattr(place.backend, name)(*map(_given, arguments))
    return _with_tensors(result, lambda array: wrap(array, place))


def _given(value: Any) -> Any:
    if isinstance(value, list):
        return [_given(each) for each in value]
    return _with_arrays(value, raw)


def _tensors(value: Any) -> Any:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from _tensors(each)


# Rules


def _linear(ask: Ask, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    rows = x if x.ndim == 2 else _reshape(ask, x, (-1, x.shape[-1]))
    turned = ask("t", weight)
    out = ask("mm", rows, turned) if bias is None else ask("addmm", bias, rows, turned)
    return out if x.ndim == 2 else _reshape(ask, out, (*x.shape[:-1], weight.shape[0]))


def _linear_grad_weight(ask: Ask, g: Tensor, x: Tensor) -> Tensor:
    g, x = (t if t.ndim == 2 else _reshape(ask, t, (-1, t.shape[-1])) for t in (g, x))
    return ask("mm", ask("t", g), x)


def _matmul(ask: Ask, x: Tensor, y: Tensor) -> Tensor:
    name = {(2, 2): "mm", (3, 3): "bmm", (2, 1): "mv", (1, 1): "dot"}.get((x.ndim, y.ndim))
    same = x.shape[:-2] == y.shape[:-2] or x.ndim < 3
    return ask(name if name and same else "matmul", x, y)


def _reshape(ask: Ask, x: Tensor, shape: tuple) -> Tensor:
    return ask("view" if x.is_contiguous() else "reshape", x, list(shape))


def _conv(
    ask: Ask, x: Tensor, weight: Tensor, bias: Any, stride: Any, padding: Any, dilation: Any,
    groups: int,
) -> Any:  # fmt: skip
    if any(not isinstance(n, int) for n in padding):
        return NotImplemented  # `aten` has no padding that differs at both ends
    none = [0] * len(stride)
    return ask(
        "convolution", x, weight, bias, list(stride), list(padding), list(dilation), False, none,
        groups,
    )  # fmt: skip


def _over(name: str, some: str) -> Callable:
    """The rule of a reduction: all elements, or along some dimensions."""

    def reduce(ask: Ask, x: Tensor, axis: Any, keepdims: bool) -> Tensor:
        if axis is None and not keepdims:
            return ask(name, x)
        return ask(f"{name}.{some}", x, _dims(x, axis), keepdims)

    return reduce


def _over_one(name: str, one: str) -> Callable:
    """The rule of a reduction that goes along one dimension, or all elements."""

    def reduce(ask: Ask, x: Tensor, axis: Any, keepdims: bool) -> Any:
        if axis is None and not keepdims:
            return ask(name, x)
        dims = _dims(x, axis)
        return ask(f"{name}.{one}", x, *dims, keepdims) if len(dims) == 1 else NotImplemented

    return reduce


def _some(axis: Any) -> list[int] | None:
    """The dimensions of a reduction; None for all."""
    return [axis] if isinstance(axis, int) else axis and list(axis)


def _dims(x: Tensor, axis: Any) -> list[int]:
    return list(range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,))


def _norm(ask: Ask, x: Tensor, p: float, axis: Any, keepdims: bool) -> Tensor:
    dims = None if axis is None else _dims(x, axis)
    return ask("linalg_vector_norm", x, p, dims, keepdims)


def _placed(name: str) -> Callable:
    """The rule of a maximum or minimum and its index along one dimension."""

    def call(ask: Ask, x: Tensor, axis: int | None, keepdims: bool) -> Any:
        return NotImplemented if axis is None else ask(name, x, axis, keepdims)

    return call


def _turn(ask: Ask, x: Tensor) -> Tensor:
    return ask("t", x) if x.ndim == 2 else ask("transpose.int", x, -2, -1)


def _swap(ask: Ask, x: Tensor, axis1: int, axis2: int) -> Tensor:
    if x.ndim == 2 and axis1 != axis2:
        return ask("t", x)
    return ask("transpose.int", x, axis1, axis2)


def _filled(ask: Ask, shape: tuple, value: Any, dtype: Any) -> Tensor:
    if value == 1:
        return ask("ones", list(shape), dtype=dtype)
    return ask("full", list(shape), value, dtype=dtype)


def _getitem(ask: Ask, x: Tensor, index: Any) -> Any:
    """Apply the integers and slices of an index one after another."""
    items = index if isinstance(index, tuple) else (index,)
    if not all(i is None or isinstance(i, (int, slice, type(...))) for i in items):
        return NotImplemented
    dim = 0
    for position, item in enumerate(items):
        if item is ...:
            dim = x.ndim - sum(i is not None for i in items[position + 1 :])
        elif item is None:
            x, dim = ask("unsqueeze", x, dim), dim + 1
        elif isinstance(item, slice):
            if item != slice(None):
                start, stop, step = item.indices(x.shape[dim])
                x = ask("slice.Tensor", x, dim, start, stop, step)
            dim += 1
        else:
            x = ask("select.int", x, dim, item)
    return x


def _embedding(
    ask: Ask, weight: Tensor, index: Tensor, padding_idx: int | None, scale_grad_by_freq: bool
) -> Tensor:
    place = -1 if padding_idx is None else padding_idx
    return ask("embedding", weight, index, place, scale_grad_by_freq)


def _compared(name: str) -> Callable:
    def compare(ask: Ask, x: Any, y: Any) -> Tensor:
        return ask(f"{name}.{'Tensor' if isinstance(y, Tensor) else 'Scalar'}", x, y)

    return compare


def _of_reals(rule: Callable) -> Callable:
    """A rule for real arguments alone, since complex ones would have to be conjugated."""

    def call(ask: Ask, *arguments: Any) -> Any:
        if any(isinstance(each, Tensor) and each.is_complex() for each in arguments):
            return NotImplemented
        return rule(ask, *arguments)

    return call


def _index(ask: Ask, x: Tensor, positions: tuple) -> Any:
    indices = _indices(positions)
    return NotImplemented if indices is None else ask("index.Tensor", x, indices)


def _index_put(ask: Ask, x: Tensor, value: Any, positions: tuple, accumulate: bool) -> Any:
    indices = _indices(positions)
    return NotImplemented if indices is None else ask("index_put_", x, indices, value, accumulate)


def _indices(positions: tuple) -> list | None:
    """Positions with None for whole dimensions; None where there are slices."""
    if all(isinstance(i, Tensor) or i == slice(None) for i in positions):
        return [i if isinstance(i, Tensor) else None for i in positions]
    return None


def _clamp(ask: Ask, end: str, x: Tensor, low: Any, high: Any) -> Tensor:
    bounds = [None if abs(each) == math.inf else each for each in (low, high)]
    return ask(f"clamp{end}", x, *bounds) if bounds[1] is not None else ask(f"clamp{end}", x, low)


def _round(ask: Ask, end: str, x: Tensor, finer: float, coarser: float) -> Tensor:
    return ask(f"round{end}.decimals", x, decimals=round(math.log10(finer / coarser)))


def _elu(ask: Ask, end: str, x: Tensor, alpha: Any, *scales: float) -> Any:
    return ask(f"elu{end}", x, alpha) if scales == (1, 1) else NotImplemented


_CALLS = {
    "addmm": "addmm(input, x, y, beta=beta, alpha=alpha)",
    "arange": "arange.start_step(start, stop, step, dtype=dtype)",
    "attention": "_scaled_dot_product_flash_attention_for_cpu("
                 "q, k, v, 0.0, is_causal, attn_mask=mask, scale=scale)",
    "baddbmm": "baddbmm(input, x, y, beta=beta, alpha=alpha)",
    "cast": "_to_copy(x, dtype=dtype)",
    "concat": "cat([*xs], axis)",
    "contiguous": "clone(x, memory_format=nnkit.contiguous_format)",
    "empty": "empty.memory_format([*shape], dtype=dtype)",
    "expand": "expand(x, [*shape])",
    "flip": "flip(x, [*axes])",
    "gather": "gather(x, axis, index)",
    "index_add": "index_add(x, axis, index, source, alpha=alpha)",
    "index_fill": "index_fill.int_Scalar(x, axis, index, value)",
    "index_select": "index_select(x, axis, index)",
    "log_softmax": "_log_softmax(x, axis, False)",
    "permute": "permute(x, [*axes])",
    "relu_grad_x": "threshold_backward(g, out, 0)",
    "roll": "roll(x, shifts, axes or ())",
    "scatter_add": "scatter_add(x, axis, index, source)",
    "softmax": "_softmax(x, axis, False)",
    "split": "split_with_sizes(x, [*sizes], axis)",
    "squeeze": "squeeze.dims(x, [*axes])",
    "stack": "stack([*xs], axis)",
    "tile": "repeat(x, [*repeats])",
    "zeros": "zeros([*shape], dtype=dtype)",
    **{name: f"{name}.correction(x, _some(axis), correction=correction, keepdim=keepdims)"
       for name in ("std", "var", "var_mean")},
    # Of all arguments in their order
    "copy": "clone", "fill_": "fill_.Scalar", "item": "_local_scalar_dense",
    "masked_fill": "masked_fill.Scalar", "mul_grad_x": "mul.Tensor", "mul_grad_y": "mul.Tensor",
    "pow_scalar": "pow.Tensor_Scalar", "unbind": "unbind.int", "view_dtype": "view.dtype",
    "where": "where.self",
    **{name: name for name in (
        "argmax", "argmin", "bmm", "copy_", "cumsum", "diagonal", "dot", "empty_like",
        "masked_select", "mm", "mv", "nonzero", "ones_like", "sort", "topk", "tril", "triu",
        "unfold", "unsqueeze", "zeros_like",
    )},
}  # fmt: skip
_CALLS_OF_FORMULAS = {  # whose in-place forms call the operator's
    "add_scaled": "add.Tensor(x, y, alpha=alpha)", "sub_scaled": "sub.Tensor(x, y, alpha=alpha)",
    "addcdiv": "addcdiv(x, y, z, value=value)", "addcmul": "addcmul(x, y, z, value=value)",
    "div_floor": "div.Tensor_mode(x, y, rounding_mode='floor')",
    "div_trunc": "div.Tensor_mode(x, y, rounding_mode='trunc')",
    "gelu_tanh": "gelu(x, approximate='tanh')", "lerp": "lerp.Tensor", "lerp_near": "lerp.Scalar",
    "lerp_far": "lerp.Scalar", "logit_between": "logit(x, low)", "pow": "pow.Tensor_Tensor",
    **{name: name for name in (
        "clamp_max", "clamp_min", "hardshrink", "hardtanh", "leaky_relu", "nan_to_num",
        "softplus", "softshrink", "threshold",
    )},
}  # fmt: skip
_FUNCTIONS: dict[str, Callable] = {
    "linear": _linear, "linear_grad_weight": _linear_grad_weight, "matmul": _matmul,
    "conv": _conv, "full": _filled, "embedding": _embedding, "norm": _norm, "getitem": _getitem,
    "reshape": _reshape, "view": _reshape, "mT": _turn, "mH": _turn, "swapaxes": _swap,
    "index": _index, "index_put_": _index_put,
    "sum": _over("sum", "dim_IntList"), "mean": _over("mean", "dim"),
    "amax": _over("amax", "default"), "amin": _over("amin", "default"),
    "prod": _over_one("prod", "dim_int"), "all": _over_one("all", "dim"),
    "any": _over_one("any", "dim"), "max": _placed("max.dim"), "min": _placed("min.dim"),
    **{name: _compared(name) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
}  # fmt: skip
# These also get the ending of the operator's name: `_` if in place.
_FUNCTIONS_OF_FORMULAS: dict[str, Callable] = {
    "clamp_between": _clamp,
    "elu": _elu,
    "round_to": _round,
}
# Of real arguments alone, since complex ones would have to be conjugated.
_OF_REALS = frozenset("linear_grad_weight mH mul_grad_x mul_grad_y".split())
_TAKES_NUMBERS = frozenset("add sub mul div remainder fmod bitwise_and bitwise_or".split())


@cache
def _rule(primitive: Primitive) -> Callable | None:
    name, parameters = primitive.name, primitive.parameters
    if name in _CALLS or name in _FUNCTIONS:
        rule = _FUNCTIONS.get(name) or _calling(_CALLS[name], "", parameters)
        return _of_reals(rule) if name in _OF_REALS else rule
    if primitive.subject != "formula":
        return None
    formula = name.removesuffix("_")
    ending = name.removeprefix(formula)
    if formula in _CALLS_OF_FORMULAS:
        return _calling(_CALLS_OF_FORMULAS[formula], ending, parameters)
    function = _FUNCTIONS_OF_FORMULAS.get(formula)
    if function is not None:
        return lambda ask, *arguments: function(ask, ending, *arguments)
    return _formula(primitive, formula)


def _calling(call: str, ending: str, parameters: tuple[str, ...]) -> Callable:
    """The rule that calls an operator as it is written, in place if the ending is ``_``."""
    operator, _, arguments = call.partition("(")
    packet, dot, overload = operator.partition(".")
    arguments = arguments or ", ".join(parameters) + ")"
    return eval(
        f"lambda ask, {', '.join(parameters)}: ask('{packet}{ending}{dot}{overload}', {arguments}"
    )


def _formula(primitive: Primitive, name: str) -> Callable | None:
    """The rule of a formula that torch has an operator for, with its name and its arguments."""
    public = any(hasattr(place, name) for place in (Tensor, nnkit.nn.functional))
    # The weight of `prelu` has another shape here.
    if primitive.statics or not public or "_grad" in name or name == "prelu":
        return None
    takes_numbers = name in _TAKES_NUMBERS

    def call(ask: Ask, *arguments: Any) -> Any:
        if not takes_numbers and not all(isinstance(each, Tensor) for each in arguments):
            return NotImplemented
        return ask(f"{primitive.name}.Tensor" if takes_numbers else primitive.name, *arguments)

    return call
