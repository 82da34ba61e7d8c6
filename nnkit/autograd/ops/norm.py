"""Normalization: subtract the mean and divide by the standard deviation, over some dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from nnkit.autograd.arguments.dims import check_tensor, size_at
from nnkit.autograd.arguments.overriding import is_intercepted
from nnkit.autograd.arguments.sizes import integer
from nnkit.autograd.arguments.spatial import Ints, gradient_in_format, in_format_of, in_order
from nnkit.autograd.forward.dual import dual_of, is_dual
from nnkit.autograd.op.promotion import on_one_device
from nnkit.autograd.op.public import public
from nnkit.autograd.op.rule import check_constant, guarded, rule
from nnkit.autograd.ops.creation.conversion import converted
from nnkit.autograd.ops.shape.reshaping import reshape
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.autograd.views.writes import check_write, write, wrote
from nnkit.backend.dtype import BOOL, COMPLEX, FLOATING, HALF, complex128, float32, float64
from nnkit.backend.memory import CHANNELS_LAST, by_rows, format_of, is_ordered

STATISTICS = ("mean", "variance")


def _with_bias(grads: tuple, g: Any, needs: tuple) -> tuple:
    """The gradients of x and weight, and of the bias, which the engine sums up."""
    return *grads, g if needs[2] else None


_layer_norm = rule(
    "layer_norm", node="NativeLayerNormBackward0", broadcasts=True, nondifferentiable=STATISTICS,
    depends="none", also={"bias": ("bias",)},
    joint=lambda B, g_out, x, weight, mean, variance, ndim, eps, needs: _with_bias(
        B.layer_norm_grad(g_out, x, weight, mean, variance, ndim, eps), g_out, needs
    ),
)
_rms_norm = rule(
    "rms_norm", node="MulBackward0", alone="recorded", nondifferentiable=("variance",),
    joint=lambda B, g_out, x, weight, variance, ndim, eps: _in_format(
        B, g_out, *B.rms_norm_grad(g_out, x, weight, variance, ndim, eps)
    ),
)


def _sum_channels(B: Any, g: Any) -> Any:
    return B.sum(g, (0, *range(2, g.ndim)), False)


def _in_format(B: Any, x: Any, g_x: Any, *others: Any) -> tuple:
    """The gradients, of which the first, that of the input, lies as ``x`` does."""
    return None if g_x is None else gradient_in_format(B, g_x, x), *others


def _grad_group_norm(
    B: Any, g_out: Any, x: Any, weight: Any, mean: Any, variance: Any, groups: Any, eps: Any,
    needs: Any,
) -> tuple:
    g_x, g_weight = B.group_norm_grad(g_out, x, weight, mean, variance, groups, eps)
    return g_x, g_weight, _sum_channels(B, g_out) if needs[2] else None


# torch's is a batch norm of its input by rows.
_instance_norm = rule(
    "group_norm", alone="recorded", node="NativeBatchNormBackward0", nondifferentiable=STATISTICS,
    joint=_grad_group_norm,
)
_group_norm = rule(
    "group_norm", alone="recorded", node="NativeGroupNormBackward0", nondifferentiable=STATISTICS,
    joint=lambda B, g_out, x, weight, mean, variance, groups, eps, needs: _in_format(
        B, x, *_grad_group_norm(B, g_out, x, weight, mean, variance, groups, eps, needs)
    ),
)
_batch_norm = rule(
    "batch_norm", alone="recorded", node="NativeBatchNormBackward0", nondifferentiable=STATISTICS,
    depends="none",
    joint=lambda B, g_out, x, weight, mean, variance, eps, needs: (
        *_in_format(B, x, *B.batch_norm_grad(g_out, x, weight, mean, variance, eps)),
        _sum_channels(B, g_out) if needs[2] else None,
    ),
)


def _grad_batch_norm_eval(
    B: Any, g: Any, x: Any, weight: Any, mean: Any, scale: Any, needs: tuple
) -> tuple:
    dtype, wide = (getattr(t, "_array", t).dtype for t in (x, scale))
    if dtype is not wide:  # half precision is rounded once, as forward
        g, x, weight, mean = (None if t is None else B.cast(t, wide) for t in (g, x, weight, mean))
        grads = _grad_batch_norm_eval(B, g, x, weight, mean, scale, needs)
        return tuple(None if t is None else B.cast(t, dtype) for t in grads)
    grads = B.batch_norm_eval_grad(g, x, weight, mean, scale, needs[1])
    return *_in_format(B, x, *grads), _sum_channels(B, g) if needs[2] else None, None, None


_batch_norm_eval = rule(
    "batch_norm_eval", node="NativeBatchNormBackward0", depends="none", fixed=("mean", "scale"),
    joint=_grad_batch_norm_eval,
)


_BY_SAMPLES = ("layer_norm", "group_norm")


def _keeps_wide(input: Tensor, *parameters: Tensor | None) -> bool:
    """Whether an input of half precision has wider parameters, so that the result alone is."""
    given = [p for p in parameters if p is not None]
    return input._array.dtype in HALF and any(p._array.dtype == float32.array for p in given)


def _wide(function: Callable[..., Tensor], input: Tensor, *arguments: Any) -> Tensor:
    """A norm of an input of half precision with wide parameters, as torch computes it."""
    out = function(converted(input, float32), *arguments)
    return guarded(function.__name__, converted(out, input.dtype), input)


def _check(name: str, input: Tensor, expected: tuple, **parameters: Tensor | None) -> list:
    """The parameters; torch's errors where they do not fit the input."""
    check_tensor(name, input)
    found = []
    for parameter, value in parameters.items():
        if value is not None:
            check_tensor(name, value, parameter)
            _check_shape(name, input, expected, parameter, value)
            asked = input.dtype.category == FLOATING  # else the kernel speaks first
            if name in _BY_SAMPLES and parameter == "weight":
                asked = True
            if value.dtype is not input.dtype and asked:
                raise RuntimeError(
                    f"{name}(): mixed dtype: input is {input.dtype}, {parameter} {value.dtype}"
                )
        found.append(value)
    return found


def _check_shape(name: str, input: Tensor, expected: tuple, parameter: str, value: Tensor) -> None:
    if value._array.shape != expected:
        raise RuntimeError(
            f"{name}(): expected {parameter} of shape {list(expected)}, "
            f"but got {list(value.shape)} for input of shape {list(input.shape)}"
        )


def _normalized(name: str, input: Tensor, normalized_shape: Any) -> tuple[int, ...]:
    if not isinstance(normalized_shape, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'normalized_shape' must be tuple of ints, "
            f"not {type(normalized_shape).__name__}"
        )
    shape = tuple(normalized_shape)
    if not shape:
        raise RuntimeError(
            f"{name}(): Expected normalized_shape to be at least 1-dimensional, but got []"
        )
    check_tensor(name, input)
    for position, n in enumerate(shape):
        if not isinstance(n, int):
            raise TypeError(
                f"{name}(): argument 'normalized_shape' must be tuple of ints, but found element "
                f"of type {type(n).__name__} at pos {position}"
            )
    if tuple(input._array.shape[-len(shape) :]) != shape:
        raise RuntimeError(
            f"{name}(): Given normalized_shape={list(shape)}, expected input with shape "
            f"[*, {str(list(shape))[1:]}, but got input of size {list(input.shape)}"
        )
    return shape


@public(method=False)
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    """``(x - mean(x)) / sqrt(var(x) + eps) * weight + bias`` over the last dimensions.

    Ba et al., "Layer normalization", 2016. The variance is the biased one.

    Args:
        input: (..., *normalized_shape), floating point.
        normalized_shape: the sizes of the last dimensions, over which mean and variance are taken.
        weight: of that shape.
        bias: of that shape.
        eps: keeps the quotient finite.
        cudnn_enable: accepted for PyTorch's sake.

    Raises:
        RuntimeError: the shapes do not fit each other.
        NotImplementedError: ``input`` is not floating point.

    Example:
        >>> import nnkit
        >>> nnkit.layer_norm(nnkit.tensor([1.0, 3.0]), (2,), eps=0.0)
        tensor([-1.,  1.])
    """
    shape = _normalized("layer_norm", input, normalized_shape)
    if _keeps_wide(input, weight, bias):
        return _wide(layer_norm, input, shape, weight, bias, eps)
    weight, bias = _check("layer_norm", input, shape, weight=weight, bias=bias)
    return _layer_norm(input, weight, bias, len(shape), eps)[0]


@public(method=False)
def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """``x / sqrt(mean(x**2) + eps) * weight`` over the last dimensions.

    Zhang and Sennrich, "Root mean square layer normalization", 2019.

    Args:
        input: (..., *normalized_shape), floating point or complex.
        normalized_shape: the sizes of the last dimensions, over which the mean is taken.
        weight: of that shape.
        eps: by default the distance from 1 to the next number (of float32 for half precision).

    Raises:
        RuntimeError: the shapes do not fit each other.
        NotImplementedError: ``input`` is not floating point.

    Example:
        >>> import nnkit
        >>> nnkit.rms_norm(nnkit.tensor([3.0, 3.0]), (2,))
        tensor([1., 1.])
    """
    check_tensor("rms_norm", input)
    if isinstance(weight, Tensor) and isinstance(normalized_shape, (tuple, list)):
        _check_shape("rms_norm", input, tuple(normalized_shape), "weight", weight)
    if isinstance(normalized_shape, (tuple, list)) and input.ndim < len(normalized_shape):
        raise ValueError(
            f"rms_norm(): input must have at least {len(normalized_shape)} dimensions, got shape "
            f"{list(input.shape)}"
        )
    shape = _normalized("rms_norm", input, normalized_shape)
    if eps is None:
        eps = 2.0**-52 if input.dtype in (float64, complex128) else 2.0**-23
    if input.dtype.category == COMPLEX:
        mean = (input * input).mean(tuple(range(-len(shape), 0)), True)
        out = input * (mean + eps).rsqrt()
        if weight is None:
            return out
        _check_shape("rms_norm", input, shape, "weight", weight)
        return converted(out * weight, input.dtype)
    other = isinstance(weight, Tensor) and weight.dtype is not input.dtype
    if weight is not None and other and (input.itemsize > 2 or weight.dtype is not float32):
        return converted(rms_norm(input, shape, None, eps) * weight, input.dtype)
    if _keeps_wide(input, weight):
        return _wide(rms_norm, input, shape, weight, eps)
    (weight,) = _check("rms_norm", input, shape, weight=weight)
    return in_format_of(input, _rms_norm(input, weight, len(shape), eps)[0])


@public(method=False)
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    """``(x - mean(x)) / sqrt(var(x) + eps) * weight + bias`` over groups of channels.

    Wu and He, "Group normalization", 2018. The variance is the biased one.

    Args:
        input: (N, C, ...), floating point.
        num_groups: into how many groups the channels are divided.
        weight: (C,).
        bias: (C,).
        eps: keeps the quotient finite.
        cudnn_enabled: accepted for PyTorch's sake.

    Raises:
        RuntimeError: the shapes do not fit each other or the number of groups.
        NotImplementedError: ``input`` is not floating point.

    Example:
        >>> import nnkit
        >>> nnkit.group_norm(nnkit.tensor([[1.0, 3.0, 0.0, 8.0]]), 2, eps=0.0)
        tensor([[-1.,  1., -1.,  1.]])
    """
    check_tensor("group_norm", input)
    channels = size_at("group_norm", input, 1)
    if integer("group_norm", "num_groups", num_groups) <= 0 or channels % num_groups:
        raise RuntimeError(
            "group_norm(): Expected number of channels in input to be divisible by num_groups, "
            f"but got input of shape {list(input.shape)} and num_groups={num_groups}"
        )
    if _keeps_wide(input, weight, bias):
        return _wide(group_norm, input, num_groups, weight, bias, eps)
    weight, bias = _check("group_norm", input, (channels,), weight=weight, bias=bias)
    return in_format_of(input, _group_norm(input, weight, bias, num_groups, eps)[0])


def count_batch(counter: Tensor) -> None:
    """Add 1 to the number of batches that running statistics have seen."""
    if counter.dtype.category == BOOL:
        raise RuntimeError("batch_norm(): the number of batches can't be cast to bool")
    if is_intercepted():  # a mode sees the call that users would write
        counter.add_(1)
    else:
        write(counter, "add_", None, 1, kernel=counter._device.backend.add_)


def _update(
    running_mean: Tensor, running_var: Tensor, mean: Any, variance: Any, momentum: float,
    count: int, out: Tensor,
) -> None:  # fmt: skip
    """Move the running statistics towards the ones of this batch, with the unbiased variance.

    Raises:
        RuntimeError: they are on another device than the result ``out``.
    """
    for running in (running_mean, running_var):
        if running._device is not out._device and running.device != out.device:
            on_one_device("batch_norm", (out, running))
        check_write(running, "batch_norm")
    correction = count / (count - 1) if count > 1 else math.nan
    running_mean._device.backend.update_running_(
        running_mean._array, running_var._array, mean, variance, momentum, correction
    )
    for running in (running_mean, running_var):
        wrote(running, "batch_norm")


def _primals(input: Tensor, *running: Tensor | None, training: bool) -> list[Tensor | None]:
    """Running statistics without tangents, through which no derivative goes.

    Raises:
        RuntimeError: they count, and have tangents, as the input has.
    """
    if not training and _tangent(input) is not None:
        if any(s is not None and _tangent(s) is not None for s in running):
            raise RuntimeError(
                "batch_norm is not differentiable wrt running_mean and running_var, they cannot "
                "have forward grad defined"
            )
    return [s if s is None or _tangent(s) is None else dual_of(s).primal for s in running]


def _tangent(value: Tensor) -> Tensor | None:
    return dual_of(value).tangent if is_dual(value) else None


def _check_both(name: str, running_mean: Tensor | None, running_var: Tensor | None) -> None:
    if (running_mean is None) != (running_var is None):
        raise ValueError(
            f"{name}(): running_mean and running_var must either both be None or neither be None"
        )


@public(method=False)
def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """``(x - mean) / sqrt(variance + eps) * weight + bias`` for each channel.

    Ioffe and Szegedy, "Batch normalization", 2015. In training mean and (biased) variance are
    those of the batch, and the running ones move towards them (the variance towards the unbiased
    one): ``running = (1 - momentum) * running + momentum * new``. Otherwise the running ones count.

    Args:
        input: (N, C) or (N, C, ...), floating point.
        weight: (C,).
        bias: (C,).
        running_mean: (C,); written in training.
        running_var: (C,); written in training.
        training: whose statistics count.
        momentum: how far the running ones move.
        eps: keeps the quotient finite.
        cudnn_enabled: accepted for PyTorch's sake.

    Raises:
        RuntimeError: the shapes do not fit each other, or running statistics are missing.
        NotImplementedError: ``input`` is not floating point.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([[1.0, 10.0], [3.0, 30.0]])
        >>> nnkit.batch_norm(x, None, None, None, None, True, 0.1, 0.0, False)
        tensor([[-1., -1.],
                [ 1.,  1.]])
    """
    check_tensor("batch_norm", input)
    running_mean, running_var = _primals(input, running_mean, running_var, training=training)
    own = (weight, bias, running_mean, running_var)
    if input.ndim == 1 and not input._array.size:
        return _of_nothing(input, weight, bias)
    if input.ndim < 2 and (not input.ndim or any(p is not None for p in own)):
        raise RuntimeError(f"batch_norm(): expected input (N, C, ...), got {list(input.shape)}")
    channels = (size_at("batch_norm", input, 1),)
    if not input._array.size:
        return _of_nothing(input, weight, bias)
    for name, statistic in (("running_mean", running_mean), ("running_var", running_var)):
        if statistic is not None:
            check_constant("batch_norm", name, statistic, around=True)
        elif not training:
            raise RuntimeError(f"batch_norm(): {name} must be defined in evaluation mode")
    # torch looks at how many elements they have, not at their shapes.
    weight, bias, running_mean, running_var = [
        reshape(p, channels) if p is not None and p._array.shape != channels == (p.numel(),) else p
        for p in own
    ]
    given = (weight, bias, running_mean, running_var)
    if _keeps_wide(input, *given):
        return _wide(batch_norm, input, *given, training, momentum, eps, cudnn_enabled)
    weight, bias, mean, var = _check(
        "batch_norm", input, channels,
        weight=weight, bias=bias, running_mean=running_mean, running_var=running_var,
    )
    _check_both("batch_norm", running_mean, running_var)
    if not training:
        # Copies: training may go on and move the running ones before the backward.
        input, mean, var = on_one_device("batch_norm", (input, mean, var))
        B, place = input._device.backend, input._device
        spread = var._array
        if spread.dtype in HALF:
            spread = B.cast(spread, float32.array)
        scale = B.rsqrt(B.add(spread, eps))
        frozen = wrap(B.copy(mean._array), place), wrap(scale, place)
        return in_order(_batch_norm_eval(input, weight, bias, *frozen), _order_of(input))
    out, batch_mean, batch_variance = _batch_norm(input, weight, bias, eps)
    if running_mean is not None and running_var is not None and input._array.size:
        count = input._array.size // channels[0]
        mean, variance = batch_mean._array, batch_variance._array
        _update(running_mean, running_var, mean, variance, momentum, count, out)
    return in_order(out, _order_of(input))


def _of_nothing(input: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """A batch without elements, with the history and the dtype that the first parameters give."""
    out = input.clone()
    out = out if weight is None else out * weight[0]
    return out if bias is None else out + bias[0]


def _order_of(input: Tensor) -> Ints | None:
    """The order of a normalised batch in memory: that of an input without gaps, whatever its steps
    over single elements, else that of other layers."""
    axes, data = CHANNELS_LAST.get(input.ndim), input._array
    if axes is None or by_rows(data):
        return None
    return axes if is_ordered(data, axes) else format_of(data)


def _running_statistics(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, dtype: Any,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The running mean and variance by which `instance_norm` normalises, after torch's checks."""
    for parameter, value in (
        ("weight", weight), ("bias", bias), ("running_mean", running_mean),
        ("running_var", running_var),
    ):  # fmt: skip
        if value is not None and value.ndim > 1:
            raise RuntimeError(
                f"instance_norm(): expected {parameter} of at most 1 dimension, got shape "
                f"{list(value.shape)}"
            )
    if running_mean is None or running_var is None:
        raise RuntimeError(
            "instance_norm(): Expected running_mean and running_var to be defined when "
            "use_input_stats is false"
        )
    if running_mean.dtype is dtype and running_var.dtype is not dtype:
        raise RuntimeError(
            f"instance_norm(): expected running_var of {dtype}, as running_mean is, got "
            f"{running_var.dtype}"
        )
    if not input._array.shape[0]:
        raise IndexError("instance_norm(): an input without samples has no statistics")
    return running_mean.clone().to(dtype), running_var.clone().to(dtype)


@public(method=False)
def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """`batch_norm` of each sample by itself; running statistics are averaged over the batch.

    Ulyanov et al., "Instance normalization: the missing ingredient for fast stylization", 2016.

    Args:
        input: (N, C, ...), floating point.
        weight: (C,).
        bias: (C,).
        running_mean: (C,); written where the input's statistics are used.
        running_var: (C,); written where the input's statistics are used.
        use_input_stats: whose statistics count.
        momentum: how far the running ones move.
        eps: keeps the quotient finite.
        cudnn_enabled: accepted for PyTorch's sake.

    Raises:
        RuntimeError: the shapes do not fit each other, or running statistics are missing.
        NotImplementedError: ``input`` is not floating point.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([[[1.0, 3.0], [0.0, 8.0]]])
        >>> nnkit.instance_norm(x, None, None, None, None, True, 0.1, 0.0, False)
        tensor([[[-1.,  1.],
                 [-1.,  1.]]])
    """
    if weight is not None:
        weight = weight.clone()  # torch repeats it for each sample, and keeps the repetition
    dtype = (input if weight is None else weight).dtype
    running_mean, running_var = _primals(
        input, running_mean, running_var, training=use_input_stats
    )
    if not use_input_stats:
        running = _running_statistics(input, weight, bias, running_mean, running_var, dtype)
        out = batch_norm(input, weight, bias, *running, False, momentum, eps, cudnn_enabled)
        return reshape(out, input.shape)
    check_tensor("instance_norm", input)
    channels = size_at("instance_norm", input, 1)
    if not input._array.size:
        count = input._array.shape[0]
        return _of_nothing(input, *[p if p is None else p.repeat(count) for p in (weight, bias)])
    running = [s for s in (running_mean, running_var) if s is not None]
    if any(s.dtype is not dtype for s in running) and len(running) == 2:
        same = [s.to(dtype) for s in running]
        out = instance_norm(input, weight, bias, *same, True, momentum, eps, cudnn_enabled)
        for own, moved in zip(running, same, strict=True):
            own.copy_(moved)
        return out
    if _keeps_wide(input, weight, bias):
        given = (weight, bias, running_mean, running_var)
        return _wide(instance_norm, input, *given, True, momentum, eps, cudnn_enabled)
    weight, bias, _, _ = _check(
        "instance_norm", input, (channels,),
        weight=weight, bias=bias, running_mean=running_mean, running_var=running_var,
    )
    _check_both("instance_norm", running_mean, running_var)
    shape = input._array.shape
    if input._array.dtype in HALF:  # as in torch, whose batch norm rounds its statistics
        weight, bias = (p if p is None else p.repeat(shape[0]) for p in (weight, bias))
        rows = reshape(input, (1, shape[0] * channels, math.prod(shape[2:])))
        out, mean, variance = _batch_norm(rows, weight, bias, eps)
    else:
        out, mean, variance = _instance_norm(input, weight, bias, channels, eps)
    if running_mean is not None and running_var is not None:
        B = mean._device.backend
        count = math.prod(shape[2:])
        found = (B.reshape(s._array, (shape[0], channels, 1, 1)) for s in (mean, variance))
        average, spread = (B.mean(s, (0,), False) for s in found)
        _update(running_mean, running_var, average, spread, momentum, count, out)
    return reshape(out, shape)  # a view of it, as torch's is
