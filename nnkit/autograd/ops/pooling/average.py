"""Average pooling, and pooling by the p-norm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nnkit.autograd.arguments.dims import check_tensor
from nnkit.autograd.arguments.spatial import (
    check_pooled,
    gradient_in_format,
    ints,
    like_input,
    name_of_pool,
    pooled_input,
)
from nnkit.autograd.op.out import Out
from nnkit.autograd.op.promotion import check_dtype
from nnkit.autograd.op.public import public
from nnkit.autograd.op.rule import rule
from nnkit.autograd.ops.elementwise.activation import relu
from nnkit.autograd.ops.elementwise.arithmetic import abs, mul, neg, sign
from nnkit.autograd.ops.elementwise.power import pow
from nnkit.autograd.ops.pooling.max import max_pool1d, max_pool2d, max_pool3d
from nnkit.autograd.tensor import Tensor, on_its_own
from nnkit.backend.dtype import int64
from nnkit.backend.memory import format_of_pooled

__all__ = ["avg_pool1d", "avg_pool2d", "avg_pool3d", "lp_pool1d", "lp_pool2d", "lp_pool3d"]

_avg_pool = rule(
    "avg_pool", depends="backward",
    node=lambda operands, statics: name_of_pool("AvgPool{}", len(statics[0])),
    x=lambda B, g, x, kernel, stride, padding, ceil_mode, count_include_pad, divisor: (
        gradient_in_format(
            B,
            B.avg_pool_grad(
                g, tuple(x.shape), kernel, stride, padding, ceil_mode, count_include_pad, divisor
            ),
            x,
            format_of_pooled,
        )
    ),
)  # fmt: skip
rule(
    "avg_pool_grad",
    g=lambda B, g_out, kernel, stride, padding, ceil_mode, count_include_pad, divisor: B.avg_pool(
        g_out, kernel, stride, padding, ceil_mode, count_include_pad, divisor
    ),
)


def _pool(
    name: str, axes: int, input: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool,
    count_include_pad: bool, divisor: int | None = None,
) -> Tensor:  # fmt: skip
    check_tensor(name, input)
    if axes == 2 and input.ndim < 3:
        raise IndexError(f"{name}(): expected 3 or 4 dimensions, got shape {list(input.shape)}")
    given = (kernel_size, stride, padding, 1, ceil_mode)
    x, (kernel, stride, padding, _) = pooled_input(name, axes, input, *given)
    if divisor == 0:
        raise RuntimeError(f"{name}(): argument 'divisor_override' must not be zero")
    if axes == 3 and any(n < k for n, k in zip(x._array.shape[2:], kernel, strict=True)):
        raise RuntimeError(  # of volumes torch asks this even with padding
            f"{name}(): input {list(x._array.shape[2:])} is smaller than kernel_size {kernel}"
        )
    check_pooled(name, x, x.dtype is int64)
    if axes == 3:
        check_dtype(name, x.dtype, ("half",))
    statics = (kernel, stride, padding, bool(ceil_mode), bool(count_include_pad), divisor)
    format = format_of_pooled if axes < 3 else lambda volumes: None  # as torch's kernel makes them
    found = like_input(_avg_pool(x, *statics), input, format)
    return found if x is input else on_its_own(found)


@public(method=False)
def avg_pool1d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window; see `nnkit.nn.functional.avg_pool2d`.

    Args:
        input: (N, C, L) or (C, L).

    Example:
        >>> import nnkit
        >>> nnkit.avg_pool1d(nnkit.tensor([[1.0, 3.0, 2.0, 4.0]]), 2)
        tensor([[2., 3.]])
    """
    return _pool("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad)


@public(namespace=False, method=False, out=Out(dtype="same"))
def avg_pool2d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window of a (batch of) images.

    Args:
        input: (N, C, H, W) or (C, H, W).
        kernel_size: an int or one for each axis, as all that follow.
        stride: the distance of the windows, by default ``kernel_size``.
        padding: how far windows may reach over the ends, at most half of the kernel.
        ceil_mode: whether a last window may reach over the end (of input and padding).
        count_include_pad: whether the zeros of the padding count as elements.
        divisor_override: what the sum of each window is divided by instead of their number.

    Raises:
        TypeError: an argument of the wrong type.
        RuntimeError: numbers or a shape that do not fit together.
        NotImplementedError: a dtype that is neither floating point nor int64.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([[[1.0, 5.0, 2.0, 0.0], [3.0, 3.0, 8.0, 6.0]]])
        >>> nnkit.nn.functional.avg_pool2d(x, 2)
        tensor([[[3., 4.]]])
    """
    return _pool(
        "avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad,
        divisor_override,
    )  # fmt: skip


@public(namespace=False, method=False, out=Out(dtype="same"))
def avg_pool3d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window of a volume; see `nnkit.nn.functional.avg_pool2d`.

    Args:
        input: (N, C, D, H, W) or (C, D, H, W).

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.avg_pool3d(nnkit.ones(1, 2, 4, 4, 4), 2).shape
        nnkit.Size([1, 2, 2, 2, 2])
    """
    return _pool(
        "avg_pool3d", 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad,
        divisor_override,
    )  # fmt: skip


def _norm_pool(
    name: str, axes: int, input: Any, norm_type: float, kernel_size: Any, stride: Any,
    ceil_mode: bool,
) -> Tensor:  # fmt: skip
    check_tensor(name, input)
    count = math.prod(ints(name, "kernel_size", kernel_size, axes))
    if norm_type in (math.inf, -math.inf):  # the largest, or smallest, size
        pool = (max_pool1d, max_pool2d, max_pool3d)[axes - 1]
        if norm_type > 0:
            return pool(abs(input), kernel_size, stride, 0, 1, ceil_mode)
        return neg(pool(neg(abs(input)), kernel_size, stride, 0, 1, ceil_mode))
    powers = pow(input, norm_type)
    mean = _pool(name, axes, powers, kernel_size, stride, 0, ceil_mode, True)
    # Through relu, so that the infinite slope of a root at 0 becomes a gradient of 0.
    total = mul(mul(sign(mean), relu(abs(mean))), count)
    return pow(total, 1.0 / norm_type)


def lp_pool1d(
    input: Tensor,
    norm_type: float,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The p-norm of each window; see `lp_pool2d`.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.lp_pool1d(nnkit.tensor([[3.0, 4.0, 0.0, 1.0]]), 2, 2)
        tensor([[5., 1.]])
    """
    return _norm_pool("lp_pool1d", 1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    input: Tensor,
    norm_type: float,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The p-norm of each window: ``sum(x**p) ** (1/p)``, with gradient 0 where the sum is 0.

    With p ``inf`` it is the largest size of an element, with ``-inf`` the smallest.

    Args:
        input: (N, C, H, W) or (C, H, W).
        norm_type: p; 1 is the sum of a window.
        kernel_size: an int or (height, width), as ``stride``, which is ``kernel_size`` by default.
        ceil_mode: whether a last window may reach over the end.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([[[3.0, 0.0], [0.0, 4.0]]])
        >>> nnkit.nn.functional.lp_pool2d(x, 2, 2)
        tensor([[[5.]]])
    """
    return _norm_pool("lp_pool2d", 2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(
    input: Tensor,
    norm_type: float,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The p-norm of each window of a volume; see `lp_pool2d`.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.lp_pool3d(nnkit.ones(1, 2, 4, 4, 4), 3, 2)[0, 0, 0, 0]
        tensor([2., 2.])
    """
    return _norm_pool("lp_pool3d", 3, input, norm_type, kernel_size, stride, ceil_mode)
