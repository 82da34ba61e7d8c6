"""Activation functions, element by element; `nnkit.nn.functional` offers them by torch's names."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from nnkit.autograd.arguments.dims import check_tensor
from nnkit.autograd.batch.examples import of_each
from nnkit.autograd.compiled import bind_write
from nnkit.autograd.engine.node import Node
from nnkit.autograd.op.out import Out
from nnkit.autograd.op.pointwise import F4, F8, declined, fn, over_input, pointwise
from nnkit.autograd.op.promotion import check_dtype
from nnkit.autograd.op.public import PUBLIC, inplace, public
from nnkit.autograd.op.registry import LIFTED
from nnkit.autograd.op.rule import rule
from nnkit.autograd.op.single import single
from nnkit.autograd.ops.creation.conversion import contiguous
from nnkit.autograd.surface.generator import source_of
from nnkit.autograd.surface.limits import FLOAT32_MAX, check_numbers, fitting, fitting_beside
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.autograd.views.writes import write
from nnkit.backend.dtype import COMPLEX, FLOATING, INTEGER, float16


def _no_second_derivative(B: Any, g_out: Any) -> tuple:
    raise RuntimeError("hardsigmoid(): the second derivative is not implemented")


relu = pointwise(
    "relu", lambda x: fn.maximum(x, 0), "``max(input, 0)``; the gradient at 0 is 0.",
    example=("nnkit.tensor([-1.0, 2.0])", "tensor([0., 2.])"),
    refuses=("bool", "complex"), depends="zeros", out=False,
    x=lambda g, out: fn.where(out <= 0, 0, g),
)
leaky_relu = pointwise(
    "leaky_relu", lambda x, slope: fn.where(x > 0, x, x * slope), scalars=("slope",),
    function=False, depends="backward", x=lambda g, x, slope: fn.where(x > 0, g, g * slope),
)
_leaky_relu_over = over_input(
    leaky_relu, "LeakyReluBackward1", x=lambda g, out, slope: fn.where(out > 0, g, g * slope)
)


def _below_zero(x: Any) -> Any:
    # minimum(x, 0) with a derivative of 0 at 0, where torch's second derivative of elu has it.
    return fn.where(x < 0, x, 0)


elu = pointwise(
    "elu",
    lambda x, alpha, scale, input_scale: fn.where(
        x < 0, fn.expm1(fn.minimum(x, 0) * input_scale) * (alpha * scale), x * scale
    ),
    scalars=("alpha", "scale", "input_scale"), function=False,
    stepwise=(),
    x=lambda g, x, alpha, scale, input_scale: g * fn.where(
        x <= 0, fn.exp(_below_zero(x) * input_scale) * (input_scale * alpha * scale), scale
    ),
)
_elu_over = over_input(
    elu, "EluBackward1",
    x=lambda g, out, alpha, scale, input_scale: g * fn.where(
        out <= 0, (_below_zero(out) + alpha * scale) * input_scale, scale
    ),
)


def _normal_cdf(x: Any) -> Any:
    return 0.5 * (1 + fn.erf(x * math.sqrt(0.5)))


def _tanh_argument(x: Any) -> Any:
    return math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)


gelu = pointwise(
    "gelu", lambda x: x * _normal_cdf(x), function=False,
    stepwise=(),
    x=lambda g, x: g * (
        _normal_cdf(x) + x * fn.exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi))
    ),
)
gelu_tanh = pointwise(
    "gelu_tanh", lambda x: 0.5 * x * (1 + fn.tanh(_tanh_argument(x))), function=False,
    node="GeluBackward0",
    stepwise=(),
    x=lambda g, x: g * (
        0.5 * (1 + fn.tanh(_tanh_argument(x)))
        + 0.5 * x * (1 - fn.tanh(_tanh_argument(x)) * fn.tanh(_tanh_argument(x)))
        * (math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x))
    ),
)
silu = pointwise(
    "silu", lambda x: x / (1 + fn.exp(-x)), function=False, stepwise=(),
    x=lambda g, x: g * fn.conj(fn.sigmoid(x) * (1 + x * (1 - fn.sigmoid(x)))),
)


def _softplus(x: Any) -> Any:
    return 0 - fn.log_sigmoid(-x)  # not -0 where it is 0


mish = pointwise(
    "mish", lambda x: x * fn.tanh(_softplus(x)), function=False,
    stepwise=(),
    x=lambda g, x: g * (
        fn.tanh(_softplus(x))
        + x * fn.sigmoid(x) * (1 - fn.tanh(_softplus(x)) * fn.tanh(_softplus(x)))
    ),
)
softplus = pointwise(
    "softplus",
    lambda x, beta, threshold: fn.where(
        x * beta > threshold, x, _softplus(x * beta) / beta
    ),
    scalars=("beta", "threshold"), function=False,
    stepwise=(),
    x=lambda g, x, beta, threshold: g * fn.where(
        x * beta > threshold, 1,
        fn.sigmoid(fn.where(x * beta >= threshold, threshold, x * beta)),  # whose slope is 0 there
    ),
)
softsign = pointwise(
    "softsign", lambda x: x / (fn.abs(x) + 1), node="DivBackward0", function=False,
    stepwise=("forward", "backward"), alone="refused", x=lambda g, x: g / (fn.abs(x) + 1)
    - g * (x / (fn.abs(x) + 1) / (fn.abs(x) + 1)) * fn.sign(x),
)
hardtanh = pointwise(
    "hardtanh", lambda x, low, high: fn.minimum(fn.maximum(x, low), high), scalars=("low", "high"),
    function=False, depends="backward", alone="refused", stepwise=(),
    x=lambda g, x, low, high: fn.where(fn.logical_or(x <= low, x >= high), 0, g),
)
hardsigmoid = pointwise(
    "hardsigmoid", lambda x: fn.minimum(fn.maximum(x + 3, 0), 6) / 6, function=False,
    depends="backward",
    stepwise=(),
    # torch multiplies by float32's sixth, in double precision too.
    x=lambda g, x: fn.where(fn.logical_and(x > -3, x < 3), g * 0.1666666716337204, 0),
)
rule("hardsigmoid_grad_x", joint=_no_second_derivative)
hardswish = pointwise(
    "hardswish", lambda x: x * fn.minimum(fn.maximum(x + 3, 0), 6) / 6, function=False, stepwise=(),
    x=lambda g, x: fn.where(x <= -3, 0, fn.where(x < 3, g * (x / 3 + 0.5), g)),
)
_hardshrink = pointwise(
    "hardshrink", lambda x, lambd: fn.where(fn.logical_and(x >= -lambd, x <= lambd), 0, x),
    scalars=("lambd",), function=False, depends="backward", stepwise=(),
    x=lambda g, x, lambd: fn.where(fn.logical_and(x >= -lambd, x <= lambd), 0, g),
)
softshrink = pointwise(
    "softshrink",
    lambda x, lambd: fn.where(x > lambd, x - lambd, fn.where(x < -lambd, x + lambd, x * 0)),
    scalars=("lambd",), function=False, depends="backward", stepwise=(),
    x=lambda g, x, lambd: fn.where(fn.logical_and(x >= -lambd, x <= lambd), 0, g),
)
_threshold = pointwise(
    "threshold", lambda x, limit, value: fn.where(x <= limit, value, x), scalars=("limit", "value"),
    function=False, depends="zeros", stepwise=(),
    x=lambda x, g, limit, value: fn.where(x <= limit, 0, g),
)


def _tail(x: Any) -> Any:
    # exp(-|x|) / (1 + exp(-|x|)); at 0 it has a derivative all the same.
    power = fn.exp(fn.where(x < 0, x, -x))
    return power / (1 + power)


log_sigmoid = pointwise(
    "log_sigmoid", lambda x: fn.log_sigmoid(x), function=False, stepwise=(),
    x=lambda g, x: fn.where(x < 0, 1 - _tail(x), _tail(x)) * g,
)


def _along_prelu(primals: tuple, tangents: list, *_: Any) -> Tensor:
    """The tangent of prelu, and of its gradient: where x is positive that of the first input, else
    of that times the weight. In torch it is that from above at 0, the gradient that from below."""
    value, (x, weight) = primals[0], primals[-2:]
    along, by_weight = tangents[0], tangents[-1]
    below = LIFTED.add(LIFTED.mul(along, weight), LIFTED.mul(by_weight, value))
    return LIFTED.where(LIFTED.ge(x, 0), along, below)


_prelu = pointwise(
    "prelu", lambda x, weight: fn.where(x > 0, x, x * weight), function=False, depends="backward",
    node="PreluKernelBackward0", x=lambda g, x, weight: fn.where(x > 0, g, g * weight),
    weight=lambda g, x: fn.where(x >= 0, 0, g * x), also={"weight": ("weight",)},
    along=_along_prelu,
)
rule(
    "prelu_grad_x", broadcasts=True,
    g=lambda B, g_out, x, weight: B.where(B.ge(x, 0), g_out, B.mul(g_out, weight)),
    weight=lambda B, g_out, g, x: B.where(B.ge(x, 0), B.zeros_like(x), B.mul(g_out, g)),
    along=_along_prelu,
)
_prelu_over = over_input(
    _prelu, "RreluWithNoiseBackward1",
    x=lambda g, out, weight: fn.where(out > 0, g, g * weight),
)


@public
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """``input`` where it is positive, else ``weight * input``, one weight per channel or one.

    Args:
        input: of shape (N, C, ...) or any shape where ``weight`` has one element.
        weight: of shape (C,) or (1,).

    Raises:
        RuntimeError: the number of weights is neither 1 nor the number of channels, ``weight`` has
            more than one dimension, or the dtypes differ.

    Example:
        >>> import nnkit
        >>> nnkit.prelu(nnkit.tensor([-2.0, 3.0]), nnkit.tensor([0.25]))
        tensor([-0.5000,  3.0000])
    """
    check_tensor("prelu", input)
    check_tensor("prelu", weight, "weight")
    if weight.ndim > 1:
        raise RuntimeError(
            f"prelu(): expected weight to be a scalar or 1D tensor, got {weight.ndim} dimensions"
        )
    if weight.dtype is not input.dtype:
        raise RuntimeError(
            f"prelu(): expected weight of the input's dtype {input.dtype}, got {weight.dtype}"
        )
    if weight.numel() != 1:
        channels = input.shape[1] if input.ndim > 1 else 1
        if input.ndim == 0 or weight.numel() != channels:
            raise RuntimeError(
                f"prelu(): weight has {weight.numel()} elements, expected 1 or {channels}, "
                "the number of channels of input"
            )
        weight = weight.reshape(-1, *(1,) * (input.ndim - 2)) if input.ndim > 1 else weight
    elif weight.ndim > 0 and input.ndim == 0:
        weight = weight.reshape(())
    check_dtype("prelu", input.dtype, ("bool", "integer", "complex"))
    return _prelu(input, weight)


def check_floating(name: str, input: Tensor, or_complex: bool = False) -> None:
    """TypeError for what is no Tensor, NotImplementedError for another dtype than floating."""
    check_tensor(name, input)
    category = input.dtype.category
    if category != FLOATING and not (or_complex and category == COMPLEX):
        raise NotImplementedError(f"{name}(): not implemented for '{input.dtype.name}' tensors")


@public(method=False)
@single(node="CeluBackward0")
def celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))``

    Barron, "Continuously differentiable exponential linear units", 2017.

    Raises:
        NotImplementedError: ``input`` is not floating point.
        RuntimeError: ``alpha`` is 0.

    Example:
        >>> import nnkit
        >>> nnkit.celu(nnkit.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000])
    """
    return _celu(elu, input, alpha)


def _celu(elu: Callable, input: Tensor, alpha: float = 1.0) -> Tensor:
    check_floating("celu", input)
    if alpha == 0:
        raise RuntimeError("celu(): argument 'alpha' cannot be 0 (ZeroDivisionError)")
    check_numbers("celu", input.dtype, alpha, 1.0 / alpha)
    return elu(input, float(alpha), 1.0, 1.0 / alpha)


@public(method=False)
def selu(input: Tensor) -> Tensor:
    """``scale * elu(x, alpha)`` with the constants that keep mean 0 and variance 1.

    Klambauer et al., "Self-normalizing neural networks", 2017.

    Raises:
        NotImplementedError: ``input`` is not floating point.

    Example:
        >>> import nnkit
        >>> nnkit.selu(nnkit.tensor([-1.0, 1.0]))
        tensor([-1.1113,  1.0507])
    """
    return _selu(elu, input)


def _selu(elu: Callable, input: Tensor) -> Tensor:
    check_floating("selu", input)
    return elu(input, *_SELU)


_SELU = 1.6732632423543772, 1.0507009873554805, 1.0


@public(method=False)
@single(node="RreluWithNoiseBackward0")
def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False,
    generator: Any = None,
) -> Tensor:
    """``x`` where it is positive, else ``a * x``; for each element ``a`` is drawn between ``lower``
    and ``upper`` in training, and it is their mean otherwise.

    Xu et al., "Empirical evaluation of rectified activations in convolutional network", 2015.

    Raises:
        NotImplementedError: ``input`` is not floating point.
        RuntimeError: ``lower`` is above ``upper``.

    Example:
        >>> import nnkit
        >>> nnkit.rrelu(nnkit.tensor([-1.0, 2.0]), 0.25, 0.25)
        tensor([-0.2500,  2.0000])
    """
    return _rrelu(leaky_relu, _prelu, input, lower, upper, training, generator)


def _rrelu(
    leaky_relu: Callable, prelu: Callable, input: Tensor, lower: float = 1.0 / 8,
    upper: float = 1.0 / 3, training: bool = False, generator: Any = None,
) -> Tensor:
    check_floating("rrelu", input)
    for which, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {which} bound must be finite, got {bound}")
    if lower > upper:
        raise RuntimeError(
            "rrelu: Lower bound should be less than or equal to the upper bound, got "
            f"{lower} and {upper}"
        )
    input = contiguous(input)
    if not training:
        return leaky_relu(input, (lower + upper) / 2)
    if input.dtype is float16 and input._array.size:
        raise NotImplementedError("rrelu(): not implemented for 'float16' tensors in training")
    source = source_of("rrelu", generator, input._device)
    input = of_each(input)
    noise = input._device.backend.rrelu_noise(input._array, lower, upper, source)
    return prelu(input, wrap(noise, input._device))


@public(method=False, out=Out(checks_first=False))
def threshold(input: Tensor, threshold: float, value: float) -> Tensor:
    """``x`` where it is above ``threshold``, else ``value``.

    Raises:
        NotImplementedError: ``input`` is bool or complex.

    Example:
        >>> import nnkit
        >>> nnkit.threshold(nnkit.tensor([0.5, 2.0]), 1.0, -9.0)
        tensor([-9.,  2.])
    """
    check_tensor("threshold", input)
    if input.dtype.category == INTEGER:
        threshold, value = (fitting("threshold", v, input.dtype) for v in (threshold, value))
    elif input.dtype.category != FLOATING:
        check_floating("threshold", input)
    check_numbers("threshold", input.dtype, threshold, value)
    return _threshold(input, threshold, value)


@public(out=Out(dtype="same"))
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """``x`` where ``|x| > lambd``, else 0.

    Raises:
        NotImplementedError: ``input`` is not floating point.

    Example:
        >>> import nnkit
        >>> nnkit.hardshrink(nnkit.tensor([-1.0, 0.2]))
        tensor([-1.,  0.])
    """
    check_floating("hardshrink", input)
    return _hardshrink(input, fitting_beside("hardshrink", float(lambd), input))


class _SignLost(Node):
    """The node of an activation that was written over its own input: it has no derivative."""

    __slots__ = ()

    def gradients(self, B: Any, grads: list, unpack: Callable) -> list:
        raise RuntimeError(
            f"{self.values}_(): In-place backward calculation is triggered with a negative slope "
            "which is not supported: call out-of-place version"
        )


_OVER = {leaky_relu: _leaky_relu_over, elu: _elu_over, _prelu: _prelu_over}


def in_place_of(op: Callable, slope: float = 0) -> Callable:
    """``op`` as it is written over its input. As in torch its derivative then has the result alone
    to tell the sign of the input by: with a negative slope there is none."""
    if slope >= 0:
        return _OVER.get(op, op)

    def compute(before: Tensor, *arguments: Any) -> Tensor:
        out = op(before, *arguments)
        if out._requires_grad:
            out._edge = _SignLost((out._edge,), op.__name__, out._device)
        return out

    return compute


@cache
def _write_of(op: str, operation: str) -> Callable[..., Tensor | None]:
    return bind_write(f"{op}_", operation, 1, (F4, F8), declined)


def written_over(operation: str, op: Callable, x: Tensor, *scalars: float) -> Tensor | None:
    """``op`` written over its input where that becomes no history and takes but a kernel."""
    if all(-FLOAT32_MAX <= number <= FLOAT32_MAX for number in scalars):
        return _write_of(op.__name__, operation)(x, *scalars)
    return None


def _celu_(self: Tensor, alpha: float = 1.0) -> Tensor:
    out = written_over("celu_", elu, self, float(alpha), 1.0, 1.0 / alpha) if alpha else None
    compute = partial(_celu, in_place_of(elu, alpha))
    return out if out is not None else write(self, "celu_", compute, alpha)


def _selu_(self: Tensor) -> Tensor:
    out = written_over("selu_", elu, self, *_SELU)
    return out if out is not None else write(self, "selu_", partial(_selu, in_place_of(elu)))


def _rrelu_(
    self: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False,
    generator: Any = None,
) -> Tensor:
    compute = partial(_rrelu, in_place_of(leaky_relu, lower + upper), in_place_of(_prelu))
    return write(self, "rrelu_", compute, lower, upper, training, generator)


def _threshold_(self: Tensor, limit: float, value: float) -> Tensor:
    out = None
    if limit.__class__ in (int, float) and value.__class__ in (int, float):
        out = written_over("threshold_", _threshold, self, limit, value)
    return out if out is not None else write(self, "threshold_", threshold, limit, value)


relu_ = PUBLIC["relu_"]
celu_ = public(inplace(celu, "celu_", _celu_), name="celu_", method=False)
selu_ = public(inplace(selu, "selu_", _selu_), name="selu_", method=False)
rrelu_ = public(inplace(rrelu, "rrelu_", _rrelu_), name="rrelu_", method=False)
threshold_ = public(inplace(threshold, "threshold_", _threshold_), name="threshold_", method=False)
