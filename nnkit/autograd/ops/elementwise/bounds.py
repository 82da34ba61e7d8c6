"""Bounds, element by element: the larger of two, the smaller, clamping, replacing infinities."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from nnkit.autograd.arguments.dims import check_tensor
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.inference import refusal
from nnkit.autograd.op.out import Out, like_result
from nnkit.autograd.op.pointwise import attempting, fn, numbered, pointwise, writing
from nnkit.autograd.op.promotion import check_dtype, promote, promoted_dtype, scalar
from nnkit.autograd.op.public import public
from nnkit.autograd.op.registry import LIFTED
from nnkit.autograd.op.rule import real_gradient
from nnkit.autograd.ops.creation.conversion import converted
from nnkit.autograd.ops.creation.factories import complex_
from nnkit.autograd.ops.shape.strided import imag, real
from nnkit.autograd.surface.limits import FLOAT32_MAX, finfo, fitting_beside, iinfo
from nnkit.autograd.tensor import Tensor
from nnkit.autograd.views.writes import is_unseen, write
from nnkit.backend.dtype import BOOL, COMPLEX, FLOATING, INTEGER, OF_ARRAY, python_number


def _along_extremum(is_first: Callable) -> Callable:
    """The tangent of the larger or smaller of two: the second's where neither is, at a NaN."""

    def along(primals: tuple, tangents: list, *_: Any) -> Tensor:
        (x, y), (first, second) = primals, tangents
        share = LIFTED.where(LIFTED.eq(x, y), 0.5, LIFTED.cast(is_first(x, y), x._array.dtype))
        return LIFTED.add(second, LIFTED.mul(share, LIFTED.sub(first, second)))

    return along


def _along_fmax(primals: tuple, tangents: list, *_: Any) -> Tensor:
    """The tangent of the larger of two, at a tie the second's; of one beside a NaN its own."""
    (x, y), (first, second) = primals, tangents
    is_first = LIFTED.logical_or(LIFTED.gt(x, y), LIFTED.isnan(y))
    return LIFTED.where(is_first, first, second)


def _along_clamp(primals: tuple, tangents: list, *_: Any) -> Tensor:
    (x, low, high), (inside, below, above) = primals, tangents
    held = LIFTED.where(LIFTED.gt(x, high), above, inside)
    return LIFTED.where(LIFTED.gt(low, high), above, LIFTED.where(LIFTED.lt(x, low), below, held))


maximum = pointwise(
    "maximum",
    lambda x, y: fn.maximum(x, y),
    "The larger of two elements; NaN if one is. Ties share the gradient in equal halves.",
    example=("nnkit.tensor([1.0, nnkit.nan]), nnkit.tensor([3.0, 2.0])", "tensor([3., nan])"),
    in_place=False,
    refuses=("complex",),
    x=lambda g, x, y: fn.where(fn.eq(x, y), g / 2, fn.where(x < y, 0, g)),
    y=lambda g, x, y: fn.where(fn.eq(x, y), g / 2, fn.where(x > y, 0, g)),
    along=_along_extremum(LIFTED.gt),
    numbers="none",
)
minimum = pointwise(
    "minimum",
    lambda x, y: fn.minimum(x, y),
    "The smaller of two elements; NaN if one is. Ties share the gradient in equal halves.",
    example=("nnkit.tensor([1.0, nnkit.nan]), nnkit.tensor([3.0, 2.0])", "tensor([1., nan])"),
    in_place=False,
    refuses=("complex",),
    x=lambda g, x, y: fn.where(fn.eq(x, y), g / 2, fn.where(x > y, 0, g)),
    y=lambda g, x, y: fn.where(fn.eq(x, y), g / 2, fn.where(x < y, 0, g)),
    along=_along_extremum(LIFTED.lt),
    numbers="none",
)
fmax = pointwise(
    "fmax",
    lambda x, y: fn.fmax(x, y),
    "The larger of two elements, ignoring a single NaN.",
    example=("nnkit.tensor([1.0, nnkit.nan]), nnkit.tensor([3.0, 2.0])", "tensor([3., 2.])"),
    in_place=False,
    refuses=("complex",),
    x=lambda g, x, y: fn.where(fn.logical_or(x >= y, fn.isnan(y)), g, 0),
    y=lambda g, x, y: fn.where(fn.logical_or(x >= y, fn.isnan(y)), 0, g),
    along=_along_fmax,
    by_rows=("x", "y"),
    numbers="none",
)
fmin = pointwise(
    "fmin",
    lambda x, y: fn.fmin(x, y),
    "The smaller of two elements, ignoring a single NaN.",
    example=("nnkit.tensor([1.0, nnkit.nan]), nnkit.tensor([3.0, 2.0])", "tensor([1., 2.])"),
    in_place=False,
    refuses=("complex",),
    x=lambda g, x, y: fn.where(fn.logical_or(x <= y, fn.isnan(y)), g, 0),
    y=lambda g, x, y: fn.where(fn.logical_or(x <= y, fn.isnan(y)), 0, g),
    by_rows=("x", "y"),
    numbers="none",
)
_clamp_min = pointwise(
    "clamp_min",
    lambda x, y: fn.maximum(x, y),
    public=False,
    refuses=("bool", "complex"),
    node=numbered("ClampMin", tensor=1, number=0),
    alone="number",
    x=lambda g, x, y: fn.where(x >= y, g, 0),
    y=lambda g, x, y: fn.where(x < y, g, 0),
)
_clamp_max = pointwise(
    "clamp_max",
    lambda x, y: fn.minimum(x, y),
    public=False,
    refuses=("bool", "complex"),
    node=numbered("ClampMax", tensor=1, number=0),
    alone="number",
    x=lambda g, x, y: fn.where(x <= y, g, 0),
    y=lambda g, x, y: fn.where(x > y, g, 0),
)
_clamp_tensors = pointwise(
    "clamp_tensors",
    lambda x, low, high: fn.minimum(fn.maximum(x, low), high),
    function=False,
    node="ClampBackward0",
    x=lambda g, x, low, high: fn.where(fn.logical_and(x >= low, x <= high), g, 0),
    low=lambda g, x, low, high: fn.where(fn.logical_and(x < low, low < high), g, 0),
    high=lambda g, x, low, high: fn.where(fn.logical_or(x > high, high < low), g, 0),
    along=_along_clamp,
)
_clamp_between = pointwise(
    "clamp_between",
    lambda x, low, high: fn.minimum(fn.maximum(x, low), high),
    scalars=("low", "high"),
    function=False,
    node="ClampBackward1",
    x=lambda g, x, low, high: fn.where(fn.logical_and(x >= low, x <= high), g, 0),
)
_nan_to_num = pointwise(
    "nan_to_num",
    lambda x, nan, posinf, neginf: fn.where(
        fn.isnan(x),
        nan,
        fn.where(fn.eq(x, math.inf), posinf, fn.where(fn.eq(x, -math.inf), neginf, x)),
    ),
    scalars=("nan", "posinf", "neginf"),
    function=False,
    node="NanToNumBackward0",
    alone="refused",
    stepwise=(),
    x=lambda g, x, nan, posinf, neginf: fn.where(fn.isfinite(x), g, g * 0),
)


def _beside(name: str, input: Tensor, bound: Any) -> tuple:
    """A tensor and a bound of it, in the dtype in which its gradient compares them too."""
    if isinstance(bound, Tensor):
        return promote(name, input, bound) if bound.dtype is not input.dtype else (input, bound)
    return input, fitting_beside(name, bound, input)


def _are_bools(*operands: Any) -> bool:
    return all(isinstance(t, Tensor) and t.dtype.category == BOOL for t in operands)


def _dtype_of_clamped(out: Tensor, result: Tensor, arguments: tuple) -> str:
    return "castable" if any(isinstance(bound, Tensor) for bound in arguments[1:]) else "same"


_attempt_clamp = attempting(_clamp_between)
_write_clamp, _write_clamp_min, _write_clamp_max = [
    writing(_clamp_between, name) for name in ("clamp_", "clamp_min_", "clamp_max_")
]


def _between(attempt: Callable, input: Tensor, low: Any, high: Any) -> Tensor | None:
    """The result of ``attempt`` for two numbers, either of which may be None; None for other
    bounds."""
    low, high = -math.inf if low is None else low, math.inf if high is None else high
    for bound in (low, high):
        if bound.__class__ not in (int, float):
            return None
        if not -FLOAT32_MAX <= bound <= FLOAT32_MAX and bound not in (math.inf, -math.inf):
            return None  # NaN, or what may overflow
    return attempt(input, low, high)


def _clamp_min_in_place(self: Tensor, min: Tensor | complex) -> Tensor:
    out = _between(_write_clamp_min, self, min, None)
    return write(self, "clamp_min_", clamp_min, min) if out is None else out


@public(out=Out(dtype=_dtype_of_clamped), in_place=_clamp_min_in_place)
def clamp_min(input: Tensor, min: Tensor | complex) -> Tensor:
    """``input`` where it is at least ``min``, else ``min``.

    Example:
        >>> import nnkit
        >>> nnkit.clamp_min(nnkit.tensor([1, 5]), 3)
        tensor([3, 5])
    """
    check_tensor("clamp_min", input)
    if _are_bools(input, min):
        return maximum(input, min)
    return _clamp_min(*_beside("clamp_min", input, min))


def _clamp_max_in_place(self: Tensor, max: Tensor | complex) -> Tensor:
    out = _between(_write_clamp_max, self, None, max)
    return write(self, "clamp_max_", clamp_max, max) if out is None else out


@public(out=Out(dtype=_dtype_of_clamped), in_place=_clamp_max_in_place)
def clamp_max(input: Tensor, max: Tensor | complex) -> Tensor:
    """``input`` where it is at most ``max``, else ``max``.

    Example:
        >>> import nnkit
        >>> nnkit.clamp_max(nnkit.tensor([1, 5]), 3)
        tensor([1, 3])
    """
    check_tensor("clamp_max", input)
    if _are_bools(input, max):
        return minimum(input, max)
    return _clamp_max(*_beside("clamp_max", input, max))


def _clamp_in_place(
    self: Tensor, min: Tensor | complex | None = None, max: Tensor | complex | None = None
) -> Tensor:
    if min is not max:
        out = _between(_write_clamp, self, min, max)
        if out is not None:
            return out
    return write(self, "clamp_", clamp, min, max)


@public(
    out=Out(dtype=_dtype_of_clamped, checks_first=True),
    in_place=_clamp_in_place,
    aliases=("clip",),
)
def clamp(
    input: Tensor, min: Tensor | complex | None = None, max: Tensor | complex | None = None
) -> Tensor:
    """``input`` held between ``min`` and ``max`` (numbers or tensors, one may be missing).

    A NaN stays; where ``min > max`` the result is ``max``.

    Raises:
        RuntimeError: neither bound is given.

    Example:
        >>> import nnkit
        >>> nnkit.clamp(nnkit.tensor([-1.0, 0.5, 2.0]), 0, 1)
        tensor([0.0000, 0.5000, 1.0000])
    """
    if min is not max:
        out = _between(_attempt_clamp, input, min, max)
        if out is not None:
            return out
    if min is None and max is None:
        raise RuntimeError("clamp(): At least one of 'min' or 'max' must not be None")
    if isinstance(min, Tensor) != isinstance(max, Tensor) and None not in (min, max):
        min, max = scalar(min), scalar(max)
    if isinstance(min, Tensor) != isinstance(max, Tensor) and None not in (min, max):
        raise TypeError("clamp(): 'min' and 'max' must be both numbers or both Tensors")
    min, max = python_number(min), python_number(max)
    if COMPLEX in (each.dtype.category for each in (input, min, max) if isinstance(each, Tensor)):
        raise NotImplementedError("clamp(): not implemented for complex tensors")
    for parameter, bound in (("min", min), ("max", max)):
        if isinstance(bound, complex):
            raise RuntimeError(f"clamp(): argument '{parameter}' must be real, got {bound}")
    numbers = not isinstance(min, Tensor) and not isinstance(max, Tensor)
    if type(min) is int and type(max) is int and input.dtype.category == INTEGER:
        limits = iinfo(input.dtype)
        if limits.min <= min <= limits.max and limits.min <= max <= limits.max:
            return _clamp_between(input, min, max)
    if numbers and input.dtype.category == FLOATING:
        low = -math.inf if min is None else fitting_beside("clamp", min, input)
        high = math.inf if max is None else fitting_beside("clamp", max, input)
        return _clamp_between(input, low, high)
    if isinstance(min, Tensor) and isinstance(max, Tensor):
        operands = promote("clamp", input, min, max)
        check_dtype("clamp", operands[0].dtype, ("bool",), operands)
        return _clamp_tensors(*operands)
    bounds = [bound for bound in (min, max) if bound is not None]
    if input.dtype.category == BOOL and len(bounds) == 2:  # one of which may be no bool
        input = converted(input, promoted_dtype("clamp", input, *bounds))
    result = input if min is None else clamp_min(input, min)
    return result if max is None else clamp_max(result, max)


def _nan_to_num_(self: Tensor, *numbers: float | None, **named: Any) -> Tensor:
    return write(self, "nan_to_num_", _replaced, *numbers, **named)


def _like_floats(out: Any, result: Any, arguments: tuple) -> tuple[int, ...] | None:
    """Like the result; integers are copied by rows."""
    is_copy = OF_ARRAY[result.dtype].category < FLOATING
    return None if is_copy else like_result(out, result, arguments)


@public(out=Out(dtype="same", axes=_like_floats), in_place=_nan_to_num_)
def nan_to_num(
    input: Tensor,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Tensor:
    """``input`` with NaN and infinities replaced, by default by 0 and the dtype's extremes.

    Of complex numbers both parts, which has a derivative in place alone.

    Raises:
        RuntimeError: ``input`` is complex and requires a gradient.

    Example:
        >>> import nnkit
        >>> nnkit.nan_to_num(nnkit.tensor([float("nan"), float("inf")]), posinf=9.0)
        tensor([0., 9.])
    """
    if MODE.enabled and input.is_complex() and input.requires_grad and is_unseen((input,)):
        raise RuntimeError(refusal("nan_to_num"))
    return real_gradient("nan_to_num", _replaced(input, nan, posinf, neginf))


def _replaced(
    input: Tensor,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Tensor:
    if input.dtype.category < FLOATING:
        return input.clone()
    if input.is_complex():
        parts = [_replaced(part, nan, posinf, neginf) for part in (real(input), imag(input))]
        return complex_(*parts)
    largest = finfo(input.dtype).max
    return _nan_to_num(
        input,
        nan or 0.0,
        largest if posinf is None else posinf,
        -largest if neginf is None else neginf,
    )
