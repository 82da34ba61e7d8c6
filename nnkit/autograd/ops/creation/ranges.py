"""New tensors of numbers at equal distances."""

from __future__ import annotations

import cmath
import math
from typing import Any

from nnkit.autograd.arguments.factory import (
    FILLED,
    check_kind,
    dtype_of,
    finished,
    number,
    place_of,
)
from nnkit.autograd.arguments.sizes import INT64_MAX, check_shape, integer, is_int64
from nnkit.autograd.op.public import public
from nnkit.autograd.surface.limits import fitting
from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import (
    COMPLEX,
    FLOATING,
    INTEGER,
    bool_,
    default_dtype,
    int64,
    of_number,
)
from nnkit.backend.warning import warn


@public(method=False)
def arange(
    *bounds: Any, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False, **keyword: Any,
) -> Tensor:  # fmt: skip
    """The numbers ``start, start + step, ...`` below ``end``: ``arange(end)``,
    ``arange(start, end)``, ``arange(start, end, step)``.

    Args:
        bounds: ``start`` (0), ``end``, ``step`` (1); also by keyword.
        dtype: int64 unless given or one of the bounds is a float.

    Raises:
        RuntimeError: ``step`` is 0 or leads away from ``end``, or a bound is infinite or NaN.
        TypeError: a bound is no number.
        OverflowError: it is an int that neither int64 nor uint64 holds.
        NotImplementedError: the dtype is bool or complex.

    Example:
        >>> import nnkit
        >>> nnkit.arange(1, 2, 0.25)
        tensor([1.0000, 1.2500, 1.5000, 1.7500])
    """
    check_kind("arange", dtype, layout, device, out)
    start, end, step = _bounds(bounds, keyword)
    is_whole = isinstance(start, int) and isinstance(end, int) and isinstance(step, int)
    default = int64 if is_whole else default_dtype()
    d = dtype_of("arange", dtype, default if out is None else out.dtype)
    if d.category not in (INTEGER, FLOATING):
        raise NotImplementedError(f"arange(): not implemented for '{d.name}' tensors")
    if not is_whole and not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"arange(): unsupported range: {start} -> {end}")
    if step == 0:
        raise RuntimeError("arange(): step must be nonzero, got 0")
    if d is int64 and int(step) == 0:
        raise ValueError(f"arange(): step must be nonzero in int64, got {step}")
    if (end - start) * step < 0:
        raise RuntimeError(
            "arange(): upper bound and lower bound inconsistent with step sign: "
            f"got start={start}, end={end}, step={step}"
        )
    if d.category == INTEGER:
        for value in (start, end, step):
            fitting("arange", value, int64)
    check_shape("arange", (_distance(start, end, step),))
    place = place_of(device, out=out)
    data = place.backend.arange(start, end, step, d.array)
    return _in_shape_of_out("arange", data, place, requires_grad, out)


def _bounds(bounds: tuple, keyword: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Start, end and step of an `arange`, as numbers."""
    if len(bounds) == 1 and bounds[0].__class__ is int and is_int64(bounds[0]) and not keyword:
        return 0, bounds[0], 1
    names = ("start", "end", "step") if len(bounds) > 1 or keyword else ("end",)
    by_name = {*keyword} - {*names[: len(bounds)]}
    if len(bounds) + len(by_name) > 3 or by_name != {*keyword} or not by_name <= {*names}:
        raise TypeError(f"arange(): expected (end) or (start, end, step), got {bounds} {keyword}")
    given = dict(zip(names, bounds, strict=False)) | keyword
    missing = "end" if "end" not in given else "start"
    if missing not in given and (missing == "end" or "step" in given):
        raise TypeError(f'arange() missing 1 required positional arguments: "{missing}"')
    given = {n: number("arange", n, v) for n, v in given.items()}
    for parameter, value in given.items():
        if isinstance(value, complex):
            raise RuntimeError(f"arange(): argument '{parameter}' must be real, got {value}")
        of_number(value)
    return given.get("start", 0), given["end"], given.get("step", 1)


def _distance(start: Any, end: Any, step: Any) -> int:
    """The number of whole steps between two bounds."""
    if isinstance(start, int) and isinstance(end, int) and isinstance(step, int):
        return (end - start) // step
    steps = (end - start) / step
    return int(steps) if math.isfinite(steps) else INT64_MAX


@public(name="range", method=False)
def range_(
    start: float,
    end: float,
    step: float = 1,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """`arange` with ``end`` included, which torch has deprecated.

    Raises:
        RuntimeError: ``step`` is 0 or leads away from ``end``, or a bound is infinite or NaN.
        TypeError: a bound is no number.
    """
    warn("range() is deprecated: use arange(), whose values end before end")
    check_kind("range", dtype, layout, device, out)
    start, end, step = (
        number("range", n, v) for n, v in (("start", start), ("end", end), ("step", step))
    )
    d = dtype_of("range", dtype, None if out is None else out.dtype)
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"range(): unsupported range: {start} -> {end}")
    if step == 0:
        raise RuntimeError("range(): step must be nonzero, got 0")
    if (end - start) * step < 0:
        raise RuntimeError(
            "range(): upper bound and lower bound inconsistent with step sign: "
            f"got start={start}, end={end}, step={step}"
        )
    if d.category == INTEGER:
        start, end, step = int(start), int(end), int(step)
    (count,) = check_shape("range", (_distance(start, end, step) + 1,))
    place = place_of(device, out=out)
    data = place.backend.arange(start, start + count * step, step, d.array)
    return _in_shape_of_out("range", data[:count], place, requires_grad, out)


_FILLING = FILLED._replace(fills=True)
# An ``out`` of another dtype is cast to.
_FILLS = {
    "arange": _FILLING._replace(warning="counts"), "range": _FILLING._replace(dtype=None)
}  # fmt: skip


def _in_shape_of_out(name: str, data: Any, place: Any, requires_grad: bool, out: Any) -> Tensor:
    """The range as a tensor; an ``out`` of as many elements keeps its shape."""
    if isinstance(out, Tensor) and out._array.size == data.size:
        data = place.backend.reshape(data, out._array.shape)
    return finished(name, data, place, requires_grad, out, _FILLS.get(name, _FILLING))


def _ends(name: str, start: Any, end: Any, steps: Any, dtype: Any, out: Any) -> tuple:
    bounds = []
    for kind, bound in (("start", start), ("end", end)):
        if isinstance(bound, Tensor) and bound.ndim:
            raise RuntimeError(
                f"{name} only supports 0-dimensional start and end tensors, but got {kind} with "
                f"{bound.ndim} dimension(s)."
            )
        bounds.append(number(name, kind, bound.detach() if isinstance(bound, Tensor) else bound))
    start, end = bounds
    if integer(name, "steps", steps) < 0:
        raise RuntimeError(f"{name}(): number of steps must be non-negative, got {steps}")
    check_shape(name, (steps,))
    default = default_dtype()
    if isinstance(start, complex) or isinstance(end, complex):
        default = default.to_complex()
    d = dtype_of(name, dtype, default if out is None else out.dtype)
    if default.category == COMPLEX != d.category:
        raise RuntimeError(
            f"torch.{name}(): inferred dtype {default.scalar_type} can't be safely cast to passed "
            f"dtype {d.scalar_type}"
        )
    if d is bool_ and steps > 1:
        raise NotImplementedError(f"{name}(): not implemented for 'bool' tensors")
    if steps > 1:
        return fitting(name, start, d), fitting(name, end, d), d
    start = start if steps else 0
    if d.category == INTEGER and not cmath.isfinite(start):
        raise RuntimeError(f"{name}(): {start} cannot be converted to {d}")
    return start, start, d


@public(method=False)
def linspace(
    start: Tensor | complex,
    end: Tensor | complex,
    steps: int,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """``steps`` numbers at equal distances from ``start`` to ``end``, both included.

    Raises:
        RuntimeError: ``steps`` is negative.
        TypeError: a bound is no number, or ``steps`` no int.

    Example:
        >>> import nnkit
        >>> nnkit.linspace(0, 1, 5)
        tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    check_kind("linspace", dtype, layout, device, out)
    start, end, d = _ends("linspace", start, end, steps, dtype, out)
    if steps == 1:
        start = fitting("linspace", start, d, True)
    place = place_of(device, out=out)
    data = place.backend.linspace(start, end, steps, d.array)
    return _in_shape_of_out("linspace", data, place, requires_grad, out)


@public(method=False)
def logspace(
    start: Tensor | complex,
    end: Tensor | complex,
    steps: int,
    base: float = 10.0,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """``base ** x`` for ``steps`` exponents ``x`` at equal distances from ``start`` to ``end``.

    Raises:
        RuntimeError: ``steps`` is negative.

    Example:
        >>> import nnkit
        >>> nnkit.logspace(0, 2, 3)
        tensor([  1.,  10., 100.])
    """
    check_kind("logspace", dtype, layout, device, out)
    start, end, d = _ends("logspace", start, end, steps, dtype, out)
    place = place_of(device, out=out)
    data = place.backend.logspace(start, end, steps, base, d.array)
    return _in_shape_of_out("logspace", data, place, requires_grad, out)
