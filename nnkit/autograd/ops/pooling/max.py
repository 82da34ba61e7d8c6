"""Max pooling: regular, adaptive, fractional, and its partial inverse."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

from nnkit.autograd.arguments.dims import check_tensor, size_at, sizes_of
from nnkit.autograd.arguments.sizes import check_shape
from nnkit.autograd.arguments.spatial import (
    Ints,
    at_least,
    check_pooled,
    exactly,
    grad_max_pool,
    in_order,
    ints,
    like_input,
    name_of_pool,
    pooled_input,
    samples_of,
)
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.promotion import check_defined
from nnkit.autograd.op.public import public
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.op.rule import real_gradient, rule
from nnkit.autograd.ops.pooling import adaptive as adaptive_pooling  # noqa: F401
from nnkit.autograd.ops.random.factories import rand
from nnkit.autograd.tensor import Tensor, on_its_own
from nnkit.autograd.views.counters import without_base
from nnkit.backend.dtype import FLOATING, int64
from nnkit.backend.memory import format_of_pooled
from nnkit.backend.reproducibility import refuse

__all__ = [
    "fractional_max_pool2d", "fractional_max_pool2d_with_indices", "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices", "max_pool1d", "max_pool1d_with_indices", "max_pool2d",
    "max_pool2d_with_indices", "max_pool3d", "max_pool3d_with_indices", "max_unpool1d",
    "max_unpool2d", "max_unpool3d",
]  # fmt: skip

_max_pool = rule(
    "max_pool", nondifferentiable=("indices",),
    node=lambda operands, statics: name_of_pool("MaxPool{}WithIndices", len(statics[0])),
    depends="backward", x=grad_max_pool,
)  # fmt: skip
_fractional_max_pool = rule(
    "fractional_max_pool", nondifferentiable=("indices",),
    node=lambda operands, statics: name_of_pool("FractionalMaxPool{}", len(statics[0])),
    depends="backward", x=grad_max_pool,
)  # fmt: skip
_max_unpool = rule(
    "max_unpool",
    node=lambda operands, statics: name_of_pool("MaxUnpool{}", len(statics[0]) - 2),
    linear=True,
    x=lambda B, g, indices: B.max_pool_gather(g, indices),
)
rule("max_pool_grad", g=lambda B, g_out, indices: B.max_pool_gather(g_out, indices))
rule(
    "max_pool_gather",
    x=lambda B, g, indices, x_shape: B.max_pool_grad(g, indices, x_shape),
)


def _pool(
    name: str, axes: int, input: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: bool, integers: bool = True,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    given = (kernel_size, stride, padding, dilation, ceil_mode)
    x, statics = pooled_input(name, axes, input, *given)
    check_pooled(name, x, integers)
    out, indices = _max_pool(x, *statics, bool(ceil_mode))
    # Here alone torch keeps the format of one sample, too.
    if x is not input and axes == 3 and not input.is_contiguous():
        if input.movedim(0, -1).is_contiguous():
            last = (0, 2, 3, 4, 1)
            out, indices = in_order(out, last), in_order(indices, last)
    if axes == 1 and not integers and not (MODE.enabled and input.requires_grad or MODE.transforms):
        return on_its_own(like_input(out, input)), indices  # of which torch knows nothing then
    format = format_of_pooled
    found = like_input(out, input, format), like_input(indices, input, format)
    return found if x is input else (on_its_own(found[0]), without_base(found[1]))


def max_pool1d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window; see `max_pool2d`.

    Args:
        input: (N, C, L) or (C, L).

    Example:
        >>> import nnkit
        >>> nnkit.max_pool1d(nnkit.tensor([[1.0, 3.0, 2.0, 4.0]]), 2)
        tensor([[3., 4.]])
    """
    statics = (kernel_size, stride, padding, dilation, ceil_mode)
    both = _pool("max_pool1d", 1, input, *statics, integers=return_indices)
    return both if return_indices else both[0]


def max_pool2d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window of a (batch of) images.

    Args:
        input: (N, C, H, W) or (C, H, W).
        kernel_size: an int or one for each axis, as all that follow.
        stride: the distance of the windows, by default ``kernel_size``.
        padding: how far windows may reach over the ends, at most half of the kernel.
        dilation: the distance of the elements in a window.
        ceil_mode: whether a last window may reach over the end (of input and padding).
        return_indices: also return where in its plane, counted row by row, each element was.

    The first of equal elements counts, and gets the whole gradient; NaN is larger than anything.

    Raises:
        TypeError: an argument of the wrong type.
        RuntimeError: numbers or a shape that do not fit together.
        NotImplementedError: a bool or complex input.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([[[1.0, 5.0, 2.0, 0.0], [3.0, 4.0, 8.0, 6.0]]])
        >>> nnkit.max_pool2d(x, 2)
        tensor([[[5., 8.]]])
    """
    both = _pool("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode)
    return both if return_indices else both[0]


def max_pool3d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window; see `max_pool2d`.

    Args:
        input: (N, C, D, H, W) or (C, D, H, W).

    Example:
        >>> import nnkit
        >>> nnkit.max_pool3d(nnkit.ones(1, 2, 4, 4, 4), 2).shape
        nnkit.Size([1, 2, 2, 2, 2])
    """
    both = _pool("max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode)
    return both if return_indices else both[0]


def _with_indices(axes: int) -> Callable[..., tuple[Tensor, Tensor]]:
    name = f"max_pool{axes}d"

    def pool(
        input: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> tuple[Tensor, Tensor]:
        return _pool(name, axes, input, kernel_size, stride, padding, dilation, ceil_mode)

    pool.__name__ = pool.__qualname__ = f"{name}_with_indices"
    pool.__doc__ = f"`{name}` and the indices, whatever ``return_indices`` says."
    return pool


max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices = map(
    _with_indices, (1, 2, 3)
)
# In torch these are compiled, and those of the same names in `nn.functional` are in Python.
for _function in (max_pool1d, max_pool2d, max_pool3d, max_pool1d_with_indices):
    public(_function, method=False)


def _unpool(
    name: str, axes: int, input: Any, indices: Any, kernel_size: Any, stride: Any, padding: Any,
    output_size: Any,
) -> Tensor:  # fmt: skip
    refuse(f"max_unpooling{max(axes, 2)}d_forward_out")
    check_tensor(name, indices, "indices")
    check_tensor(name, input)
    size_at(name, input, -axes)
    kernel = ints(name, "kernel_size", kernel_size, axes)
    stride = kernel if stride is None else ints(name, "stride", stride, axes)
    padding = ints(name, "padding", padding, axes)
    if axes == 3 and min(stride) < 1:
        raise RuntimeError(f"{name}(): strides should be greater than zero, but got {stride}")
    rows = zip(input.shape[-axes:], kernel, stride, padding)
    size = tuple((n - 1) * s + k - 2 * p for n, k, s, p in rows)
    if output_size is not None:
        wanted = sizes_of(name, (output_size,), None, "output_size")
        size = _unpooled_size(name, wanted, size, stride)
    if indices.dtype is not int64:
        raise RuntimeError(
            f"{name}(): elements in indices should be type int64 but got: {indices.dtype}"
        )
    if min(size) < 0:
        raise ValueError(f"{name}(): the output would have a negative size: {list(size)}")
    if axes == 3 and min(stride) <= 0:
        raise RuntimeError(f"{name}(): strides should be greater than zero, got {list(stride)}")
    x = samples_of(name, input, axes)
    if indices.shape != input.shape:
        raise RuntimeError(
            f"{name}(): Expected shape of indices to be same as that of the input tensor "
            f"({list(input.shape)}) but got indices tensor with shape: {list(indices.shape)}"
        )
    check_shape(name, (*x.shape[:2], *size))
    check_defined(name, "max_unpool", x)
    nowhere = axes < 3 and not math.prod(size)  # where torch looks at no index
    if nowhere or not x._array.size and x.dtype.category < FLOATING:
        return on_its_own(like_input(x.new_zeros((*x.shape[:2], *size)), input))
    where = indices if indices.ndim == x.ndim else OPS["unsqueeze"](indices, 0)
    out = real_gradient(name, _max_unpool(x, where, (*x.shape[:2], *size)))
    return on_its_own(like_input(out, input))


def _unpooled_size(name: str, wanted: Ints, default: Ints, stride: Ints) -> Ints:
    axes = len(default)
    if len(wanted) not in (axes, axes + 2):
        raise ValueError(
            f"{name}(): argument 'output_size' must have {axes} or {axes + 2} elements, "
            f"got {wanted}"
        )
    size = wanted[-axes:]
    for n, d, s in zip(size, default, stride):
        if not d - s < n < d + s:
            raise ValueError(
                f"{name}(): argument 'output_size' must be between {d - s + 1} and {d + s - 1} in "
                f"each dimension of stride {s}, got {size}"
            )
    return size


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    output_size: int | Sequence[int] | None = None,
) -> Tensor:
    """The input's elements put back to where `max_pool1d` found them; see `max_unpool2d`.

    Example:
        >>> import nnkit
        >>> F = nnkit.nn.functional
        >>> x = nnkit.tensor([[1.0, 3.0, 4.0, 2.0]])
        >>> F.max_unpool1d(*F.max_pool1d(x, 2, return_indices=True), 2)
        tensor([[0., 3., 4., 0.]])
    """
    return _unpool("max_unpool1d", 1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    output_size: int | Sequence[int] | None = None,
) -> Tensor:
    """The input's elements put back to where `max_pool2d` found them, among zeros.

    Args:
        input: (N, C, H, W) or (C, H, W).
        indices: the same shape, int64: what `max_pool2d` returned with ``return_indices``.
        kernel_size: what the pooling had; so ``stride`` and ``padding``.
        output_size: the result's height and width, where several give the same pooled size.

    Raises:
        ValueError: an ``output_size`` that does not fit.
        RuntimeError: an index outside of the output, or shapes that differ.

    Example:
        >>> import nnkit
        >>> F = nnkit.nn.functional
        >>> x = nnkit.tensor([[[1.0, 3.0], [4.0, 2.0]]])
        >>> F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)
        tensor([[[0., 0.],
                 [4., 0.]]])
    """
    return _unpool("max_unpool2d", 2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    output_size: int | Sequence[int] | None = None,
) -> Tensor:
    """The input's elements put back to where `max_pool3d` found them; see `max_unpool2d`.

    Example:
        >>> import nnkit
        >>> F = nnkit.nn.functional
        >>> pooled = F.max_pool3d(nnkit.ones(1, 2, 2, 2), 2, return_indices=True)
        >>> F.max_unpool3d(*pooled, 2).sum()
        tensor(1.)
    """
    return _unpool("max_unpool3d", 3, input, indices, kernel_size, stride, padding, output_size)


def _ratios(name: str, given: Any, axes: int) -> tuple[float, ...]:
    ratios = given if isinstance(given, (tuple, list)) else (given,) * axes
    if len(ratios) > axes == 2:  # as in torch not of volumes
        raise ValueError(
            f"{name} requires output_ratio to either be a single Int or tuple of Ints, got "
            f"{given!r}"
        )
    ratios = [float(r) if isinstance(r, Tensor) else r for r in ratios]
    if len(ratios) < axes or not all(isinstance(r, Real) for r in ratios):
        raise TypeError(
            f"{name}(): argument 'output_ratio' must be float or tuple of {axes} floats, "
            f"got {given!r}"
        )
    return tuple(ratios)


def _fractional(
    name: str, axes: int, input: Any, kernel_size: Any, output_size: Any, output_ratio: Any,
    samples: Tensor | None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    check_tensor(name, input)
    if output_size is None:
        size_at(name, input, -axes)
    x = samples_of(name, input, axes)
    exactly(name, axes, kernel_size=kernel_size, output_size=output_size)
    kernel = at_least(name, "kernel_size", ints(name, "kernel_size", kernel_size, axes), 1)
    if output_size is not None:
        size = ints(name, "output_size", output_size, axes)
    elif output_ratio is not None:
        size = tuple(int(n * r) for n, r in zip(x.shape[2:], _ratios(name, output_ratio, axes)))
    else:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    at_least(name, "output_size", size, 0)
    along = ("time", "height", "width")[-axes:]
    for m, k, n, axis in zip(size, kernel, x.shape[2:], along):
        if m + k - (axes == 2) > n:  # as torch
            raise RuntimeError(
                f"{name}(): pool {axis} {k} too large relative to input {axis} {n} for {m} windows"
            )
    new = (x.shape[0], x.shape[1], axes)
    drawn: Tensor = rand(*new, dtype=x.dtype, device=x.device) if samples is None else samples
    if drawn.dtype is not x.dtype:
        raise RuntimeError(
            f"{name}(): Expect _random_samples to have the same dtype as input, {x.dtype}, got "
            f"{drawn.dtype}"
        )
    if drawn.ndim != 3:
        raise RuntimeError(
            f"{name}(): Expect _random_samples to have 3 dimensions, got {drawn.ndim}"
        )
    samples_wanted = (
        (drawn.shape[0] >= x.shape[0], f"size(0) no less than the input batch size {x.shape[0]}"),
        (drawn.shape[1] == x.shape[1], f"size(1) equals to input channel size {x.shape[1]}"),
        (drawn.shape[2] == axes, f"size(2) equals to {axes}"),
    )
    for holds, what in samples_wanted:
        if not holds:
            raise RuntimeError(
                f"{name}(): Expect _random_samples.{what}; got shape {list(drawn.shape)}"
            )
    drawn = drawn[: x.shape[0]]
    check_defined(name, "fractional_max_pool", x)
    # torch draws the samples of a plane from its last axis to its first, those of a volume not.
    ordered = OPS["flip"](drawn, (2,)) if axes == 2 else drawn
    out, indices = _fractional_max_pool(x, ordered, kernel, size)
    real_gradient(name, out)
    return on_its_own(like_input(out, input)), without_base(like_input(indices, input))


def fractional_max_pool2d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    output_size: int | Sequence[int] | None = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """Max pooling over windows at pseudo-random distances, which overlap or not.

    Args:
        input: (N, C, H, W) or (C, H, W).
        kernel_size: an int or (height, width).
        output_size: height and width of the result, or
        output_ratio: what part of the input's height and width they are.
        return_indices: also return where in its plane each element was.

    The windows are drawn anew for each plane, from the default generator.

    Source: Graham, "Fractional Max-Pooling" (2014).

    Raises:
        ValueError: neither a size nor a ratio is given.
        RuntimeError: the input is too small.

    Example:
        >>> import nnkit
        >>> x = nnkit.rand(1, 1, 9, 9)
        >>> nnkit.nn.functional.fractional_max_pool2d(x, 2, output_size=6).shape
        nnkit.Size([1, 1, 6, 6])
    """
    name = "fractional_max_pool2d"
    both = _fractional(name, 2, input, kernel_size, output_size, output_ratio, _random_samples)
    return both if return_indices else both[0]


def fractional_max_pool3d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    output_size: int | Sequence[int] | None = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """Fractional max pooling of volumes; see `fractional_max_pool2d`.

    Example:
        >>> import nnkit
        >>> x = nnkit.rand(1, 1, 9, 9, 9)
        >>> nnkit.nn.functional.fractional_max_pool3d(x, 2, output_ratio=0.5).shape
        nnkit.Size([1, 1, 4, 4, 4])
    """
    name = "fractional_max_pool3d"
    both = _fractional(name, 3, input, kernel_size, output_size, output_ratio, _random_samples)
    return both if return_indices else both[0]


def _fractional_with_indices(axes: int) -> Callable[..., tuple[Tensor, Tensor]]:
    name = f"fractional_max_pool{axes}d"

    def pool(
        input: Tensor,
        kernel_size: int | Sequence[int],
        output_size: int | Sequence[int] | None = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        rest = (output_size, output_ratio, _random_samples)
        return _fractional(name, axes, input, kernel_size, *rest)

    pool.__name__ = pool.__qualname__ = f"{name}_with_indices"
    pool.__doc__ = f"`{name}` and the indices, whatever ``return_indices`` says."
    return pool


fractional_max_pool2d_with_indices = _fractional_with_indices(2)
fractional_max_pool3d_with_indices = _fractional_with_indices(3)
