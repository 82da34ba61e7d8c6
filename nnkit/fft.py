"""Discrete Fourier transforms under the names of ``torch.fft``.

``fft(x)[k] = sum(x[m] * exp(-2 pi i k m / n))`` over n points, and ``ifft`` its inverse. The ``r``
forms keep what a real signal's spectrum does not repeat, the first ``n // 2 + 1`` points; the ``h``
forms take a real spectrum, whose signal is Hermitian. A ``2`` transforms two dimensions, an ``n``
any number of them.

In all of them ``n`` (or ``s``, one for each dimension) is how many points are transformed: the
input is cut or filled with zeros there. ``norm`` says where a factor stands: "backward" has 1 / n
in the inverse transforms (the default), "forward" in the others, and "ortho" 1 / sqrt(n) in both.
Tensors are float32, float64 or complex (integers become the default dtype); others raise
RuntimeError, and so do an unknown ``norm``, a number of points below 1 and a dimension given twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.arguments.annotations import hold_all
from nnkit.autograd.arguments.dims import normalize_dim, sizes_of
from nnkit.autograd.arguments.factory import dtype_of
from nnkit.autograd.arguments.sizes import check_shape
from nnkit.autograd.op.out import Out, by_rows, complex_by_rows, takes_out, write_out
from nnkit.autograd.ops.creation.ranges import arange
from nnkit.autograd.ops.elementwise.conjugation import conj, conj_physical
from nnkit.autograd.ops.fourier import transforms as rules
from nnkit.autograd.ops.fourier.transforms import scale_of, transformable
from nnkit.autograd.ops.indexing.narrowing import narrow
from nnkit.autograd.ops.padding import constant_pad_nd
from nnkit.autograd.ops.shape.joining import cat
from nnkit.autograd.ops.shape.rearranging import roll
from nnkit.backend.dtype import FLOATING

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2",
    "ifftn", "ifftshift", "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft",
    "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

Axes = tuple[int, ...]


def _axis(name: str, input: Tensor, dim: int) -> int:
    if not input.ndim:
        raise IndexError(f"{name}(): Dimension specified as {dim} but tensor has no dimensions")
    return normalize_dim(dim, input.ndim, name)


def _points(name: str, sizes: Sequence[int]) -> None:
    for n in sizes:
        if n < 1:
            raise RuntimeError(f"{name}(): Invalid number of data points ({n}) specified")


def _resized(x: Tensor, axes: Axes, sizes: Sequence[int]) -> Tensor:
    """Cut, or filled with zeros, to the sizes."""
    missing = [0] * x.ndim
    for axis, size in zip(axes, sizes):
        missing[axis] = max(size - x._array.shape[axis], 0)
        if size < x._array.shape[axis]:
            x = narrow(x, axis, 0, size)
    if not any(missing):
        return x
    return constant_pad_nd(x, [n for after in reversed(missing) for n in (0, after)])


def _refuse_complex(name: str, input: Tensor) -> None:
    if input.is_complex():
        real = "real-valued" if name.endswith("n") else "real"
        raise RuntimeError(f"{name} expects a {real} input tensor, but got {input.dtype.name}")


def _line(name: str, input: Tensor, n: int | None, dim: int) -> tuple[Tensor, Axes, int]:
    """The input with ``n`` points along a dimension."""
    x = transformable(name, input)
    axis = _axis(name, x, dim)
    count = x._array.shape[axis] if n is None else n
    _points(name, (count,))
    return _resized(x, (axis,), (count,)), (axis,), count


def _complex_line(
    name: str, input: Tensor, n: int | None, dim: int, norm: str | None, inverse: bool
) -> Tensor:
    x, axes, count = _line(name, input, n, dim)
    scale = scale_of(norm, count, inverse)
    if x.is_complex():
        return rules.fft_c2c(x, axes, scale, inverse)
    out = rules.fft_r2c(x, axes, scale, False)
    return conj(out) if inverse else out


def _half_line(
    name: str, input: Tensor, n: int | None, dim: int, norm: str | None, inverse: bool
) -> Tensor:
    """The real signal of a spectrum (the real spectrum of a signal) of which one half is given."""
    x = transformable(name, input, to_complex=True)
    axis = _axis(name, x, dim)
    count = 2 * (x._array.shape[axis] - 1) if n is None else n
    _points(name, (count,))
    if n is not None:
        x = _resized(x, (axis,), (count // 2 + 1,))
    scale = scale_of(norm, count, inverse)
    return rules.fft_c2r(x if inverse else conj(x), (axis,), scale, count)


def _shape_and_axes(name: str, input: Tensor, s: Any, dim: Any) -> tuple[list[int], Axes]:
    shape = input._array.shape
    dims = [dim] if isinstance(dim, int) else dim
    sizes = None if s is None else sizes_of(name, (s,), None, "s")
    axes = None
    if dims is not None:
        axes = tuple([_axis(name, input, d) for d in dims])
        if len(set(axes)) < len(axes):
            raise RuntimeError(f"{name}(): FFT dims must be unique, got {tuple(dims)}")
    if sizes is not None:
        if axes is not None and len(axes) != len(sizes):
            raise RuntimeError(
                f"{name}(): When given, dim and shape arguments must have the same length, got "
                f"{len(axes)} and {len(sizes)}"
            )
        if len(sizes) > len(shape):
            raise RuntimeError(
                f"{name}(): Got shape with {len(sizes)} values but input tensor only has "
                f"{len(shape)} dimensions"
            )
    if axes is None:
        axes = tuple(range(len(shape) - len(sizes if sizes is not None else shape), len(shape)))
    wanted = [-1] * len(axes) if sizes is None else sizes
    sizes = [shape[axis] if n == -1 else n for n, axis in zip(wanted, axes)]
    _points(name, sizes)
    return sizes, axes


def _check_any(name: str, axes: Axes) -> None:
    if not axes:
        raise RuntimeError(f"{name} must transform at least one axis")


def _half_shape(name: str, x: Tensor, s: Any, dim: Any) -> tuple[Tensor, Axes, list[int]]:
    """The input cut to the half of its last dimension that says all, and the whole sizes."""
    sizes, axes = _shape_and_axes(name, x, s, dim)
    _check_any(name, axes)
    if s is None or (s if isinstance(s, int) else s[-1]) == -1:
        sizes[-1] = 2 * (x._array.shape[axes[-1]] - 1)
    _points(name, sizes[-1:])
    return _resized(x, axes, [*sizes[:-1], sizes[-1] // 2 + 1]), axes, sizes


def _complex_block(
    name: str, input: Tensor, s: Any, dim: Any, norm: str | None, inverse: bool
) -> Tensor:
    sizes, axes = _shape_and_axes(name, input, s, dim)
    x = _resized(transformable(name, input, to_complex=True), axes, sizes)
    scale = scale_of(norm, math.prod(sizes), inverse)
    return rules.fft_c2c(x, axes, scale, inverse)


def _dtype_of_reals(out: Tensor, result: Tensor, arguments: tuple) -> str:
    return "same" if out.is_complex() else "castable"


@takes_out(axes=by_rows)
def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The discrete Fourier transform along a dimension, complex.

    Example:
        >>> import nnkit
        >>> nnkit.fft.fft(nnkit.tensor([1.0, 2.0, 1.0, 0.0]))
        tensor([4.+0.j, 0.-2.j, 0.+0.j, 0.+2.j])
    """
    return _complex_line("fft", input, n, dim, norm, False)


@takes_out(
    dtype=lambda out, result, operands: "castable" if operands[0].is_complex() else "same",
    checks_first=lambda operands: not operands[0].is_complex(),
    axes=complex_by_rows,
)
def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `fft`.

    Example:
        >>> import nnkit
        >>> nnkit.fft.ifft(nnkit.fft.fft(nnkit.tensor([1.0, 2.0])))
        tensor([1.+0.j, 2.+0.j])
    """
    return _complex_line("ifft", input, n, dim, norm, True)


@takes_out(axes=by_rows)
def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The first ``n // 2 + 1`` points of `fft` of a real input; the others are their conjugates.

    Example:
        >>> import nnkit
        >>> nnkit.fft.rfft(nnkit.tensor([1.0, 2.0, 1.0, 0.0]))
        tensor([4.+0.j, 0.-2.j, 0.+0.j])
    """
    _refuse_complex("rfft", input)
    x, axes, count = _line("rfft", input, n, dim)
    return rules.fft_r2c(x, axes, scale_of(norm, count, False), True)


@takes_out(dtype=_dtype_of_reals, axes=by_rows)
def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `rfft`: real, of ``n`` points, by default twice one less than are given.

    Example:
        >>> import nnkit
        >>> nnkit.fft.irfft(nnkit.fft.rfft(nnkit.tensor([1.0, 2.0, 3.0])), n=3)
        tensor([1., 2., 3.])
    """
    return _half_line("irfft", input, n, dim, norm, True)


@takes_out(dtype=_dtype_of_reals, axes=by_rows)
def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The real spectrum of a Hermitian signal, of which the first ``n // 2 + 1`` points are given.

    Example:
        >>> import nnkit
        >>> nnkit.fft.hfft(nnkit.tensor([1.0, 2.0, 1.0]))
        tensor([ 6.,  0., -2.,  0.])
    """
    return _half_line("hfft", input, n, dim, norm, False)


@takes_out(dtype="same", checks_first=True)
def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `hfft`: the first half of the Hermitian signal of a real spectrum.

    Example:
        >>> import nnkit
        >>> nnkit.fft.ihfft(nnkit.tensor([6.0, 0.0, -2.0, 0.0])).real
        tensor([1., 2., 1.])
    """
    _refuse_complex("ihfft", input)
    x, axes, count = _line("ihfft", input, n, dim)
    return conj(rules.fft_r2c(x, axes, scale_of(norm, count, True), True))


@takes_out(axes=by_rows)
def fftn(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
) -> Tensor:
    """`fft` along several dimensions: the last ones that ``s`` is for, or all.

    Example:
        >>> import nnkit
        >>> nnkit.fft.fftn(nnkit.tensor([[1.0, 2.0], [3.0, 4.0]])).real
        tensor([[10., -2.],
                [-4.,  0.]])
    """
    return _complex_block("fftn", input, s, dim, norm, False)


@takes_out(axes=by_rows)
def ifftn(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
) -> Tensor:
    """The inverse of `fftn`.

    Example:
        >>> import nnkit
        >>> nnkit.fft.ifftn(nnkit.ones(2, 2)).real
        tensor([[1., 0.],
                [0., 0.]])
    """
    return _complex_block("ifftn", input, s, dim, norm, True)


@takes_out(axes=by_rows)
def rfftn(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
) -> Tensor:
    """`fftn` of a real input, of which the last dimension keeps ``n // 2 + 1`` points.

    Example:
        >>> import nnkit
        >>> nnkit.fft.rfftn(nnkit.ones(2, 4)).shape
        nnkit.Size([2, 3])
    """
    _refuse_complex("rfftn", input)
    sizes, axes = _shape_and_axes("rfftn", input, s, dim)
    _check_any("rfftn", axes)
    x = _resized(transformable("rfftn", input), axes, sizes)
    return rules.fft_r2c(x, axes, scale_of(norm, math.prod(sizes), False), True)


@takes_out(dtype=_dtype_of_reals, axes=by_rows)
def irfftn(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
) -> Tensor:
    """The inverse of `rfftn`.

    Example:
        >>> import nnkit
        >>> nnkit.fft.irfftn(nnkit.fft.rfftn(nnkit.ones(2, 2)))
        tensor([[1., 1.],
                [1., 1.]])
    """
    x, axes, sizes = _half_shape("irfftn", input, s, dim)
    x = transformable("irfftn", x, to_complex=True)
    return rules.fft_c2r(x, axes, scale_of(norm, math.prod(sizes), True), sizes[-1])


@takes_out(dtype=_dtype_of_reals, axes=by_rows)
def hfftn(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
) -> Tensor:
    """`hfft` along several dimensions: the half of the last one is given.

    Example:
        >>> import nnkit
        >>> nnkit.fft.hfftn(nnkit.ones(2, 2))
        tensor([[4., 0.],
                [0., 0.]])
    """
    x, axes, sizes = _half_shape("hfftn", input, s, dim)
    x = transformable("hfftn", x, to_complex=True)
    if len(axes) > 1:
        x = rules.fft_c2c(x, axes[:-1], scale_of(norm, math.prod(sizes[:-1]), False), False)
    return rules.fft_c2r(conj(x), axes[-1:], scale_of(norm, sizes[-1], False), sizes[-1])


@takes_out(
    # Of a single dimension, the result is conjugated into ``out``.
    dtype=lambda out, result, operands: "same" if result.is_conj() else "castable",
    axes=by_rows,
)
def ihfftn(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
) -> Tensor:
    """The inverse of `hfftn`.

    Example:
        >>> import nnkit
        >>> nnkit.fft.ihfftn(nnkit.ones(2, 2)).real
        tensor([[1., 0.],
                [0., 0.]])
    """
    sizes, axes = _shape_and_axes("ihfftn", input, s, dim)
    _refuse_complex("ihfftn", input)
    _check_any("ihfftn", axes)
    x = _resized(transformable("ihfftn", input), axes, sizes)
    half = rules.fft_r2c(x, axes[-1:], scale_of(norm, sizes[-1], True), True)
    if len(axes) == 1:
        return conj(half)
    scale = scale_of(norm, math.prod(sizes[:-1]), True)
    return rules.fft_c2c(conj_physical(half), axes[:-1], scale, True)


def _of_two(transform: Callable[..., Tensor]) -> Any:
    def of_two(
        input: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] = (-2, -1),
        norm: str | None = None,
    ) -> Tensor:
        return transform(input, s, dim, norm)

    of_two.__name__ = of_two.__qualname__ = transform.__name__[:-1] + "2"
    of_two.out = transform.out
    of_two.__doc__ = f"`{transform.__name__}` of two dimensions."
    return of_two


fft2, ifft2, rfft2, irfft2, hfft2, ihfft2 = map(
    _of_two, (fftn, ifftn, rfftn, irfftn, hfftn, ihfftn)
)


def _frequencies(
    name: str, n: int, d: float, negative: bool, out: Any, dtype: Any, requires_grad: bool,
    **options: Any,
) -> Tensor:  # fmt: skip
    kind = dtype_of(name, dtype, None if out is None else out.dtype)
    if kind.category < FLOATING:
        raise RuntimeError(f"{name}(): expected a floating point dtype, got {kind.name}")
    if out is not None and out.dtype is not kind:
        raise RuntimeError(f"{name}(): dtype {kind.name} is not that of 'out', {out.dtype.name}")
    count = n if negative else math.trunc(n / 2) + 1
    check_shape(name, (count,), "n")
    options["dtype"] = kind
    if negative:
        whole = cat([arange((n + 1) // 2, **options), arange(-(n // 2), 0, **options)])
    else:
        whole = arange(count, **options)
    result = whole.mul_(1 / (n * d) if n * d else math.inf)
    if out is not None:
        result = write_out(out, result, name, Out(warning="counts"))
    return result.requires_grad_() if requires_grad else result


def fftfreq(
    n: int, d: float = 1.0, *, out: Tensor | None = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The frequencies of the points of `fft`, in cycles per unit: ``k / (n d)``, the negative ones
    in the second half.

    Args:
        n: how many points.
        d: the distance of two samples.

    Example:
        >>> import nnkit
        >>> nnkit.fft.fftfreq(4)
        tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    return _frequencies(
        "fftfreq", n, d, True, out, dtype, requires_grad, layout=layout, device=device
    )


def rfftfreq(
    n: int, d: float = 1.0, *, out: Tensor | None = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The frequencies of the points of `rfft`; see `fftfreq`.

    Example:
        >>> import nnkit
        >>> nnkit.fft.rfftfreq(4)
        tensor([0.0000, 0.2500, 0.5000])
    """
    return _frequencies(
        "rfftfreq", n, d, False, out, dtype, requires_grad, layout=layout, device=device
    )


def _shifted(name: str, input: Tensor, dim: Any, round_up: int) -> Tensor:
    dims = range(input.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    axes = [_axis(name, input, d) for d in dims]
    return roll(input, [(input._array.shape[axis] + round_up) // 2 for axis in axes], axes)


def fftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """The points in rising order of their frequencies, 0 in the middle, along ``dim`` or all.

    Example:
        >>> import nnkit
        >>> nnkit.fft.fftshift(nnkit.fft.fftfreq(4))
        tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    return _shifted("fftshift", input, dim, 0)


def ifftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """The inverse of `fftshift`.

    Example:
        >>> import nnkit
        >>> nnkit.fft.ifftshift(nnkit.tensor([-2, -1, 0, 1]))
        tensor([ 0,  1, -2, -1])
    """
    return _shifted("ifftshift", input, dim, 1)


hold_all(globals(), "fft.", ("fftfreq", "rfftfreq", "fftshift", "ifftshift"))
hold_all(globals(), "fft.", out=True)
