"""Derivatives of a function that is known at some points, as quotients of differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nnkit.autograd.arguments.annotations import is_number
from nnkit.autograd.arguments.dims import check_tensor, normalize_dims
from nnkit.autograd.op.public import public
from nnkit.autograd.op.single import single
from nnkit.autograd.ops.shape.joining import cat
from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import bool_, uint8


def _weights(steps: Tensor, second: bool) -> list[tuple[Any, Any, Any]]:
    """The weights of a point and its two neighbours, at distances ``steps``, in the derivative at
    the first point, the inner ones and the last (parabolas through the three; at the ends straight
    lines unless ``second``)."""

    def of(h: Tensor, k: Tensor, at: int) -> tuple[Any, Any, Any]:
        both = h + k
        if at == 0:
            return -(h + both) / (h * both), both / (h * k), -h / (k * both)
        if at == 1:
            return -k / (h * both), (k - h) / (h * k), h / (k * both)
        return k / (h * both), -both / (h * k), (k + both) / (k * both)

    inner = of(steps[:-1], steps[1:], 1)
    if second:
        return [of(steps[:1], steps[1:2], 0), inner, of(steps[-2:-1], steps[-1:], 2)]
    first, last = 1 / steps[:1], 1 / steps[-1:]
    return [(-first, first, 0), inner, (0, -last, last)]


def _pieces(x: Tensor, axis: int, *bounds: tuple[int, int | None]) -> list[Tensor]:
    before = (slice(None),) * axis
    return [x[(*before, slice(*ends))] for ends in bounds]


def _between_points(x: Tensor, axis: int, points: Tensor, second: bool) -> Tensor:
    after = (1,) * (x.ndim - axis - 1)
    weights = _weights(points[1:] - points[:-1], second)
    neighbours = (
        _pieces(x, axis, (0, 1), (1, 2), (2, 3)),
        _pieces(x, axis, (0, -2), (1, -1), (2, None)),
        _pieces(x, axis, (-3, -2), (-2, -1), (-1, None)),
    )
    parts = []
    for factors, values in zip(weights, neighbours):
        terms = [
            value * factor.reshape(-1, *after)
            for factor, value in zip(factors, values)
            if isinstance(factor, Tensor)
        ]
        first, *others = terms
        for term in others:
            first = first + term
        parts.append(first)
    return cat(parts, axis)


@single(node="CatBackward0", saves=False)
def _at_equal_distances(x: Tensor, axis: int, step: Any, second: bool) -> Tensor:
    a, b, c = _pieces(x, axis, (0, 1), (1, 2), (2, 3))
    d, e, f = _pieces(x, axis, (-3, -2), (-2, -1), (-1, None))
    if second:
        first = (-3 * a + 4 * b - c) / (2 * step)
        last = (d - 4 * e + 3 * f) / (2 * step)
    else:
        first, last = (b - a) / step, (f - e) / step
    before, after = _pieces(x, axis, (0, -2), (2, None))
    return cat([first, (after - before) / step / 2, last], axis)


@public(method=False)
def gradient(
    input: Tensor,
    *,
    spacing: Any = None,
    dim: int | Sequence[int] | None = None,
    edge_order: int = 1,
) -> tuple[Tensor, ...]:
    """The derivatives of a function along dimensions, from its values at some points: of second
    order inside, ``(f(x + h) - f(x - h)) / 2h`` where they lie at equal distances.

    Args:
        spacing: the distance of points in all dimensions, or a sequence with one for each, or with
            the coordinates of the points, a tensor for each dimension.
        dim: the dimensions, all unless given.
        edge_order: 1 or 2, the order at the first and the last point.

    Raises:
        RuntimeError: a dimension has fewer points than ``edge_order + 1``, or ``spacing`` has not
            one element for each dimension.

    Example:
        >>> import nnkit
        >>> nnkit.gradient(nnkit.tensor([1.0, 4.0, 9.0, 16.0]))
        (tensor([3., 4., 6., 7.]),)
    """
    check_tensor("gradient", input)
    spacing = 1 if spacing is None else spacing
    several = isinstance(spacing, (tuple, list))
    points = several and any(isinstance(each, Tensor) for each in spacing)
    for each in spacing if several else (spacing,):
        if points and not isinstance(each, Tensor) or not points and not is_number(each):
            raise TypeError(
                "gradient(): argument 'spacing' must be a number or a sequence of numbers or of "
                f"tensors, got {type(each).__name__}"
            )
        if points and each.ndim != 1:
            raise RuntimeError(
                "gradient(): each tensor of argument 'spacing' must have one dimension, got shape "
                f"{list(each.shape)}"
            )
    given = dim if isinstance(dim, (tuple, list)) else range(input.ndim) if dim is None else [dim]
    spacings = list(spacing) if several else [spacing] * len(given)
    if len(spacings) != len(given):
        raise RuntimeError(
            f"gradient(): expected spacing to be a number or to have one element for each of "
            f"{len(given)} dimensions, got {len(spacings)}"
        )
    if edge_order not in (1, 2):
        raise RuntimeError(f"gradient(): edge_order must be 1 or 2, got {edge_order}")
    axes = normalize_dims(dim, input.ndim, "gradient")
    if input.dtype in (bool_, uint8):
        raise RuntimeError(f"gradient(): not implemented for '{input.dtype.name}' tensors")
    axes = tuple(range(input.ndim)) if axes is None else axes
    for axis in axes:
        if input._array.shape[axis] < edge_order + 1:
            raise RuntimeError(
                f"gradient(): each dimension size must be at least {edge_order + 1}, got "
                f"{input._array.shape[axis]}"
            )
    return tuple(
        _between_points(input, axis, step, edge_order == 2)
        if points
        else _at_equal_distances(input, axis, step, edge_order == 2)
        for axis, step in zip(axes, spacings)
    )
