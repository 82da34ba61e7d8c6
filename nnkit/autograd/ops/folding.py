"""Windows as columns and back, and the rearrangements between channels and space."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from nnkit.autograd.arguments.dims import check_tensor
from nnkit.autograd.arguments.sizes import INT64_MAX, check_shape, integer, is_int64
from nnkit.autograd.arguments.spatial import (
    at_least,
    batched,
    exactly,
    gradient_in_format,
    hashable,
    in_format_of,
    ints,
    windows,
)
from nnkit.autograd.op.public import public
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.op.rule import rule
from nnkit.autograd.op.single import single
from nnkit.autograd.tensor import Tensor, on_its_own

_im2col = rule(
    "im2col",
    node="Im2ColBackward0",
    x=lambda B, g, x_shape, kernel, dilation, padding, stride: B.col2im(
        g, x_shape, kernel, dilation, padding, stride
    ),
)
_col2im = rule(
    "col2im",
    node="Col2ImBackward0",
    x=lambda B, g, kernel, dilation, padding, stride: B.im2col(
        g, kernel, dilation, padding, stride
    ),
)

_pixel_shuffle = rule(
    "pixel_shuffle",
    x=lambda B, g, factor: gradient_in_format(B, B.pixel_unshuffle(g, factor), g),
)
_pixel_unshuffle = rule(
    "pixel_unshuffle",
    x=lambda B, g, factor: gradient_in_format(B, B.pixel_shuffle(g, factor), g),
)
_channel_shuffle = rule(
    "channel_shuffle",
    x=lambda B, g, groups: gradient_in_format(B, B.channel_shuffle(g, g.shape[1] // groups), g),
)


@functools.lru_cache(512, typed=True)
def _columns(
    name: str, shape: tuple, kernel_size: Any, dilation: Any, padding: Any, stride: Any
) -> tuple[tuple, int, int]:
    """Kernel, dilation, padding and stride for each axis of an image of ``shape``, and how many
    elements a window has, and how many windows there are."""
    exactly(name, 2, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)
    kernel = at_least(name, "kernel_size", ints(name, "kernel_size", kernel_size, 2), 1)
    dilation = at_least(name, "dilation", ints(name, "dilation", dilation, 2), 1)
    padding = at_least(name, "padding", ints(name, "padding", padding, 2), 0)
    stride = at_least(name, "stride", ints(name, "stride", stride, 2), 1)
    blocks = tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, d, p, s in zip(shape[2:], kernel, dilation, padding, stride)
    )
    if min(blocks) < 1:
        raise RuntimeError(
            f"{name}(): Given an image of spatial size {tuple(shape[2:])}, kernel_size={kernel}, "
            f"dilation={dilation}, padding={padding}, stride={stride}, calculated shape of the "
            f"array of sliding blocks as {blocks}, but its components must be at least one"
        )
    counts, stride, dilation = windows(name, shape, kernel, stride, padding, dilation)
    places, count = math.prod(kernel), math.prod(counts)
    check_shape(name, (shape[0], shape[1] * places, count))
    return (kernel, dilation, padding, stride), places, count


def unfold(
    input: Tensor,
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """The windows that a 2-dimensional convolution looks at, each as a column.

    Args:
        input: (N, C, H, W) or (C, H, W).
        kernel_size: an int or (height, width), as all that follow.

    Returns:
        (N, C * prod(kernel_size), number of windows), or without N.

    Raises:
        RuntimeError: numbers out of range, or no window fits.

    Example:
        >>> import nnkit
        >>> x = nnkit.arange(6.0).reshape(1, 1, 2, 3)
        >>> nnkit.nn.functional.unfold(x, 2)
        tensor([[[0., 1.],
                 [1., 2.],
                 [3., 4.],
                 [4., 5.]]])
    """
    check_tensor("unfold", input)
    if input.ndim < 2 or (input.ndim == 2 and input.shape[1]):  # torch asks for further sizes
        raise IndexError(f"unfold(): expected 3 or 4 dimensions, got shape {list(input.shape)}")
    x = batched("unfold", input, 2)
    if 0 in x.shape[1:]:
        raise RuntimeError(
            "unfold(): Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other "
            f"non-zero dimensions for input, but got: {list(input.shape)}"
        )
    given = map(hashable, (kernel_size, dilation, padding, stride))
    geometry, _, _ = _columns("unfold", x._array.shape, *given)
    columns = _im2col(x, *geometry)
    return columns if input.ndim == 4 else on_its_own(OPS["squeeze"](columns, (0,)))


def fold(
    input: Tensor,
    output_size: int | Sequence[int],
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """Columns of windows, added up where they overlap: the adjoint of `unfold`.

    Args:
        input: (N, C * prod(kernel_size), number of windows), or without N.
        output_size: height and width of the result.
        kernel_size: an int or (height, width), as all that follow.

    Returns:
        (N, C, *output_size), or without N.

    Raises:
        RuntimeError: numbers out of range, or columns that do not fit them.

    Example:
        >>> import nnkit
        >>> F = nnkit.nn.functional
        >>> F.fold(F.unfold(nnkit.ones(1, 1, 2, 3), 2), (2, 3), 2)
        tensor([[[[1., 2., 1.],
                  [1., 2., 1.]]]])
    """
    check_tensor("fold", input)
    x = batched("fold", input, 1)
    size = at_least("fold", "output_size", ints("fold", "output_size", output_size, 2), 1)
    if math.prod(ints("fold", "kernel_size", kernel_size, 2)) > INT64_MAX:
        raise RuntimeError(
            "fold(): the product of kernel_width and kernel_height overflowed, got kernel_size="
            f"{kernel_size}"
        )
    given = map(hashable, (kernel_size, dilation, padding, stride))
    geometry, places, count = _columns("fold", (x.shape[0], 1, *size), *given)
    if not x.shape[1] or x.shape[1] % places:
        raise RuntimeError(
            "fold(): Expected size of input's dimension 1 to be divisible by the product of "
            f"kernel_size, but got {x.shape[1]} and kernel_size={geometry[0]}"
        )
    if x.shape[2] != count:
        raise RuntimeError(
            f"fold(): Given output_size={size}, kernel_size={geometry[0]}, dilation={geometry[1]}, "
            f"padding={geometry[2]}, stride={geometry[3]}, expected size of input's dimension 2 to "
            f"match the calculated number of sliding blocks {count}, but got {x.shape[2]}"
        )
    image = _col2im(x, (x.shape[0], x.shape[1] // places, *size), *geometry)
    return image if input.ndim == 3 else on_its_own(OPS["squeeze"](image, (0,)))


def _factor(name: str, parameter: str, value: Any, input: Tensor) -> int:
    check_tensor(name, input)
    value = integer(name, parameter, value)
    if value < 1:
        what = "Number of groups to divide channels in" if parameter == "groups" else parameter
        raise RuntimeError(f"{name}(): {what} must be positive, got {value}")
    if input.ndim < 3:
        raise RuntimeError(
            f"{name} expects input with > 2 dims, at least 3 dimensions, but got input with sizes "
            f"{list(input.shape)}"
        )
    return value


@public(method=False)
@single(node="PixelShuffleBackward0", saves=False)
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """``(*, C * r**2, H, W)`` as ``(*, C, H * r, W * r)``: channels become pixels.

    Source: Shi et al., "Real-Time Single Image and Video Super-Resolution Using an Efficient
    Sub-Pixel Convolutional Neural Network" (2016).

    Raises:
        RuntimeError: the channels are not divisible by ``upscale_factor ** 2``.

    Example:
        >>> import nnkit
        >>> nnkit.pixel_shuffle(nnkit.arange(4.0).reshape(1, 4, 1, 1), 2)
        tensor([[[[0., 1.],
                  [2., 3.]]]])
    """
    r = _factor("pixel_shuffle", "upscale_factor", upscale_factor, input)
    if not is_int64(r * r):
        raise ValueError(f"pixel_shuffle(): upscale_factor={r} is too large: its square overflows")
    channels = input.shape[-3]
    if channels % r**2:
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
            f"of upscale_factor, {r**2}, but got input of shape {list(input.shape)}"
        )
    return in_format_of(input, _pixel_shuffle(input, r))


@public(method=False)
@single(node="PixelUnshuffleBackward0", saves=False)
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """``(*, C, H * r, W * r)`` as ``(*, C * r**2, H, W)``: the inverse of `pixel_shuffle`.

    Raises:
        RuntimeError: height or width is not divisible by ``downscale_factor``.

    Example:
        >>> import nnkit
        >>> nnkit.pixel_unshuffle(nnkit.arange(4.0).reshape(1, 1, 2, 2), 2).flatten()
        tensor([0., 1., 2., 3.])
    """
    r = _factor("pixel_unshuffle", "downscale_factor", downscale_factor, input)
    height, width = input.shape[-2:]
    if height % r or width % r:
        raise RuntimeError(
            f"pixel_unshuffle(): height and width must be divisible by downscale_factor={r}, got "
            f"input of shape {list(input.shape)}"
        )
    return in_format_of(input, _pixel_unshuffle(input, r))


@public(method=False)
@single(node="ChannelShuffleBackward0", saves=False)
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Channels (dimension 1) regrouped: the first of each group, then the second of each, ...

    Source: Zhang et al., "ShuffleNet" (2018).

    Raises:
        RuntimeError: the channels are not divisible by ``groups``.

    Example:
        >>> import nnkit
        >>> nnkit.channel_shuffle(nnkit.arange(4.0).reshape(1, 4, 1), 2).flatten()
        tensor([0., 2., 1., 3.])
    """
    groups = _factor("channel_shuffle", "groups", groups, input)
    if input.shape[1] % groups:
        raise RuntimeError(
            f"channel_shuffle(): Number of channels must be divisible by groups. Got input of "
            f"shape {list(input.shape)} and {groups} groups"
        )
    return in_format_of(input, _channel_shuffle(input, groups))
