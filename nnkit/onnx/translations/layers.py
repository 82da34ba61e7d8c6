"""Translations of products, convolutions, pools, norms and attention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nnkit import ones, zeros
from nnkit.backend.dtype import bool_, dtype, float32, int64
from nnkit.onnx.translations.shapes import size, transpose
from nnkit.onnx.writer import Meta, Value, Writer, many, refuse, translates


@translates("matmul", "bmm", "mm", "__matmul__", "mv", "dot")
def matmul(w: Writer, meta: Meta, input: Value, other: Value) -> Value:
    return w.call("MatMul", input, other)


@translates("einsum")
def einsum(w: Writer, meta: Meta, equation: str, *operands: Any) -> Value:
    given = operands[0] if len(operands) == 1 and isinstance(operands[0], list) else operands
    return w.call("Einsum", *given, equation=equation)


@translates("addmm")
def addmm(
    w: Writer, meta: Meta, input: Value, mat1: Value, mat2: Value, *, beta: Any = 1, alpha: Any = 1
) -> Value:
    return w.call("Gemm", mat1, mat2, input, alpha=float(alpha), beta=float(beta))


@translates("linear")
def linear(w: Writer, meta: Meta, input: Value, weight: Value, bias: Value | None = None) -> Value:
    if input.ndim == 2:
        return w.call("Gemm", input, weight, bias, transB=1)
    turned = w.call("Transpose", weight, perm=[1, 0])
    product = w.call("MatMul", input, turned)
    return product if bias is None else w.call("Add", product, bias)


@translates("embedding")
def embedding(
    w: Writer, meta: Meta, input: Value, weight: Value, *args: Any, **options: Any
) -> Value:
    return w.call("Gather", weight, input)


def _convolution(count: int) -> Any:
    def translate(
        w: Writer, meta: Meta, input: Value, weight: Value, bias: Value | None = None,
        stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1,
    ) -> Value:  # fmt: skip
        options: dict[str, Any] = {"auto_pad": "SAME_UPPER"} if padding == "same" else {}
        if padding == "valid":
            padding = 0
        if not options:
            options["pads"] = many(padding, count) * 2
        return w.call(
            "Conv", input, weight, bias, strides=many(stride, count), group=groups,
            dilations=many(dilation, count), **options,
        )  # fmt: skip

    return translate


def _transposed_convolution(count: int) -> Any:
    def translate(
        w: Writer, meta: Meta, input: Value, weight: Value, bias: Value | None = None,
        stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1,
        dilation: Any = 1,
    ) -> Value:  # fmt: skip
        return w.call(
            "ConvTranspose", input, weight, bias, strides=many(stride, count), group=groups,
            pads=many(padding, count) * 2, dilations=many(dilation, count),
            output_padding=many(output_padding, count),
        )  # fmt: skip

    return translate


def _pool(kind: str, count: int) -> Any:
    def translate(
        w: Writer, meta: Meta, input: Value, kernel_size: Any, stride: Any = None, padding: Any = 0,
        *rest: Any, **options: Any,
    ) -> Value:  # fmt: skip
        names = ("dilation", "ceil_mode", "return_indices")
        if kind == "AveragePool":
            names = ("ceil_mode", "count_include_pad", "divisor_override")
        options.update(zip(names, rest))
        if options.get("return_indices") or options.get("divisor_override"):
            raise refuse("a pool with indices or a divisor")
        kernel = many(kernel_size, count)
        known: dict[str, Any] = {
            "kernel_shape": kernel, "pads": many(padding, count) * 2,
            "strides": kernel if stride in (None, [], ()) else many(stride, count),
            "ceil_mode": int(options.get("ceil_mode", False)),
        }  # fmt: skip
        if kind == "AveragePool":
            known["count_include_pad"] = int(options.get("count_include_pad", True))
        else:
            known["dilations"] = many(options.get("dilation", 1), count)
        return w.call(kind, input, **known)

    return translate


def _adaptive_pool(kind: str, count: int) -> Any:
    def translate(
        w: Writer, meta: Meta, input: Value, output_size: Any, return_indices: bool = False
    ) -> Value:
        if return_indices:
            raise refuse("a pool with indices")
        wanted = many(output_size, count)
        sizes = input.shape[-count:]
        wanted = [size if out is None else out for out, size in zip(wanted, sizes, strict=True)]
        if all(out == 1 for out in wanted):
            return w.call(f"Global{kind}", input)
        if any(size % out for out, size in zip(wanted, sizes, strict=True)):
            raise refuse("an adaptive pool whose windows differ")
        kernel = [size // out for out, size in zip(wanted, sizes, strict=True)]
        return w.call(kind, input, kernel_shape=kernel, strides=kernel)

    return translate


for _count in (1, 2, 3):
    translates(f"conv{_count}d")(_convolution(_count))
    translates(f"conv_transpose{_count}d")(_transposed_convolution(_count))
    translates(f"max_pool{_count}d")(_pool("MaxPool", _count))
    translates(f"avg_pool{_count}d")(_pool("AveragePool", _count))
    translates(f"adaptive_avg_pool{_count}d")(_adaptive_pool("AveragePool", _count))
    translates(f"adaptive_max_pool{_count}d")(_adaptive_pool("MaxPool", _count))


def _scales(w: Writer, weight: Value | None, bias: Value | None, size: int, kind: dtype) -> list:
    return [
        weight or w.constant([1.0] * size, kind),
        bias or w.constant([0.0] * size, kind),
    ]


@translates("batch_norm")
def batch_norm(
    w: Writer, meta: Meta, input: Value, running_mean: Value | None, running_var: Value | None,
    weight: Value | None = None, bias: Value | None = None, training: bool = False,
    momentum: float = 0.1, eps: float = 1e-5,
) -> Value:  # fmt: skip
    if training or running_mean is None:
        raise refuse("a batch norm without running statistics")
    scales = _scales(w, weight, bias, input.shape[1], input.dtype)
    return w.call("BatchNormalization", input, *scales, running_mean, running_var, epsilon=eps)


@translates("layer_norm")
def layer_norm(
    w: Writer, meta: Meta, input: Value, normalized_shape: Sequence[int],
    weight: Value | None = None, bias: Value | None = None, eps: float = 1e-5,
) -> Value:  # fmt: skip
    if weight is None:
        weight = w.keep("ones", ones(tuple(normalized_shape), dtype=input.dtype))
    if bias is None:  # without which onnxruntime 1.32 crashes
        bias = w.keep("zeros", zeros(tuple(normalized_shape), dtype=input.dtype))
    axis = -len(normalized_shape)
    return w.call("LayerNormalization", input, weight, bias, axis=axis, epsilon=eps)


@translates("instance_norm")
def instance_norm(
    w: Writer, meta: Meta, input: Value, running_mean: Any = None, running_var: Any = None,
    weight: Value | None = None, bias: Value | None = None, use_input_stats: bool = True,
    momentum: float = 0.1, eps: float = 1e-5,
) -> Value:  # fmt: skip
    if not use_input_stats:
        raise refuse("an instance norm with running statistics")
    scales = _scales(w, weight, bias, input.shape[1], input.dtype)
    return w.call("InstanceNormalization", input, *scales, epsilon=eps)


@translates("group_norm")
def group_norm(
    w: Writer, meta: Meta, input: Value, num_groups: int, weight: Value | None = None,
    bias: Value | None = None, eps: float = 1e-5,
) -> Value:  # fmt: skip
    grouped = w.call("Reshape", input, w.ints([0, num_groups, -1]))
    plain = _scales(w, None, None, num_groups, input.dtype)
    normal = w.call("InstanceNormalization", grouped, *plain, epsilon=eps)
    found = w.call("Reshape", normal, w.call("Shape", input))
    shape = w.ints([-1] + [1] * (input.ndim - 2))
    if weight is not None:
        found = w.call("Mul", found, w.call("Reshape", weight, shape))
    return found if bias is None else w.call("Add", found, w.call("Reshape", bias, shape))


@translates("rms_norm")
def rms_norm(
    w: Writer, meta: Meta, input: Value, normalized_shape: Sequence[int],
    weight: Value | None = None, eps: float | None = None,
) -> Value:  # fmt: skip
    axes = w.ints(list(range(-len(normalized_shape), 0)))
    mean = w.call("ReduceMean", w.call("Mul", input, input), axes, keepdims=1)
    if eps is None:
        from nnkit import finfo

        eps = finfo(input.dtype).eps
    root = w.call("Sqrt", w.call("Add", mean, w.operand(eps, input.dtype)))
    found = w.call("Div", input, root)
    return found if weight is None else w.call("Mul", found, weight)


@translates("scaled_dot_product_attention")
def scaled_dot_product_attention(
    w: Writer, meta: Meta, query: Value, key: Value, value: Value, attn_mask: Value | None = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
    enable_gqa: bool = False,
) -> Value:  # fmt: skip
    if enable_gqa:
        raise refuse("attention with grouped queries")
    kind = query.dtype
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    turned = transpose(w, {}, key, -2, -1)
    scores = w.call("MatMul", w.call("Mul", query, w.operand(factor, kind)), turned)
    if is_causal:
        sizes = w.ints([size(w, {}, query, -2), size(w, {}, key, -2)])
        ones = w.call("Expand", w.constant(1, int64), sizes)
        ones.dtype = int64
        lower = w.call("Trilu", ones, w.constant(0, int64), upper=0)
        lower.dtype = int64
        attn_mask = w.cast(lower, bool_)
    if attn_mask is not None:
        if attn_mask.dtype == bool_:
            scores = w.call("Where", attn_mask, scores, w.operand(-math.inf, kind))
            scores.dtype = kind
        else:
            scores = w.call("Add", scores, attn_mask)
    return w.call("MatMul", w.call("Softmax", scores, axis=-1), value)


@translates("multi_head_attention_forward")
def multi_head_attention_forward(
    w: Writer, meta: Meta, query: Value, key: Value, value: Value, embed_dim_to_check: int,
    num_heads: int, in_proj_weight: Value | None, in_proj_bias: Value | None, bias_k: Any,
    bias_v: Any, add_zero_attn: bool, dropout_p: float, out_proj_weight: Value,
    out_proj_bias: Value | None, training: bool = True, key_padding_mask: Value | None = None,
    need_weights: bool = True, attn_mask: Value | None = None, *args: Any, **options: Any,
) -> list[Value | None]:  # fmt: skip
    if query.ndim != 3 or in_proj_weight is None or bias_k is not None or add_zero_attn:
        raise refuse("attention without a batch, or with other weights than one matrix")
    if need_weights or key_padding_mask is not None:
        raise refuse("attention that gives its weights, or with a mask of keys")
    width = embed_dim_to_check
    thirds = w.ints([width] * 3)
    weights = w.calls("Split", 3, in_proj_weight, thirds, axis=0)
    biases: list[Any] = [None] * 3
    if in_proj_bias is not None:
        biases = list(w.calls("Split", 3, in_proj_bias, thirds, axis=0))
    heads = w.ints([0, 0, num_heads, width // num_heads])
    parts = []
    for x, weight, bias in zip((query, key, value), weights, biases, strict=True):
        weight.shape = (width, width)
        found = w.call("Reshape", linear(w, {}, x, weight, bias), heads)
        turned = w.call("Transpose", found, perm=[1, 2, 0, 3])  # batch, head, time, width
        turned.shape = (x.shape[1], num_heads, x.shape[0], width // num_heads)
        parts.append(turned)
    if attn_mask is not None and attn_mask.ndim == 3:
        shape = w.ints([-1, num_heads, *(size(w, {}, attn_mask, d) for d in (1, 2))])
        attn_mask = w.call("Reshape", attn_mask, shape)
    if attn_mask is not None and attn_mask.dtype == bool_:  # here true means: not looked at
        attn_mask = w.call("Not", attn_mask)
    attended = scaled_dot_product_attention(w, {}, parts[0], parts[1], parts[2], attn_mask)
    turned = w.call("Transpose", attended, perm=[2, 0, 1, 3])
    joined = w.call("Reshape", turned, w.ints([0, 0, -1]))
    joined.shape = query.shape
    return [linear(w, {}, joined, out_proj_weight, out_proj_bias), None]


@translates("interpolate", "upsample")
def interpolate(
    w: Writer, meta: Meta, input: Value, size: Any = None, scale_factor: Any = None,
    mode: str = "nearest", align_corners: bool | None = None, *args: Any, **options: Any,
) -> Value:  # fmt: skip
    count = input.ndim - 2
    kinds = {"nearest": "nearest", "bilinear": "linear", "linear": "linear", "trilinear": "linear"}
    if mode not in kinds:
        raise refuse(f"interpolation of the mode {mode}")
    where = "align_corners" if align_corners else "half_pixel"
    known: dict[str, Any] = {"mode": kinds[mode], "coordinate_transformation_mode": where}
    if mode == "nearest":
        known.update(coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    if size is not None:
        sizes = w.call("Shape", input)
        head = w.call("Slice", sizes, w.ints([0]), w.ints([2]))
        whole = w.call("Concat", head, w.ints(many(size, count)), axis=0)
        return w.call("Resize", input, None, None, whole, **known)
    factors = [scale_factor] * count if isinstance(scale_factor, (int, float)) else scale_factor
    scales = w.constant([1.0, 1.0, *map(float, factors)], float32)
    return w.call("Resize", input, None, scales, **known)
