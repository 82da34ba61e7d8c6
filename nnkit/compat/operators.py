"""Translation of primitives into operators of torch: those of ``aten`` that compute the same, or an
operator with the primitive's own name and arguments, such as ``nnkit::layer_norm``.

A rule gets ``ask``, which calls an operator by its name and overload, and the arguments of the
call, with Tensors in place of arrays; it returns the results as Tensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
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


def _addmm(ask: Ask, input: Tensor, x: Tensor, y: Tensor, beta: Any, alpha: Any) -> Tensor:
    return ask("addmm", input, x, y, beta=beta, alpha=alpha)


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


def _dims(x: Tensor, axis: Any) -> list[int]:
    return list(range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,))


def _norm(ask: Ask, x: Tensor, p: float, axis: Any, keepdims: bool) -> Tensor:
    dims = None if axis is None else _dims(x, axis)
    return ask("linalg_vector_norm", x, p, dims, keepdims)


def _spread(name: str) -> Callable:
    """The rule of a variance or deviation, along some dimensions or None for all."""

    def call(ask: Ask, x: Tensor, axis: Any, correction: Any, keepdims: bool) -> Any:
        dims = [axis] if isinstance(axis, int) else axis and list(axis)
        return ask(f"{name}.correction", x, dims, correction=correction, keepdim=keepdims)

    return call


def _placed(name: str) -> Callable:
    """The rule of a maximum or minimum and its index along one dimension."""

    def call(ask: Ask, x: Tensor, axis: int | None, keepdims: bool) -> Any:
        return NotImplemented if axis is None else ask(name, x, axis, keepdims)

    return call


def _along(name: str) -> Callable:
    def call(ask: Ask, x: Tensor, axis: int) -> Tensor:
        return ask(name, x, axis, False)

    return call


def _turn(ask: Ask, x: Tensor) -> Tensor:
    return ask("t", x) if x.ndim == 2 else ask("transpose.int", x, -2, -1)


def _swap(ask: Ask, x: Tensor, axis1: int, axis2: int) -> Tensor:
    if x.ndim == 2 and axis1 != axis2:
        return ask("t", x)
    return ask("transpose.int", x, axis1, axis2)


def _cast(ask: Ask, x: Tensor, dtype: Any) -> Tensor:
    return ask("_to_copy", x, dtype=dtype)


def _filled(ask: Ask, shape: tuple, value: Any, dtype: Any) -> Tensor:
    if value == 1:
        return ask("ones", list(shape), dtype=dtype)
    return ask("full", list(shape), value, dtype=dtype)


def _made(name: str) -> Callable:
    def make(ask: Ask, shape: tuple, dtype: Any) -> Tensor:
        return ask(name, list(shape), dtype=dtype)

    return make


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


def _attention(
    ask: Ask, q: Tensor, k: Tensor, v: Tensor, mask: Any, is_causal: bool, scale: Any
) -> Any:
    name = "_scaled_dot_product_flash_attention_for_cpu"
    return ask(name, q, k, v, 0.0, is_causal, attn_mask=mask, scale=scale)


def _embedding(
    ask: Ask, weight: Tensor, index: Tensor, padding_idx: int | None, scale_grad_by_freq: bool
) -> Tensor:
    place = -1 if padding_idx is None else padding_idx
    return ask("embedding", weight, index, place, scale_grad_by_freq)


def _compared(name: str) -> Callable:
    def compare(ask: Ask, x: Any, y: Any) -> Tensor:
        return ask(f"{name}.{'Tensor' if isinstance(y, Tensor) else 'Scalar'}", x, y)

    return compare


def _same(name: str) -> Callable:
    """The rule of a primitive with the arguments of an operator of torch."""

    def call(ask: Ask, *arguments: Any) -> Any:
        return ask(name, *arguments)

    return call


def _of_reals(rule: Callable) -> Callable:
    """A rule for real arguments alone, since complex ones would have to be conjugated."""

    def call(ask: Ask, *arguments: Any) -> Any:
        if any(isinstance(each, Tensor) and each.is_complex() for each in arguments):
            return NotImplemented
        return rule(ask, *arguments)

    return call


_RULES: dict[str, Callable] = {
    "linear": _linear, "linear_grad_weight": _of_reals(_linear_grad_weight), "matmul": _matmul,
    "addmm": _addmm, "conv": _conv, "cast": _cast, "full": _filled,
    "zeros": _made("zeros"), "empty": _made("empty.memory_format"),
    "sum": _over("sum", "dim_IntList"), "mean": _over("mean", "dim"),
    "softmax": _along("_softmax"), "log_softmax": _along("_log_softmax"),
    "reshape": _reshape, "view": _reshape, "mT": _turn, "swapaxes": _swap,
    "permute": lambda ask, x, axes: ask("permute", x, list(axes)),
    "expand": lambda ask, x, shape: ask("expand", x, list(shape)),
    "index": lambda ask, x, positions: ask("index.Tensor", x, [
        None if isinstance(i, slice) else i for i in positions
    ]) if all(isinstance(i, Tensor) or i == slice(None) for i in positions) else NotImplemented,
    "index_put_": lambda ask, x, value, positions, accumulate: ask(
        "index_put_", x, [None if isinstance(i, slice) else i for i in positions], value, accumulate
    ) if all(isinstance(i, Tensor) or i == slice(None) for i in positions) else NotImplemented,
    "flip": lambda ask, x, axes: ask("flip", x, list(axes)),
    "index_select": lambda ask, x, index, axis: ask("index_select", x, axis, index),
    "gather": lambda ask, x, index, axis: ask("gather", x, axis, index),
    "scatter_add": lambda ask, x, index, src, axis: ask("scatter_add", x, axis, index, src),
    "index_add": lambda ask, x, index, source, axis, alpha: ask(
        "index_add", x, axis, index, source, alpha=alpha
    ),
    "tile": lambda ask, x, repeats: ask("repeat", x, list(repeats)),
    **{name: _same(name) for name in (
        "cumsum", "nonzero", "masked_select", "sort", "topk", "tril", "triu", "argmax", "argmin",
    )},
    "max": _placed("max.dim"), "min": _placed("min.dim"),
    **{name: _spread(name) for name in ("var", "std", "var_mean")},
    "concat": lambda ask, xs, axis: ask("cat", list(xs), axis),
    "stack": lambda ask, xs, axis: ask("stack", list(xs), axis),
    "copy": _same("clone"), "copy_": _same("copy_"), "fill_": _same("fill_.Scalar"),
    "item": _same("_local_scalar_dense"), "mm": _same("mm"), "bmm": _same("bmm"),
    "mv": _same("mv"), "dot": _same("dot"), "unsqueeze": _same("unsqueeze"),
    "zeros_like": _same("zeros_like"), "ones_like": _same("ones_like"),
    "empty_like": _same("empty_like"), "masked_fill": _same("masked_fill.Scalar"),
    "relu_grad_x": lambda ask, g, out: ask("threshold_backward", g, out, 0),
    "mul_grad_x": _of_reals(_same("mul.Tensor")), "mul_grad_y": _of_reals(_same("mul.Tensor")),
    "getitem": _getitem, "attention": _attention, "embedding": _embedding,
    "prod": _over_one("prod", "dim_int"), "all": _over_one("all", "dim"),
    "any": _over_one("any", "dim"), "norm": _norm,
    "squeeze": lambda ask, x, axes: ask("squeeze.dims", x, list(axes)),
    "roll": lambda ask, x, shifts, axes: ask("roll", x, shifts, axes or ()),
    "contiguous": lambda ask, x: ask("clone", x, memory_format=nnkit.contiguous_format),
    "baddbmm": lambda ask, input, x, y, beta, alpha: ask(
        "baddbmm", input, x, y, beta=beta, alpha=alpha),
    "unfold": _same("unfold"), "diagonal": _same("diagonal"), "view_dtype": _same("view.dtype"),
    "index_fill": lambda ask, x, index, axis, value: ask(
        "index_fill.int_Scalar", x, axis, index, value),
    "arange": lambda ask, start, stop, step, dtype: ask(
        "arange.start_step", start, stop, step, dtype=dtype),
    "amax": _over("amax", "default"), "amin": _over("amin", "default"), "mH": _of_reals(_turn),
    "where": _same("where.self"), "pow_scalar": _same("pow.Tensor_Scalar"),
    "unbind": _same("unbind.int"), "split": lambda ask, x, sizes, axis: ask(
        "split_with_sizes", x, list(sizes), axis),
    **{name: _compared(name) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
}  # fmt: skip
_TAKES_NUMBERS = frozenset("add sub mul div remainder fmod bitwise_and bitwise_or".split())


def _clamp(ask: Ask, end: str, x: Tensor, low: Any, high: Any) -> Tensor:
    bounds = [None if abs(each) == math.inf else each for each in (low, high)]
    return ask(f"clamp{end}", x, *bounds) if bounds[1] is not None else ask(f"clamp{end}", x, low)


def _round(ask: Ask, end: str, x: Tensor, finer: float, coarser: float) -> Tensor:
    return ask(f"round{end}.decimals", x, decimals=round(math.log10(finer / coarser)))


def _elu(ask: Ask, end: str, x: Tensor, alpha: Any, *scales: float) -> Any:
    return ask(f"elu{end}", x, alpha) if scales == (1, 1) else NotImplemented


def _by_name(operator: str, *names: str, **more: Any) -> Callable:
    """The rule of a formula whose last arguments an operator takes by name."""
    packet, dot, overload = operator.partition(".")

    def call(ask: Ask, end: str, *arguments: Any) -> Tensor:
        count = len(arguments) - len(names)
        named = dict(zip(names, arguments[count:], strict=True), **more)
        return ask(f"{packet}{end}{dot}{overload}", *arguments[:count], **named)

    return call


_FORMULAS: dict[str, Callable] = {  # by the name of a formula, without the `_` of in-place ones
    "add_scaled": _by_name("add.Tensor", "alpha"), "sub_scaled": _by_name("sub.Tensor", "alpha"),
    "addcmul": _by_name("addcmul", "value"), "addcdiv": _by_name("addcdiv", "value"),
    "lerp": _by_name("lerp.Tensor"), "lerp_near": _by_name("lerp.Scalar"),
    "lerp_far": _by_name("lerp.Scalar"), "gelu_tanh": _by_name("gelu", approximate="tanh"),
    "pow": _by_name("pow.Tensor_Tensor"),
    "div_floor": _by_name("div.Tensor_mode", rounding_mode="floor"),
    "div_trunc": _by_name("div.Tensor_mode", rounding_mode="trunc"),
    **{name: _by_name(name) for name in (
        "clamp_min", "clamp_max", "hardshrink", "hardtanh", "leaky_relu", "nan_to_num",
        "softplus", "softshrink", "threshold",
    )},
    "clamp_between": _clamp, "elu": _elu, "round_to": _round,
    "logit_between": lambda ask, end, x, low, high: ask(f"logit{end}", x, low),
}  # fmt: skip


def _rule(primitive: Primitive) -> Callable | None:
    found = _RULES.get(primitive.name)
    if found is not None or primitive.subject != "formula":
        return found
    name = primitive.name.removesuffix("_")
    if name in _FORMULAS:
        end = primitive.name.removeprefix(name)
        return lambda ask, *arguments: _FORMULAS[name](ask, end, *arguments)
    if primitive.statics:
        return None
    public = any(hasattr(place, name) for place in (Tensor, nnkit.nn.functional))
    if not public or "_grad" in name or name == "prelu":  # whose weight has another shape here
        return None
    return _formula(primitive.name, name in _TAKES_NUMBERS)


def _formula(name: str, takes_numbers: bool) -> Callable:
    def call(ask: Ask, *arguments: Any) -> Any:
        if not takes_numbers and not all(isinstance(each, Tensor) for each in arguments):
            return NotImplemented
        return ask(f"{name}.Tensor" if takes_numbers else name, *arguments)

    return call
