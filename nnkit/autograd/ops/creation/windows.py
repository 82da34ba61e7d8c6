"""Windows of signals, periodic by default."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from nnkit.autograd.arguments.factory import dtype_of, is_strided
from nnkit.autograd.grad_mode import no_grad
from nnkit.autograd.op.public import public
from nnkit.autograd.ops.creation.factories import ones
from nnkit.autograd.ops.creation.ranges import arange
from nnkit.autograd.ops.elementwise.special import i0
from nnkit.autograd.ops.shape.joining import cat
from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import COMPLEX, FLOATING


def _window(
    name: str, length: int, periodic: bool, shape: Callable, dtype: Any, layout: Any, device: Any,
    requires_grad: bool,
) -> Tensor:  # fmt: skip
    """``shape(x, n)`` of the numbers x from 0 to n; periodic, it would begin anew at n."""
    kind = dtype_of(name, dtype)
    if not is_strided(layout):
        raise RuntimeError(f"{name} is not implemented for sparse types, got: {layout}")
    if kind.category < FLOATING:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {kind.name}")
    if length < 0:
        raise RuntimeError(
            f"{name} requires non-negative window_length, got window_length={length}"
        )
    if kind.category == COMPLEX and length > 1:
        raise NotImplementedError(f"{name}(): not implemented for '{kind.name}' tensors")
    if length < 2:
        result = ones(length, dtype=kind, device=device)
    else:
        n = length if periodic else length - 1
        with no_grad():
            result = shape(arange(n + 1, dtype=kind, device=device), n)[:length].clone()
    return result.requires_grad_(requires_grad)


def _scaled(x: Tensor, factor: float) -> Tensor:
    """``x`` times the factor, which torch rounds to half precision first."""
    return x.mul_(x.new_tensor(factor))


@public(method=False)
def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *,
    dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Hamming's window, ``alpha - beta * cos(2 pi k / n)``.

    Args:
        window_length: how many points it has.
        periodic: whether n is ``window_length``, so that windows follow each other; else it is
            ``window_length - 1``, and the window symmetric.
        alpha, beta: the numbers of the formula.
        dtype: a floating dtype, the default one unless given.

    Raises:
        RuntimeError: the length is negative, or the dtype not of floating point.

    Example:
        >>> import nnkit
        >>> nnkit.hamming_window(4)
        tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """

    def shape(x: Tensor, n: int) -> Tensor:
        return _scaled(x, 2 * math.pi / n).cos_().mul_(-beta).add_(alpha)

    return _window(
        "hamming_window", window_length, periodic, shape, dtype, layout, device, requires_grad
    )


@public(method=False)
def hann_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Hann's window, ``sin(pi k / n)**2``; see `hamming_window`.

    Example:
        >>> import nnkit
        >>> nnkit.hann_window(4)
        tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """

    def shape(x: Tensor, n: int) -> Tensor:
        return _scaled(x, 2 * math.pi / n).cos_().mul_(-0.5).add_(0.5)

    return _window(
        "hann_window", window_length, periodic, shape, dtype, layout, device, requires_grad
    )


@public(method=False)
def bartlett_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Bartlett's window, the triangle ``1 - |2 k / n - 1|``; see `hamming_window`.

    Example:
        >>> import nnkit
        >>> nnkit.bartlett_window(4)
        tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """

    def shape(x: Tensor, n: int) -> Tensor:
        x = _scaled(x, 2 / n)
        rising = n // 2 + 1
        return cat([x[:rising], x[rising:].mul(-1).add_(2)])

    return _window(
        "bartlett_window", window_length, periodic, shape, dtype, layout, device, requires_grad
    )


@public(method=False)
def blackman_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Blackman's window, ``0.42 - cos(2 pi k / n) / 2 + 0.08 cos(4 pi k / n)``; see
    `hamming_window`.

    Example:
        >>> import nnkit
        >>> nnkit.blackman_window(4).abs()
        tensor([2.9802e-08, 3.4000e-01, 1.0000e+00, 3.4000e-01])
    """

    def shape(x: Tensor, n: int) -> Tensor:
        x = _scaled(x, math.pi / n)
        return x.mul(4).cos_().mul_(0.08) - x.mul(2).cos_().mul_(0.5) + 0.42

    return _window(
        "blackman_window", window_length, periodic, shape, dtype, layout, device, requires_grad
    )


@public(method=False)
def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None,
    layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Kaiser's window, ``i0(beta * sqrt(1 - (2 k / n - 1)**2)) / i0(beta)``; see `hamming_window`.

    Args:
        beta: how narrow it is.

    Example:
        >>> import nnkit
        >>> nnkit.kaiser_window(4, beta=2.0)
        tensor([0.4387, 0.8348, 1.0000, 0.8348])
    """

    def shape(x: Tensor, n: int) -> Tensor:
        wide = x if x.dtype.itemsize > 2 else x.float()
        inside = (1 - (wide * 2 / n - 1).square()).clamp_(min=0).sqrt_()
        return (i0(inside * beta) / i0(wide.new_tensor(beta))).to(x.dtype)

    return _window(
        "kaiser_window", window_length, periodic, shape, dtype, layout, device, requires_grad
    )
