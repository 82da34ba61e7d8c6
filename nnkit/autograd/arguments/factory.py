"""The arguments that all factories of tensors take: ``dtype``, ``device``, ``layout``, ``out`` and
``requires_grad``."""

from __future__ import annotations

import math
import numbers
from typing import Any

from nnkit.autograd.arguments.dims import sizes_of
from nnkit.autograd.arguments.sizes import MOST_DIMENSIONS, MOST_ELEMENTS, check_shape
from nnkit.autograd.op.out import Out, write_out
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.backend.device import device as Device
from nnkit.backend.device import get_default_device, located
from nnkit.backend.dtype import (
    FLOATING,
    OF_ARRAY,
    bool_,
    complex128,
    default_dtype,
    dtype,
    float64,
    int64,
    python_number,
)
from nnkit.backend.reproducibility import fills_memory

# Python's types stand for dtypes too.
_OF_TYPE = {bool: bool_, int: int64, float: float64, complex: complex128}


def dtype_of(name: str, given: Any, default: dtype | None = None) -> dtype:
    """The dtype that was asked for, else ``default``, else the default floating dtype."""
    if given is None:
        return default or default_dtype()
    if isinstance(given, dtype):
        return given
    try:
        return _OF_TYPE[given]
    except (KeyError, TypeError):
        got = given.__name__ if isinstance(given, type) else type(given).__name__
        raise TypeError(f"{name}(): argument 'dtype' must be nnkit.dtype, not {got}") from None


def place_of(given: Any, default: Device | None = None, out: Tensor | None = None) -> Device:
    """The device of ``out`` if there is one, else that which was asked for, else ``default``, else
    the default device."""
    if out is not None:
        return Device(out._device.type, out._device.index)
    if given is None:
        return default or located(get_default_device())
    found = located(given)
    return Device(found.type, found.index) if found.depth else found  # new ones are of no level


def is_strided(layout: Any) -> bool:
    """Whether a layout, or None for the default one, is that of strided memory."""
    return layout is None or str(layout).endswith("strided")


def check_layout(name: str, layout: Any) -> None:
    """RuntimeError for every layout but strided memory."""
    if not is_strided(layout):
        raise RuntimeError(f"{name}(): only strided tensors are supported, got layout {layout}")


def check_kind(name: str, dtype: Any, layout: Any, device: Any, out: Any) -> None:
    """Hold the ``out`` of a factory against the dtype, layout and device that it is asked for.

    Raises:
        TypeError: ``out`` is no Tensor.
        RuntimeError: it has another one, or there is none and the layout is not strided.
    """
    if out is None:
        return None if layout is None else check_layout(name, layout)
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    d = dtype_of(name, dtype, out.dtype)
    place = place_of(device, out._device)
    for kind, given, found in (
        ("dtype", d.scalar_type, out.dtype.scalar_type),
        ("layout", str(layout or out.layout), str(out.layout)),
        ("device type", place.type, out._device.type),
    ):
        if given != found:
            raise RuntimeError(
                f"{name}(): {kind} {given} does not match {kind} of out parameter ({found})"
            )


def shape_of(name: str, given: tuple, keyword: Any = None) -> tuple[int, ...]:
    """Sizes as a tuple of non-negative ints: `check_shape` of `sizes_of`, which plain ints that
    fit do without."""
    sizes = given[0] if len(given) == 1 and isinstance(given[0], tuple) else given
    count = 1
    for n in sizes:
        if n.__class__ is not int or n < 1:
            break
        count *= n
    else:
        if given and keyword is None and count <= MOST_ELEMENTS and len(sizes) <= MOST_DIMENSIONS:
            return tuple(sizes)
    if not given and keyword is None:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    return check_shape(name, sizes_of(name, given, keyword), "size")


def number(name: str, parameter: str, value: Any) -> Any:
    """A Python number, or the one in a 0-dim tensor that requires no gradient."""
    if value.__class__ in (int, float):
        return value
    if isinstance(value, Tensor) and not (value.ndim or value.requires_grad):
        return value.item()
    value = python_number(value)
    if not isinstance(value, numbers.Number):
        raise TypeError(
            f"{name}(): argument '{parameter}' must be Number, not {type(value).__name__}"
        )
    return value


def unwritten(B: Any, data: Any) -> Any:
    """Memory that nobody has written; deterministic programs see NaN or the largest integer."""
    if fills_memory():
        d = OF_ARRAY[data.dtype]
        bits = 8 * d.itemsize - d.is_signed
        B.fill_(data, math.nan if d.category >= FLOATING else d is bool_ or (1 << bits) - 1)
    return data


# The demands of factories on ``out``, and of those that give it its size before anything else.
FILLED = Out(dtype="same", history="ended", warning="")
SIZED = FILLED._replace(history="sized")


def finished(
    name: str, data: Any, place: Device, requires_grad: bool = False, out: Tensor | None = None,
    facts: Out = FILLED,
) -> Tensor:  # fmt: skip
    """A new leaf on an array, or ``out`` with the array's contents, and as a leaf with the flag."""
    result = wrap(data, place)
    if out is not None:
        result = write_out(out, result, name, facts)
    changes = requires_grad or (result._requires_grad and not result._is_recorded())
    return result._set_requires_grad(requires_grad) if changes else result
