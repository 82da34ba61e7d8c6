"""Adaptive pooling: the number of windows is given, and their size follows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from nnkit.autograd.arguments.dims import check_tensor
from nnkit.autograd.arguments.sizes import check_shape
from nnkit.autograd.arguments.spatial import (
    Ints,
    at_least,
    batched,
    exactly,
    grad_max_pool,
    gradient_in_format,
    hashable,
    in_order,
    ints,
    name_of_pool,
    refuse_empty,
)
from nnkit.autograd.op.promotion import check_defined
from nnkit.autograd.op.public import public
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.op.rule import real_gradient, rule
from nnkit.autograd.ops.reduction.sums import mean
from nnkit.autograd.tensor import Tensor, on_its_own
from nnkit.autograd.views.counters import without_base
from nnkit.backend.memory import format_of_pooled

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d", "adaptive_max_pool3d_with_indices",
]  # fmt: skip


def _grad_avg(B: Any, g: Any, x: Any) -> Any:
    _check_gradient(g)
    gradient = B.adaptive_avg_pool_grad(g, tuple(x.shape))
    return gradient_in_format(B, gradient, x, format_of_pooled)


def _grad_max(B: Any, g: Any, x: Any, indices: Any) -> Any:
    _check_gradient(g)
    return grad_max_pool(B, g, x, indices)


def _check_gradient(g: Any) -> None:
    """Refuse the gradient of a result of no elements, as torch does, which computes the result."""
    if 0 in g.shape[1:]:
        raise RuntimeError(
            "adaptive_pool_backward(): Expected grad_output to have non-zero size for non-batch "
            f"dimensions, got {list(g.shape)}"
        )


_adaptive_avg_pool = rule(
    "adaptive_avg_pool",
    depends="backward",
    x=_grad_avg,
    node=lambda operands, statics: name_of_pool("AdaptiveAvgPool{}", len(statics[0])),
)
rule(
    "adaptive_avg_pool_grad",
    g=lambda B, g_out, g_shape: B.adaptive_avg_pool(g_out, tuple(g_shape[2:])),
)
_adaptive_max_pool = rule(
    "adaptive_max_pool", nondifferentiable=("indices",),
    node=lambda operands, statics: name_of_pool("AdaptiveMaxPool{}", len(statics[0])),
    depends="backward", x=_grad_max,
)  # fmt: skip


def _prepared(name: str, axes: int, input: Any, output_size: Any) -> tuple[Tensor, Ints]:
    """The input with its batch axis, and the output size with its Nones filled in."""
    check_tensor(name, input)
    several = axes > 1 and isinstance(output_size, (tuple, list))
    if several and input.ndim <= len(output_size):
        raise ValueError(f"{name}(): expected at least {axes + 1} dims, got {list(input.shape)}")
    # Of one sample the channels are the batch, as in torch, which lets a batch alone be empty.
    single = input._array.ndim == axes + 1
    x = OPS["unsqueeze"](input, 1) if single else batched(name, input, axes)
    return x, _size(name, axes, x._array.shape, hashable(output_size))


@lru_cache(512, typed=True)
def _size(name: str, axes: int, shape: Ints, output_size: Any) -> Ints:
    if axes > 1 and isinstance(output_size, tuple):
        exactly(name, axes, output_size=output_size)
        output_size = [n if m is None else m for n, m in zip(shape[2:], output_size)]
    if not shape[1] and name in ("adaptive_max_pool1d", "adaptive_avg_pool3d"):
        refuse_empty(name, axes, shape)
    size = ints(name, "output_size", output_size, axes)
    check_shape(name, (*shape[:2], *at_least(name, "output_size", size, 0)))
    return size


def _check_filled(name: str, axes: int, input: Tensor) -> None:
    if 0 in input._array.shape[-axes:]:
        refuse_empty(name, axes, input._array.shape)


def _like_input(result: Tensor, input: Tensor) -> Tensor:
    if result._array.ndim != input._array.ndim:
        return OPS["squeeze"](result, (1,))
    return in_order(result, format_of_pooled(input._array))


def _is_whole(axes: int, output_size: Any, ndim: int) -> bool:
    """Whether one window is all there is, which torch takes of any number of dimensions."""
    if isinstance(output_size, (tuple, list)):
        return (
            ndim > axes
            and all(n.__class__ is int for n in output_size)
            and ([*output_size] == [1] * axes)
        )
    return output_size.__class__ is int and output_size == 1


def _average(name: str, axes: int, input: Any, output_size: Any) -> Tensor:
    check_tensor(name, input)
    whole = axes > 1 and _is_whole(axes, output_size, input.ndim)
    x, size = (input, (1,) * axes) if whole else _prepared(name, axes, input, output_size)
    if size == (1,) * axes:
        return on_its_own(_like_input(mean(input, tuple(range(-axes, 0)), True), input))
    _check_filled(name, axes, input)
    check_defined(name, "adaptive_avg_pool", x, always=axes == 3)
    return on_its_own(_like_input(real_gradient(name, _adaptive_avg_pool(x, size)), input))


def _largest(name: str, axes: int, input: Any, output_size: Any) -> tuple[Tensor, Tensor]:
    x, size = _prepared(name, axes, input, output_size)
    _check_filled(name, axes, input)
    if axes > 1 and not input.shape[1]:
        refuse_empty(name, axes, input.shape)
    check_defined(name, "adaptive_max_pool", x)
    out, indices = _adaptive_max_pool(x, size)
    return on_its_own(_like_input(out, input)), without_base(_like_input(indices, input))


@public(method=False)
def adaptive_avg_pool1d(input: Tensor, output_size: int | Sequence[int]) -> Tensor:
    """The mean of each of ``output_size`` windows; see `adaptive_avg_pool2d`.

    Args:
        input: (N, C, L) or (C, L).
        output_size: an int.

    Example:
        >>> import nnkit
        >>> nnkit.adaptive_avg_pool1d(nnkit.tensor([[1.0, 2.0, 6.0]]), 2)
        tensor([[1.5000, 4.0000]])
    """
    return _average("adaptive_avg_pool1d", 1, input, output_size)


def adaptive_avg_pool2d(input: Tensor, output_size: int | Sequence[int]) -> Tensor:
    """The mean of each of ``output_size`` windows, which divide an image as evenly as can be.

    Window i of m over n elements goes from ``floor(i * n / m)`` up to ``ceil((i + 1) * n / m)``.

    Args:
        input: (N, C, H, W) or (C, H, W).
        output_size: an int or (height, width); None keeps the input's.

    Raises:
        TypeError: an argument of the wrong type.
        RuntimeError: a negative size, or a shape that does not fit.
        NotImplementedError: the input is not floating point.

    Example:
        >>> import nnkit
        >>> x = nnkit.arange(9.0).reshape(1, 3, 3)
        >>> nnkit.nn.functional.adaptive_avg_pool2d(x, (1, None))
        tensor([[[3., 4., 5.]]])
    """
    return _average("adaptive_avg_pool2d", 2, input, output_size)


def adaptive_avg_pool3d(input: Tensor, output_size: int | Sequence[int]) -> Tensor:
    """The mean of each of ``output_size`` windows; see `adaptive_avg_pool2d`.

    Args:
        input: (N, C, D, H, W) or (C, D, H, W).
        output_size: an int or one for each axis; None keeps the input's.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.adaptive_avg_pool3d(nnkit.ones(1, 2, 4, 5, 6), 1).shape
        nnkit.Size([1, 2, 1, 1, 1])
    """
    return _average("adaptive_avg_pool3d", 3, input, output_size)


def adaptive_max_pool1d(
    input: Tensor, output_size: int | Sequence[int], return_indices: bool = False
) -> Any:
    """The largest element of each of ``output_size`` windows; see `adaptive_avg_pool2d`.

    Args:
        input: (N, C, L) or (C, L).
        output_size: an int.
        return_indices: also return where in its plane, counted row by row, each element was.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.adaptive_max_pool1d(nnkit.tensor([[1.0, 2.0, 6.0]]), 2)
        tensor([[2., 6.]])
    """
    both = _largest("adaptive_max_pool1d", 1, input, output_size)
    return both if return_indices else both[0]


def adaptive_max_pool2d(
    input: Tensor, output_size: int | Sequence[int], return_indices: bool = False
) -> Any:
    """The largest element of each of ``output_size`` windows; see `adaptive_avg_pool2d`.

    Args:
        input: (N, C, H, W) or (C, H, W).
        output_size: an int or one for each axis; None keeps the input's.
        return_indices: also return where in its plane, counted row by row, each element was.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.adaptive_max_pool2d(nnkit.arange(9.0).reshape(1, 3, 3), 1)
        tensor([[[8.]]])
    """
    both = _largest("adaptive_max_pool2d", 2, input, output_size)
    return both if return_indices else both[0]


def adaptive_max_pool3d(
    input: Tensor, output_size: int | Sequence[int], return_indices: bool = False
) -> Any:
    """The largest element of each of ``output_size`` windows; see `adaptive_avg_pool2d`.

    Args:
        input: (N, C, D, H, W) or (C, D, H, W).
        output_size: an int or one for each axis; None keeps the input's.
        return_indices: also return where in its plane, counted row by row, each element was.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.adaptive_max_pool3d(nnkit.ones(1, 2, 4, 5, 6), 2).shape
        nnkit.Size([1, 2, 2, 2, 2])
    """
    both = _largest("adaptive_max_pool3d", 3, input, output_size)
    return both if return_indices else both[0]


def _with_indices(axes: int) -> Callable[..., tuple[Tensor, Tensor]]:
    name = f"adaptive_max_pool{axes}d"

    def pool(
        input: Tensor, output_size: int | Sequence[int], return_indices: bool = False
    ) -> tuple[Tensor, Tensor]:
        return _largest(name, axes, input, output_size)

    pool.__name__ = pool.__qualname__ = f"{name}_with_indices"
    pool.__doc__ = f"`{name}` and the indices, whatever ``return_indices`` says."
    return pool


adaptive_max_pool1d_with_indices = _with_indices(1)
adaptive_max_pool2d_with_indices = _with_indices(2)
adaptive_max_pool3d_with_indices = _with_indices(3)


@public(name="adaptive_max_pool1d", method=False)
def _adaptive_max_pool1d(input: Tensor, output_size: int | Sequence[int]) -> tuple[Tensor, Tensor]:
    """The largest element of each window and its index; see
    `nnkit.nn.functional.adaptive_max_pool1d`."""
    return _largest("adaptive_max_pool1d", 1, input, output_size)
