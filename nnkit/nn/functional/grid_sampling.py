"""Images and volumes read at the places that a grid names."""

from __future__ import annotations

from collections.abc import Sequence

from nnkit.autograd import Tensor
from nnkit.autograd.arguments.dims import check_tensor, size_at
from nnkit.autograd.arguments.sizes import check_shape
from nnkit.autograd.op.single import single
from nnkit.autograd.ops import grid_sampling as ops
from nnkit.autograd.ops.creation.ranges import linspace
from nnkit.autograd.ops.linalg.products import matmul
from nnkit.autograd.ops.shape.joining import stack
from nnkit.autograd.tensor import on_its_own
from nnkit.backend.dtype import FLOATING
from nnkit.backend.warning import warn

__all__ = [
    "GRID_SAMPLE_INTERPOLATION_MODES", "GRID_SAMPLE_PADDING_MODES", "affine_grid", "grid_sample",
]  # fmt: skip

# The numbers are torch's own, for programs that call its operator by them.
GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Values of ``input`` at the places that ``grid`` names, interpolated.

    A place is (x, y) or (x, y, z), where -1 and 1 are the two ends of an axis, x being the last.

    Args:
        input: (N, C, H, W) or (N, C, D, H, W), floating point.
        grid: (N, H_out, W_out, 2) or (N, D_out, H_out, W_out, 3), of the dtype of ``input``.
        mode: "bilinear" (of volumes trilinear), "nearest", or "bicubic" (of images).
        padding_mode: what is outside: "zeros", "border" repeats the edge, "reflection" mirrors.
        align_corners: whether an axis ends at the centres of its last samples, not at their outer
            edges; by default it does not.

    Returns:
        (N, C, H_out, W_out) or (N, C, D_out, H_out, W_out).

    Raises:
        ValueError: an unknown ``mode`` or ``padding_mode``.
        RuntimeError: the shapes or the dtypes do not fit, or a volume is to be cubic.
        NotImplementedError: the dtype is no floating-point one.

    Source: Jaderberg et al., "Spatial transformer networks", 2015.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
        >>> places = nnkit.tensor([[[[0.0, 0.0], [-0.5, 0.5]]]])
        >>> nnkit.nn.functional.grid_sample(x, places, align_corners=False)
        tensor([[[[2.5000, 3.0000]]]])
    """
    # Compared one by one: what has no hash is refused like any other mode.
    modes, paddings = tuple(GRID_SAMPLE_INTERPOLATION_MODES), tuple(GRID_SAMPLE_PADDING_MODES)
    if mode not in modes:
        raise ValueError(f"grid_sample(): expected mode to be one of {modes}, but got: {mode!r}")
    if padding_mode not in paddings:
        raise ValueError(
            f"grid_sample(): expected padding_mode to be one of {paddings}, but got: "
            f"{padding_mode!r}"
        )
    if align_corners is None:
        _tell_default("grid_sample")
    _check(input, grid, mode)
    if input.dtype.category != FLOATING:  # of no elements, for which torch needs no kernel
        return input.new_zeros((*input.shape[:2], *grid.shape[1:-1]))
    sample = ops.grid_sample_2d if input.ndim == 4 else ops.grid_sample_3d
    return sample(input, grid, mode, padding_mode, bool(align_corners))


def _check(input: Tensor, grid: Tensor, mode: str) -> None:
    for name, value in (("input", input), ("grid", grid)):
        check_tensor("grid_sample", value, name)
    shapes = f"got input of shape {list(input.shape)} and grid of shape {list(grid.shape)}"
    for name, value in (("input", input), ("grid", grid)):
        size_at("grid_sample", value, 0, name)
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError(
            f"grid_sample(): expected grid and input to have same batch size, {shapes}"
        )
    if grid.shape[-1] != input.ndim - 2:
        raise RuntimeError(
            f"grid_sample(): expected grid to have size {input.ndim - 2} in last dimension, "
            f"{shapes}"
        )
    if 0 in input.shape[2:]:
        raise RuntimeError(
            f"grid_sample(): expected input to have non-empty spatial dimensions, {shapes}"
        )
    if input.ndim not in (4, 5) or grid.ndim != input.ndim:
        raise RuntimeError(
            f"grid_sample(): expected {4 if input.ndim == 4 else 5}D input and grid with same "
            f"number of dimensions, {shapes}"
        )
    if mode == "bicubic" and input.ndim == 5:
        raise RuntimeError(f"grid_sample(): bicubic interpolation only supports 4D input, {shapes}")
    if input.dtype.category != FLOATING and input.numel():
        raise NotImplementedError(
            f"grid_sample(): not implemented for '{input.dtype.name}' tensors"
        )
    if input.dtype is not grid.dtype:
        raise RuntimeError(
            f"grid_sample(): expected input and grid of one dtype, got {input.dtype} and "
            f"{grid.dtype}"
        )


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The places that `grid_sample` reads for an image moved by ``theta``.

    Args:
        theta: (N, 2, 3), or (N, 3, 4) for volumes: what a place (x, y, 1) is multiplied by.
        size: the size of the result, (N, C, H, W) or (N, C, D, H, W).
        align_corners: as that of `grid_sample`.

    Returns:
        (N, H, W, 2) or (N, D, H, W, 3).

    Raises:
        ValueError: ``theta`` is not floating point or has another shape, or a size is not positive.
        NotImplementedError: ``size`` is of neither length.

    Example:
        >>> import nnkit
        >>> theta = nnkit.tensor([[[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]]])
        >>> nnkit.nn.functional.affine_grid(theta, (1, 1, 1, 2), align_corners=False)
        tensor([[[[0., 0.],
                  [1., 0.]]]])
    """
    check_tensor("affine_grid", theta, "theta")
    if align_corners is None:
        _tell_default("affine_grid")
    if not theta.is_floating_point():
        raise ValueError(
            f"affine_grid(): Expected theta to have floating point type, but got {theta.dtype}"
        )
    if len(size) not in (4, 5):
        raise NotImplementedError(
            f"affine_grid only supports 4D and 5D sizes, for images or volumes, got {[*size]}"
        )
    axes = len(size) - 2
    if theta.ndim != 3 or tuple(theta.shape[-2:]) != (axes, axes + 1):
        raise ValueError(
            f"affine_grid(): Expected a batch of {axes}D affine matrices of shape "
            f"Nx{axes}x{axes + 1} for size {[*size]}, "
            f"got {list(theta.shape)}"
        )
    if align_corners and min(size[2:]) == 1:
        warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when "
            "align_corners=True. This is not an intended use case of affine_grid. See the "
            "documentation of affine_grid for details."
        )
    if min(size) <= 0:
        raise ValueError(f"affine_grid(): expected a positive size, got {[*size]}")
    if theta.shape[0] != size[0]:
        raise RuntimeError(
            f"affine_grid(): expected a batch of {size[0]} matrices, got theta of shape "
            f"{list(theta.shape)}"
        )
    shape = check_shape("affine_grid", (*size[2:], axes + 1))[:-1]
    return on_its_own(_moved_grid(theta, shape, bool(align_corners)))


@single(node="AffineGridGeneratorBackward0", saves=False)
def _moved_grid(theta: Tensor, shape: tuple[int, ...], aligned: bool) -> Tensor:
    axes = len(shape)
    ends = [_ends(n, aligned, theta).reshape(-1, *[1] * (axes - d - 1))
            for d, n in enumerate(shape)]  # fmt: skip
    lines = [line.expand(shape) for line in reversed(ends)]
    places = stack([*lines, theta.new_ones(shape)], -1).reshape(1, -1, axes + 1)
    moved = matmul(places, theta.transpose(1, 2))
    return moved.reshape(theta.shape[0], *shape, axes)


def _ends(count: int, aligned: bool, like: Tensor) -> Tensor:
    """The centres of ``count`` samples of an axis from -1 to 1."""
    if count <= 1:
        return like.new_zeros(count)
    line = linspace(-1.0, 1.0, count, dtype=like.dtype, device=like.device)
    return line if aligned else line * ((count - 1) / count)


def _tell_default(name: str) -> None:
    warn(f"{name}(): align_corners is False by default; give it to say so")
