"""Translations of element-wise functions."""

from __future__ import annotations

import math
from typing import Any

from nnkit.backend.dtype import bool_, float32, int64, promote_types
from nnkit.onnx.writer import Meta, Value, Writer, refuse, result_type, translates

_UNARY = {
    "abs": "Abs", "neg": "Neg", "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "sin": "Sin",
    "cos": "Cos", "tan": "Tan", "tanh": "Tanh", "sigmoid": "Sigmoid", "erf": "Erf",
    "floor": "Floor", "ceil": "Ceil", "round": "Round", "sign": "Sign", "relu": "Relu",
    "reciprocal": "Reciprocal", "logical_not": "Not", "bitwise_not": "Not", "__invert__": "Not",
    "__neg__": "Neg", "isnan": "IsNaN", "isinf": "IsInf", "softsign": "Softsign", "mish": "Mish",
    "__abs__": "Abs", "atan": "Atan", "asin": "Asin", "acos": "Acos", "sinh": "Sinh",
    "cosh": "Cosh", "contiguous": "Identity", "clone": "Identity", "detach": "Identity",
    "dropout": "Identity", "dropout1d": "Identity", "dropout2d": "Identity",
    "dropout3d": "Identity", "alpha_dropout": "Identity", "feature_alpha_dropout": "Identity",
    "positive": "Identity", "hardswish": "HardSwish",
}  # fmt: skip
_FLOAT_UNARY = frozenset(("Exp", "Log", "Sqrt", "Tanh", "Sigmoid", "Erf", "Reciprocal"))
_ARITHMETIC = {"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "pow": "Pow"}
_COMPARISONS = {
    "eq": "Equal",
    "lt": "Less",
    "le": "LessOrEqual",
    "gt": "Greater",
    "ge": "GreaterOrEqual",
}


def _unary(kind: str) -> Any:
    def translate(w: Writer, meta: Meta, input: Value, *args: Any, **kwargs: Any) -> Value:
        if kind in _FLOAT_UNARY:
            input = w.cast(input, result_type(meta, input.dtype))
        return w.call(kind, input)

    return translate


for _name, _kind in _UNARY.items():
    translates(_name)(_unary(_kind))


def _arithmetic(kind: str, swapped: bool) -> Any:
    def translate(
        w: Writer, meta: Meta, input: Any, other: Any, *, alpha: Any = 1, **options: Any
    ) -> Any:
        if options.get("rounding_mode") is not None:
            raise refuse("a division that rounds")
        if "number" in meta:  # of sizes
            result = int64 if isinstance(meta["number"], int) else float32
        else:
            result = result_type(meta, int64)
        one, two = w.operand(input, result), w.operand(other, result)
        if alpha != 1:
            two = w.call("Mul", two, w.operand(alpha, result))
        return w.call(kind, *((two, one) if swapped else (one, two)))

    return translate


for _name, _kind in _ARITHMETIC.items():
    translates(_name)(_arithmetic(_kind, False))
    translates(f"__r{_name}__")(_arithmetic(_kind, True))
translates("multiply")(_arithmetic("Mul", False))
translates("divide", "true_divide", "truediv", "__truediv__")(_arithmetic("Div", False))
translates("__rtruediv__")(_arithmetic("Div", True))
translates("subtract")(_arithmetic("Sub", False))
translates("mod")(_arithmetic("Mod", False))
translates("floordiv")(_arithmetic("Div", False))  # of sizes, which are positive


def _comparison(kind: str, negated: bool = False) -> Any:
    def translate(w: Writer, meta: Meta, input: Value, other: Any) -> Value:
        common = input.dtype
        if isinstance(other, Value):
            common = promote_types(input.dtype, other.dtype)
        elif isinstance(other, float) and not common.is_floating_point:
            common = float32
        found = w.call(kind, w.cast(input, common), w.operand(other, common))
        found.dtype = bool_
        return w.call("Not", found) if negated else found

    return translate


for _name, _kind in _COMPARISONS.items():
    translates(_name, f"__{_name}__")(_comparison(_kind))
translates("ne", "__ne__")(_comparison("Equal", True))


def _of_two(kind: str) -> Any:
    def translate(w: Writer, meta: Meta, input: Value, other: Value) -> Value:
        common = promote_types(input.dtype, other.dtype)
        return w.call(kind, w.cast(input, common), w.cast(other, common))

    return translate


for _name, _kind in {
    "maximum": "Max", "minimum": "Min", "logical_and": "And", "logical_or": "Or",
    "bitwise_and": "And", "bitwise_or": "Or", "logical_xor": "Xor",
}.items():  # fmt: skip
    translates(_name)(_of_two(_kind))


@translates("rsub")
def rsub(w: Writer, meta: Meta, input: Value, other: Any) -> Value:
    kind = result_type(meta, input.dtype)
    return w.call("Sub", w.operand(other, kind), w.operand(input, kind))


@translates("rsqrt")
def rsqrt(w: Writer, meta: Meta, input: Value) -> Value:
    return w.call("Reciprocal", w.call("Sqrt", input))


@translates("square")
def square(w: Writer, meta: Meta, input: Value) -> Value:
    return w.call("Mul", input, input)


def _along(kind: str) -> Any:
    def translate(
        w: Writer, meta: Meta, input: Value, dim: int = -1, *args: Any, **kwargs: Any
    ) -> Value:
        return w.call(kind, w.cast(input, result_type(meta, input.dtype)), axis=dim)

    return translate


translates("softmax")(_along("Softmax"))
translates("log_softmax")(_along("LogSoftmax"))


@translates("gelu")
def gelu(w: Writer, meta: Meta, input: Value, *, approximate: str = "none") -> Value:
    half = w.operand(0.5, input.dtype)
    one = w.operand(1.0, input.dtype)
    if approximate == "none":
        inner = w.call("Erf", w.call("Mul", input, w.operand(math.sqrt(0.5), input.dtype)))
    else:
        cube = w.call("Mul", w.call("Mul", input, input), input)
        scaled = w.call("Mul", cube, w.operand(0.044715, input.dtype))
        total = w.call("Add", input, scaled)
        factor = w.operand(math.sqrt(2 / math.pi), input.dtype)
        inner = w.call("Tanh", w.call("Mul", total, factor))
    return w.call("Mul", w.call("Mul", input, half), w.call("Add", inner, one))


@translates("silu")
def silu(w: Writer, meta: Meta, input: Value, inplace: bool = False) -> Value:
    return w.call("Mul", input, w.call("Sigmoid", input))


@translates("leaky_relu")
def leaky_relu(
    w: Writer, meta: Meta, input: Value, negative_slope: float = 0.01, inplace: bool = False
) -> Value:
    return w.call("LeakyRelu", input, alpha=float(negative_slope))


@translates("elu")
def elu(w: Writer, meta: Meta, input: Value, alpha: float = 1.0, inplace: bool = False) -> Value:
    return w.call("Elu", input, alpha=float(alpha))


@translates("softplus")
def softplus(
    w: Writer, meta: Meta, input: Value, *, beta: float = 1.0, threshold: float = 20.0
) -> Value:
    if beta != 1:
        raise refuse("softplus with a beta")
    return w.call("Softplus", input)


@translates("prelu")
def prelu(w: Writer, meta: Meta, input: Value, weight: Value) -> Value:
    shape = [-1] + [1] * (input.ndim - 2)
    return w.call("PRelu", input, w.call("Reshape", weight, w.ints(shape)))


@translates("hardsigmoid")
def hardsigmoid(w: Writer, meta: Meta, input: Value, inplace: bool = False) -> Value:
    return w.call("HardSigmoid", input, alpha=1 / 6, beta=0.5)


@translates("clamp", "clip")
def _clamp(w: Writer, meta: Meta, input: Value, min: Any = None, max: Any = None) -> Value:
    input = w.cast(input, result_type(meta, input.dtype))
    bounds = [None if b is None else w.operand(b, input.dtype) for b in (min, max)]
    return w.call("Clip", input, *bounds)


@translates("hardtanh")
def hardtanh(
    w: Writer,
    meta: Meta,
    input: Value,
    min_val: float = -1.0,
    max_val: float = 1.0,
    inplace: bool = False,
) -> Value:
    return _clamp(w, meta, input, min_val, max_val)


@translates("relu6")
def relu6(w: Writer, meta: Meta, input: Value, inplace: bool = False) -> Value:
    return _clamp(w, meta, input, 0.0, 6.0)


@translates("clamp_min")
def clamp_min(w: Writer, meta: Meta, input: Value, min: Any) -> Value:
    return _clamp(w, meta, input, min)


@translates("where")
def where(w: Writer, meta: Meta, condition: Value, input: Any, other: Any) -> Value:
    kind = result_type(meta, float32)
    return w.call("Where", condition, w.operand(input, kind), w.operand(other, kind))


@translates("masked_fill")
def masked_fill(w: Writer, meta: Meta, input: Value, mask: Value, value: Any) -> Value:
    return w.call("Where", mask, w.operand(value, input.dtype), input)


@translates("to", "type", "type_as")
def to(w: Writer, meta: Meta, input: Value, *args: Any, **kwargs: Any) -> Value:
    return w.cast(input, result_type(meta, input.dtype))


translates("float", "double", "half", "bfloat16", "long", "int", "bool")(to)
