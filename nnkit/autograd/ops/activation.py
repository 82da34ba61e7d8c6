"""Activation functions, element by element; `nnkit.nn.functional` offers them by torch's names."""

from __future__ import annotations

import math
from typing import Any

from nnkit.autograd.pointwise import fn, pointwise
from nnkit.autograd.public import public
from nnkit.autograd.tensor import Tensor

relu = pointwise(
    "relu", lambda x: fn.maximum(x, 0), "``max(input, 0)``; the gradient at 0 is 0.",
    refuses=("bool", "complex"), x=lambda g, out: fn.where(out <= 0, 0, g),
)  # fmt: skip
leaky_relu = pointwise(
    "leaky_relu", lambda x, slope: fn.where(x > 0, x, x * slope), scalars=("slope",),
    function=False, x=lambda g, x, slope: fn.where(x > 0, g, g * slope),
)  # fmt: skip
elu = pointwise(
    "elu",
    lambda x, alpha, scale, input_scale: fn.where(
        x > 0, x * scale, fn.expm1(fn.minimum(x, 0) * input_scale) * (alpha * scale)
    ),
    scalars=("alpha", "scale", "input_scale"), function=False,
    x=lambda g, x, alpha, scale, input_scale: g * fn.where(
        x > 0, scale, fn.exp(fn.minimum(x, 0) * input_scale) * (input_scale * alpha * scale)
    ),
)  # fmt: skip


def _normal_cdf(x: Any) -> Any:
    return 0.5 * (1 + fn.erf(x * math.sqrt(0.5)))


def _tanh_argument(x: Any) -> Any:
    return math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)


gelu = pointwise(
    "gelu", lambda x: x * _normal_cdf(x), function=False,
    x=lambda g, x: g * (
        _normal_cdf(x) + x * fn.exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi))
    ),
)  # fmt: skip
gelu_tanh = pointwise(
    "gelu_tanh", lambda x: 0.5 * x * (1 + fn.tanh(_tanh_argument(x))), function=False,
    node="GeluBackward0",
    x=lambda g, x: g * (
        0.5 * (1 + fn.tanh(_tanh_argument(x)))
        + 0.5 * x * (1 - fn.tanh(_tanh_argument(x)) * fn.tanh(_tanh_argument(x)))
        * (math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x))
    ),
)  # fmt: skip
silu = pointwise(
    "silu", lambda x: x / (1 + fn.exp(-x)), function=False,
    x=lambda g, x: g * fn.sigmoid(x) * (1 + x * (1 - fn.sigmoid(x))),
)  # fmt: skip


def _softplus(x: Any) -> Any:
    # log(1 + e^x) without overflow, to any order of derivative.
    return fn.maximum(x, 0) + fn.log1p(fn.exp(-fn.abs(x)))


mish = pointwise(
    "mish", lambda x: x * fn.tanh(_softplus(x)), function=False,
    x=lambda g, x: g * (
        fn.tanh(_softplus(x))
        + x * fn.sigmoid(x) * (1 - fn.tanh(_softplus(x)) * fn.tanh(_softplus(x)))
    ),
)  # fmt: skip
softplus = pointwise(
    "softplus",
    lambda x, beta, threshold: fn.where(
        x * beta > threshold, x, fn.log1p(fn.exp(fn.minimum(x * beta, threshold))) / beta
    ),
    scalars=("beta", "threshold"), function=False,
    x=lambda g, x, beta, threshold: g * fn.where(
        x * beta > threshold, 1, fn.sigmoid(x * beta)
    ),
)  # fmt: skip
softsign = pointwise(
    "softsign", lambda x: x / (1 + fn.abs(x)), function=False,
    x=lambda g, x: g / ((1 + fn.abs(x)) * (1 + fn.abs(x))),
)  # fmt: skip
tanhshrink = pointwise(
    "tanhshrink", lambda x: x - fn.tanh(x), function=False,
    x=lambda g, x: g * fn.tanh(x) * fn.tanh(x),
)  # fmt: skip
hardtanh = pointwise(
    "hardtanh", lambda x, low, high: fn.minimum(fn.maximum(x, low), high),
    scalars=("low", "high"), function=False,
    x=lambda g, x, low, high: fn.where(fn.logical_or(x <= low, x >= high), 0, g),
)  # fmt: skip
hardsigmoid = pointwise(
    "hardsigmoid", lambda x: fn.minimum(fn.maximum(x + 3, 0), 6) / 6, function=False,
    x=lambda g, x: fn.where(fn.logical_and(x > -3, x < 3), g / 6, 0),
)  # fmt: skip
hardswish = pointwise(
    "hardswish", lambda x: x * fn.minimum(fn.maximum(x + 3, 0), 6) / 6, function=False,
    x=lambda g, x: fn.where(x <= -3, 0, fn.where(x < 3, g * (x / 3 + 0.5), g)),
)  # fmt: skip
hardshrink = pointwise(
    "hardshrink",
    lambda x, lambd: fn.where(fn.logical_and(x >= -lambd, x <= lambd), 0, x),
    scalars=("lambd",), function=False,
    x=lambda g, x, lambd: fn.where(fn.logical_and(x >= -lambd, x <= lambd), 0, g),
)  # fmt: skip
softshrink = pointwise(
    "softshrink",
    lambda x, lambd: fn.where(x > lambd, x - lambd, fn.where(x < -lambd, x + lambd, x * 0)),
    scalars=("lambd",), function=False,
    x=lambda g, x, lambd: fn.where(fn.logical_and(x >= -lambd, x <= lambd), 0, g),
)  # fmt: skip
threshold = pointwise(
    "threshold", lambda x, limit, value: fn.where(x <= limit, value, x),
    scalars=("limit", "value"), function=False,
    x=lambda g, x, limit, value: fn.where(x <= limit, 0, g),
)  # fmt: skip
log_sigmoid = pointwise(
    "log_sigmoid", lambda x: fn.minimum(x, 0) - fn.log1p(fn.exp(-fn.abs(x))), function=False,
    x=lambda g, x: g * fn.sigmoid(-x),
)  # fmt: skip
_prelu = pointwise(
    "prelu", lambda x, weight: fn.where(x > 0, x, x * weight), function=False,
    node="PreluKernelBackward0", x=lambda g, x, weight: fn.where(x > 0, g, g * weight),
    weight=lambda g, x: fn.where(x > 0, 0, g * x),
)  # fmt: skip


@public
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """``input`` where it is positive, else ``weight * input``, one weight per channel or one.

    Args:
        input: of shape (N, C, ...) or any shape where ``weight`` has one element.
        weight: of shape (C,) or (1,).

    Raises:
        RuntimeError: the number of weights is neither 1 nor the number of channels.
    """
    if weight.numel() != 1:
        channels = input.shape[1] if input.ndim > 1 else 1
        if input.ndim == 0 or weight.numel() != channels:
            raise RuntimeError(
                "prelu(): mismatch of parameter numbers and input channel size: found "
                f"{weight.numel()} parameters, expected 1 or {channels}"
            )
        weight = weight.reshape(-1, *(1,) * (input.ndim - 2)) if input.ndim > 1 else weight
    elif weight.ndim > 0 and input.ndim == 0:
        weight = weight.reshape(())
    return _prelu(input, weight)
