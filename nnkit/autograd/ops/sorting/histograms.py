"""Histograms: how many elements, or points, fall between edges."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

from nnkit.autograd.arguments.annotations import is_int
from nnkit.autograd.arguments.dims import check_tensor, size_at
from nnkit.autograd.arguments.sizes import check_shape, integer
from nnkit.autograd.batch.examples import by_example
from nnkit.autograd.op.out import Out
from nnkit.autograd.op.promotion import on_one_device
from nnkit.autograd.op.public import public
from nnkit.autograd.op.rule import refuse_tangent
from nnkit.autograd.ops.creation.ranges import linspace
from nnkit.autograd.surface import return_types
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.autograd.views.history import end_history
from nnkit.autograd.views.writes import wants_history
from nnkit.backend.dtype import FLOATING, INTEGER


@public(out=Out(dtype="same"))
@by_example
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """The number of elements in each of ``bins`` equal parts of [min, max]; elements outside are
    left out. Where both bounds are equal, those of the data are taken.

    Example:
        >>> import nnkit
        >>> nnkit.histc(nnkit.tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3)
        tensor([0., 2., 1., 0.])
    """
    check_tensor("histc", input)
    if input.dtype.category != FLOATING:
        raise NotImplementedError(f"histc(): not implemented for '{input.dtype.name}' tensors")
    if integer("histc", "bins", bins) <= 0:
        raise RuntimeError(f"histc(): bins must be > 0, but got {bins}")
    check_shape("histc", (bins,))
    low, high = _range_of("histc", input, input._array, None if min == max else (min, max), 1)
    return wrap(input._device.backend.histc(input._array, bins, low, high), input._device)


def _range_of(name: str, input: Tensor, x: Any, given: Any, margin: float) -> tuple[float, float]:
    """The bounds of the bins, by default those of the data; ``margin`` apart from a single one."""
    B = input._device.backend
    low, high = given or (0.0, 1.0)
    if given is None and x.size:
        low = float(B.item(B.amin(x, None, False)))
        high = float(B.item(B.amax(x, None, False)))
    if not abs(low) + abs(high) < float("inf"):
        raise RuntimeError(f"{name}(): range of [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError(
            f"{name}(): max must be larger than min: min should not exceed max, got min {low} "
            f"max {high}"
        )
    return (low - margin, high + margin) if low == high else (low, high)


_WRONG_HISTOGRAM = (
    "torch.histogram: input tensor and {part} tensor should have the same dtype, but got input "
    "{wanted} and {part} {got}"
)


@public(out=Out(words=_WRONG_HISTOGRAM))
def histogram(
    input: Tensor,
    bins: Tensor | int = 100,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """The number (or the weight) of elements between each two neighbouring edges.

    Args:
        bins: how many equal bins, or a 1-dim tensor with their edges.
        range: the lowest and the highest edge; by default those of the data.
        density: divide by the total and by the width of each bin.

    Returns:
        A named tuple ``(hist, bin_edges)``. The last bin includes its upper edge.

    Example:
        >>> import nnkit
        >>> nnkit.histogram(nnkit.tensor([1.0, 2.0, 1.0]), 3, range=(0.0, 3.0)).hist
        tensor([0., 2., 1.])
    """
    check_tensor("histogram", input)
    edges_given = isinstance(bins, Tensor) and (bins.ndim > 0 or bins.dtype.category != INTEGER)
    if edges_given and range is not None:
        raise TypeError(
            "histogram() received an invalid combination of arguments: takes 'range' where 'bins' "
            "is an int, got a Tensor"
        )
    if not isinstance(bins, Tensor) or range is not None:
        bins = integer("histogram", "bins", bins)
    if weight is not None:
        weight = weight.reshape(-1)
    hist, (edges,) = _histogram("histogram", input.reshape(-1, 1), [bins], range, weight, density)
    return return_types.histogram((hist, edges))


@public(method=False)
def histogramdd(
    input: Tensor,
    bins: Any,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """The number (or the weight) of points between neighbouring edges in each of their dimensions.

    Args:
        input: (*, n), points of n coordinates.
        bins: how many equal bins: an int, or one for each coordinate; or a 1-dim tensor of edges
            for each.
        range: the lowest and the highest edge of each coordinate, 2n numbers; by default those of
            the data.
        weight: (*), what each point counts.
        density: divide by the total and by the volume of each bin.

    Returns:
        A named tuple ``(hist, bin_edges)``; ``hist`` has a dimension for each coordinate. The last
        bins include their upper edges.

    Raises:
        RuntimeError: ``bins``, ``range`` or ``weight`` does not fit ``input``.

    Example:
        >>> import nnkit
        >>> points = nnkit.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
        >>> nnkit.histogramdd(points, 2).hist
        tensor([[0., 1.],
                [1., 1.]])
    """
    name = "histogramdd"
    check_tensor(name, input)
    if is_int(bins):
        bins = (bins,) * size_at(name, input, -1, "input")
    bins = _checked_bins(name, bins)
    if input.ndim < 2:
        raise RuntimeError(f"{name}(): input must have at least 2 dimensions, got {input.ndim}")
    count = input._array.shape[-1]
    if len(bins) != count:
        raise RuntimeError(
            f"{name}(): bins must be one for each of the {count} coordinates of input, got "
            f"{len(bins)}"
        )
    hist, edges = _histogram(name, input, bins, range, weight, density)
    return return_types.histogramdd((hist, edges))


def _checked_bins(name: str, bins: Any) -> list:
    """The numbers of bins, or tensors of edges; TypeError unless all are one or the other."""
    if not isinstance(bins, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'bins' must be int, tuple of ints or tuple of Tensors, not "
            f"{type(bins).__name__}"
        )
    if all(map(is_int, bins)):
        return [integer(name, "bins", n) for n in bins]
    for position, each in enumerate(bins):
        if not isinstance(each, Tensor):
            raise TypeError(
                f"{name}(): expected Tensor as element {position} of argument 'bins', got "
                f"{type(each).__name__}"
            )
    return list(bins)


def _histogram(
    name: str, input: Tensor, bins: list, range: Any, weight: Tensor | None, density: bool
) -> tuple[Tensor, tuple]:
    """How many points, the last dimension of ``input``, or which weight of them, are between
    neighbouring edges; and the edges."""
    operands = input, weight, *bins = on_one_device(name, (input, weight, *bins))
    tensors = [t for t in operands if isinstance(t, Tensor)]
    for each in tensors:
        refuse_tangent(name, each)
    counts, *edges = _counted(name, input, bins, range, weight, density)
    if wants_history(input, operands):
        for result in (counts, *edges):
            end_history(result, name, tensors)
    return counts, tuple(edges)


@by_example
def _counted(
    name: str, input: Tensor, bins: list, range: Any, weight: Tensor | None, density: bool
) -> list[Tensor]:
    """The counts, or weights, and the edges of each coordinate, without a history."""
    B, place, dtype = input._device.backend, input._device, input._array.dtype
    points = B.reshape(input._array, (math.prod(input._array.shape[:-1]), len(bins)))
    columns = [B.getitem(points, (slice(None), d)) for d in builtins.range(len(bins))]
    bounds = _pairs(name, range, len(bins))
    edges = [_edges(name, input, *each) for each in zip(columns, bins, bounds, strict=True)]
    if weight is not None and weight.dtype is not input.dtype:
        raise RuntimeError(
            f"{name}(): input tensor and weight tensor should have the same dtype, got "
            f"{input.dtype} and {weight.dtype}"
        )
    if weight is not None and weight._array.shape != input._array.shape[:-1]:
        raise RuntimeError(
            f"{name}(): if weight tensor is provided it should have the same shape as the input "
            "tensor excluding its innermost dimension, got "
            f"{list(weight._array.shape)} for {list(input._array.shape[:-1])}"
        )
    if input.dtype.category != FLOATING:
        raise NotImplementedError(f"{name}(): not implemented for '{input.dtype.name}' tensors")
    shape = tuple([each.size - 1 for each in edges])
    if 0 in shape:
        raise RuntimeError(f"{name}(): bins must be > 0, but got 0")
    check_shape(name, shape)
    if columns:
        weights = None if weight is None else B.reshape(weight._array, columns[0].shape)
        counts = B.reshape(_counts(B, columns, edges, weights), shape)
        counts = B.cast(counts, dtype)
    else:
        counts = B.zeros((), dtype)
    if density:
        counts = B.div(counts, B.sum(counts, None, False))
        for d, each in enumerate(edges):
            widths = B.sub(B.getitem(each, (slice(1, None),)), B.getitem(each, (slice(-1),)))
            counts = B.div(counts, B.reshape(widths, (-1,) + (1,) * (len(shape) - 1 - d)))
    return [wrap(each, place) for each in (counts, *edges)]


def _counts(B: Any, columns: list, edges: list, weights: Any) -> Any:
    """The number, or the weight, of the points in each bin, flat."""
    place = inside = None
    for x, each in zip(columns, edges, strict=True):
        bins = each.size - 1
        first, last = B.getitem(each, (slice(1),)), B.getitem(each, (slice(bins, None),))
        at = B.minimum(B.add(B.searchsorted(each, x, True), -1), bins - 1)
        within = B.logical_and(B.ge(x, first), B.le(x, last))
        place = at if place is None else B.add(B.mul(place, bins), at)
        inside = within if inside is None else B.logical_and(inside, within)
    total = math.prod([each.size - 1 for each in edges])
    # What is outside of all bins goes into one more.
    counts = B.bincount(B.where(inside, place, total), weights, total + 1)
    return B.getitem(counts, (slice(total),))


def _edges(name: str, input: Tensor, x: Any, bins: Any, bounds: Any) -> Any:
    """The edges of a coordinate's bins: those given, or of equal bins between the bounds, if these
    are None between those of its values ``x``."""
    if isinstance(bins, Tensor):
        if bins.dtype is not input.dtype:
            raise RuntimeError(
                f"{name}(): input tensor and bins tensors should have the same dtype, got "
                f"{input.dtype} and {bins.dtype}"
            )
        if bins.ndim != 1:
            raise RuntimeError(
                f"{name}(): bins tensor should have one dimension, got {bins.ndim} dimensions"
            )
        if not bins._array.size:
            raise RuntimeError(f"{name}(): bins tensor should have at least 1 element")
        return bins._array
    if bins <= 0:
        raise RuntimeError(f"{name}(): bins must be > 0, but got {bins}")
    check_shape(name, (bins + 1,))
    if bounds is None and x.size and input.dtype.name not in ("float32", "float64"):
        raise NotImplementedError(
            f"{name}(): not implemented for '{input.dtype.name}' tensors without a range"
        )
    low, high = _range_of(name, input, x, bounds, 0.5)
    return linspace(low, high, bins + 1, dtype=input.dtype, device=input.device)._array


def _pairs(name: str, given: Any, count: int) -> list:
    """The two bounds of each coordinate; None where the data decide."""
    if given is None:
        return [None] * count
    if not isinstance(given, (tuple, list)) or not all(isinstance(n, Real) for n in given):
        raise TypeError(f"{name}(): argument 'range' must be tuple of floats, got {given!r}")
    if len(given) != 2 * count:
        raise RuntimeError(f"{name}(): range must have {2 * count} numbers, got {len(given)}")
    return [tuple(given[2 * d : 2 * d + 2]) for d in builtins.range(count)]
