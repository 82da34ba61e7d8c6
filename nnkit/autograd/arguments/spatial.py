"""Arguments of the ops on (N, C, *spatial): numbers for each spatial axis, and the batch axis."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NoReturn

from nnkit.autograd.arguments.dims import check_tensor
from nnkit.autograd.arguments.sizes import check_integers, check_shape, integer
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import BOOL, COMPLEX, FLOATING
from nnkit.backend.memory import by_rows, format_of, format_of_pooled

Ints = tuple[int, ...]

LARGEST_OF_WINDOW = (1 << 31) - 1  # of a pool, as in torch


def ints(name: str, parameter: str, value: Any, axes: int) -> Ints:
    """An int, or a sequence of one int or of one for each axis, as a tuple of ``axes`` ints.

    Raises:
        TypeError: it is neither, or an element does not fit 64 bits.
        ValueError: the int does not.
        RuntimeError: a sequence of another length.
    """
    try:
        if not isinstance(value, (tuple, list)):
            return (integer(name, parameter, value),) * axes
        numbers = tuple(operator.index(v) for v in value)
    except TypeError:
        wanted = f"int or tuple of {axes} ints" if axes > 1 else "int or tuple of one int"
        raise TypeError(
            f"{name}(): argument '{parameter}' must be {wanted}, got {value!r}"
        ) from None
    check_integers(name, parameter, numbers)
    if len(numbers) == 1:
        return numbers * axes
    if len(numbers) != axes:
        raise RuntimeError(
            f"{name}(): argument '{parameter}' must be an int or a tuple of {axes} ints, "
            f"got {len(numbers)}: {value!r}"
        )
    return numbers


def exactly(name: str, axes: int, **values: Any) -> None:
    """RuntimeError where a sequence, which `ints` takes with one number, too, has not ``axes``."""
    for parameter, value in values.items():
        if isinstance(value, (tuple, list)) and len(value) != axes:
            raise RuntimeError(
                f"{name}(): {parameter} must either be a single int or a tuple of {axes} ints, "
                f"got {value!r}"
            )


def at_least(name: str, parameter: str, numbers: Ints, least: int) -> Ints:
    """The numbers; RuntimeError where one is below ``least``."""
    if min(numbers) < least:
        wanted, refused = ("greater than zero", "non-positive") if least else (
            "non-negative", "negative"
        )  # fmt: skip
        raise RuntimeError(
            f"{name}(): {parameter} must be {wanted}, but got {list(numbers)}: {refused} "
            f"{parameter} is not supported"
        )
    return numbers


def windows(
    name: str, shape: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints
) -> tuple[Ints, Ints, Ints]:
    """The number of windows along each axis of ``shape``, (N, C, *spatial), and their strides and
    dilations, cut to the size of the padded input, beyond which they make no difference.

    Raises:
        RuntimeError: no window fits, or the padded input has too many elements.
    """
    padded = tuple(n + 2 * p for n, p in zip(shape[2:], padding))
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilation)]
    if 0 in shape[2:] or any(n < span for n, span in zip(padded, spans)):
        sizes = [" x ".join(map(str, each)) for each in (padded, spans)]
        raise RuntimeError(
            f"{name}(): Calculated padded input size per channel: ({sizes[0]}). "
            f"Kernel size: ({sizes[1]}). Kernel size can't be greater than actual input size"
        )
    check_shape(name, (*shape[:2], *padded))
    strides = tuple(min(s, n) for s, n in zip(stride, padded))
    dilations = tuple(min(d, n) for d, n in zip(dilation, padded))
    counts = tuple((n - span) // s + 1 for n, span, s in zip(padded, spans, strides))
    return counts, strides, dilations


def hashable(value: Any) -> Any:
    """A list as a tuple, so that it can be part of a cache's key."""
    return tuple(value) if isinstance(value, list) else value


def batched(name: str, input: Tensor, axes: int) -> Tensor:
    """``input`` as (N, C, *spatial), with N = 1 where it came without a batch axis.

    Raises:
        RuntimeError: neither one nor two dimensions more than spatial axes.
    """
    ndim = input._array.ndim - axes
    if ndim == 2:
        return input
    if ndim != 1:
        raise RuntimeError(
            f"Expected {axes + 1}D (unbatched) or {axes + 2}D (batched) input to {name}, "
            f"but got input of size: {list(input.shape)}"
        )
    return OPS["unsqueeze"](input, 0)


def like_input(result: Tensor, input: Tensor, format: Callable = format_of) -> Tensor:
    """``result`` without its batch axis where ``input`` had none, with channels last in memory
    where the input has them by ``format``."""
    if result._array.ndim != input._array.ndim:
        return OPS["squeeze"](result, (0,))
    return in_order(result, format(input._array))


def in_format_of(input: Tensor, result: Tensor) -> Tensor:
    """``result`` with channels last in memory where ``input`` has them, else by rows."""
    return in_order(result, format_of(input._array))


def in_order(result: Tensor, axes: Ints | None) -> Tensor:
    """The fresh result of an operation, with its dimensions in this order in memory, the slowest
    first; None for rows."""
    data = result._array
    # The strides of dimensions of size 1 count, too: the next layer looks at them.
    if by_rows(data) if axes is None else format_of(data) == axes:
        return result
    if result._base is not None:
        return OPS["contiguous"](result) if axes is None else OPS["ordered"](result, axes)
    # Its node remains the operation's, as in torch.
    B = result._device.backend
    result._array = B.contiguous(data) if axes is None else B.ordered(data, axes)
    return result


def gradient_in_format(B: Any, gradient: Any, like: Any, format: Callable = format_of) -> Any:
    """A gradient with channels last in memory where ``like`` has them, for the use of rules."""
    axes = format(getattr(like, "_array", like))
    has_format = axes is None or format(getattr(gradient, "_array", gradient)) == axes
    return gradient if has_format else B.ordered(gradient, axes)


def name_of_pool(pattern: str, axes: int) -> str:
    """The node of a pool: torch's of one axis squeezes the result of that of two."""
    return "SqueezeBackward1" if axes == 1 else pattern.format(f"{axes}D") + "Backward0"


def grad_max_pool(B: Any, g_out: Any, x: Any, indices: Any) -> Any:
    """The gradient of a pool that takes the largest elements."""
    gradient = B.max_pool_grad(g_out, indices, tuple(x.shape))
    return gradient_in_format(B, gradient, x, format_of_pooled)


def samples_of(name: str, input: Any, axes: int) -> Tensor:
    """``input`` as (N, C, *spatial), checked.

    Raises:
        TypeError: it is no Tensor.
        RuntimeError: another number of dimensions, or no elements in a sample.
    """
    check_tensor(name, input)
    _check_samples(name, input._array.shape, axes)
    return batched(name, input, axes)


def _check_samples(name: str, shape: Ints, axes: int) -> None:
    if len(shape) - axes not in (1, 2):
        raise RuntimeError(
            f"{name}(): non-empty {axes + 1}D or {axes + 2}D (batch mode) tensor expected for "
            f"input, but got: {list(shape)}"
        )
    if 0 in shape[1:]:
        refuse_empty(name, axes, shape)


def refuse_empty(name: str, axes: int, shape: Ints) -> NoReturn:
    """RuntimeError: an input of this shape has samples without elements."""
    raise RuntimeError(
        f"{name}(): Expected input to have non-zero size for non-batch dimensions, a "
        f"{axes + 1}D or {axes + 2}D (batch mode) tensor, but got: {list(shape)}"
    )


def check_pooled(name: str, x: Tensor, integers: bool) -> None:
    """NotImplementedError of a dtype that cannot be pooled; the geometry is looked at before."""
    category = x.dtype.category
    if category in (BOOL, COMPLEX) or (category != FLOATING and not integers):
        raise NotImplementedError(f"{name}(): not implemented for {x.dtype.name} tensors")


def pooled_input(
    name: str, axes: int, input: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
    ceil: bool,
) -> tuple[Tensor, tuple[Ints, Ints, Ints, Ints]]:  # fmt: skip
    """`samples_of` a pool, which have channels; and kernel, stride, padding and dilation for each
    axis, checked; no stride means the kernel's.

    Raises:
        TypeError: an argument is neither an int nor a sequence of ints.
        RuntimeError: a number out of range, or no window fits.
    """
    check_tensor(name, input)
    given = (kernel_size, stride, padding, dilation)
    if list in map(type, given):
        given = map(hashable, given)
    statics = _geometry(name, axes, input._array.shape, *given, bool(ceil))
    return batched(name, input, axes), statics


@lru_cache(512, typed=True)
def _geometry(
    name: str, axes: int, shape: Ints, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
    ceil: bool,
) -> tuple[Ints, Ints, Ints, Ints]:  # fmt: skip
    _check_samples(name, shape, axes)
    if not shape[-axes - 1]:  # of one sample the channels come first
        refuse_empty(name, axes, shape)
    spatial = shape[-axes:]
    kernel = at_least(name, "kernel_size", ints(name, "kernel_size", kernel_size, axes), 1)
    missing = stride is None or (isinstance(stride, tuple) and not stride)
    strides = kernel if missing else ints(name, "stride", stride, axes)
    at_least(name, "stride", strides, 1)
    pads = at_least(name, "padding", ints(name, "padding", padding, axes), 0)
    dilations = at_least(name, "dilation", ints(name, "dilation", dilation, axes), 1)
    for numbers in (kernel, strides, pads, dilations):
        if max(numbers) > LARGEST_OF_WINDOW:
            raise RuntimeError(
                f"{name}(): value cannot be converted to type int without overflow: {max(numbers)}"
            )
    if any(2 * p > k for p, k in zip(pads, kernel)):
        raise RuntimeError(
            f"{name}(): pad should be at most half of effective kernel size, but got pad={pads}, "
            f"kernel_size={kernel} and dilation={dilations}"
        )
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilations)]
    for n, span, s, p in zip(spatial, spans, strides, pads):
        if n + 2 * p - span + (s - 1 if ceil else 0) < 0:
            raise RuntimeError(
                f"{name}(): Output size is too small: no window of kernel_size={kernel} and "
                f"dilation={dilations} fits into input of size {list(spatial)} with padding={pads}"
            )
    return kernel, strides, pads, dilations
