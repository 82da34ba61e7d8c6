"""Type promotion of an op's operands, and the errors of operands that do not fit."""

from __future__ import annotations

import itertools
import numbers
from collections.abc import Iterable
from typing import Any

from nnkit.autograd.arguments.dims import broadcast_shape
from nnkit.autograd.batch.examples import is_batched, lowest, of_all
from nnkit.autograd.engine.node import Promotion
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.autograd.views.refusals import UNSEEN, check_history
from nnkit.backend.algebra import CATALOGUE, FORMULAS
from nnkit.backend.catalogue import ALWAYS_REFUSED
from nnkit.backend.complaints import is_about_dtypes, is_about_shapes
from nnkit.backend.device import cpu, device
from nnkit.backend.dtype import (
    BOOL,
    COMPLEX,
    FLOATING,
    HALF,
    INTEGER,
    OF_ARRAY,
    dtype,
    held,
    of_operand,
    python_number,
    result_dtype,
    to_float,
)
from nnkit.backend.errors import HostMemoryError
from nnkit.backend.lazy import OF_ZEROS, Lazy, LazyPlace, is_zero, plain


class OperandError(TypeError):
    """An operand is neither a Tensor nor a number."""


OperandError.__name__ = OperandError.__qualname__ = "TypeError"  # the name that users see


def scalar(value: Any) -> Any:
    """A 0-dim tensor or a scalar of NumPy as a Python number; any other value unchanged."""
    if isinstance(value, Tensor) and not value._array.ndim:
        return value.item()
    return python_number(value)


def require(condition: Tensor, error: type[Exception], message: str) -> None:
    """Raise ``error`` unless the condition is true everywhere, without reading the values in
    Python. On a GPU it is raised by the next call that synchronizes."""
    condition._device.backend.check(condition._array, error, message)


def wrong_type(name: str, parameter: str, value: Any) -> OperandError:
    return OperandError(
        f"{name}(): argument '{parameter}' must be Tensor, not {type(value).__name__}"
    )


def check_steps(first: dtype, second: dtype) -> None:
    """RuntimeError for a pair of dtypes that heaviside() does not accept."""
    kind = "complex tensors" if COMPLEX in (first.category, second.category) else None
    if kind is None and first is not second:
        kind = "tensors with different dtypes"
    if kind is not None:
        raise RuntimeError(f"heaviside is not yet implemented for {kind}. Got {first} and {second}")


# For these, torch checks the dtype explicitly; for others it finds that there is no kernel.
_CHECKED = frozenset(
    "deg2rad fmax fmin heaviside isneginf isposinf maximum minimum neg rad2deg sub".split()
)
_CHECKED_FOR_BOOL = frozenset(("relu", "tanhshrink"))
# With half precision tensors, these use a number `other` in float32; others round it first.
EXACT = frozenset(("mul", "div", "div_floor", "div_trunc", "floor_divide"))
# Advice for `-` with one or two bool tensors.
_INVERTED = (
    "with a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
    "`logical_not()` operator instead."
)
_SUBTRACTION = (
    f"Subtraction, the `-` operator, {_INVERTED}",
    "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
    "`logical_xor()` operator instead.",
)

# The arithmetic that also accepts two numbers, and returns a 0-dim tensor.
_OF_NUMBERS = EXACT | {"add", "sub"}


def check_dtype(name: str, d: Any, refuses: tuple[str, ...], operands: tuple = ()) -> None:
    """RuntimeError or NotImplementedError if the op is not defined for this kind of dtype.

    The latter is raised by torch's kernels; so errors of histories and shapes come first.
    """
    if not d.kinds.isdisjoint(refuses):
        checked = name in (_CHECKED_FOR_BOOL if d.category == BOOL else ()) or name in _CHECKED
        checked = checked and not d.is_stored
        error = RuntimeError if checked else NotImplementedError
        if error is NotImplementedError:
            tensors = [t for t in operands if isinstance(t, Tensor)]
            if MODE.enabled and name not in UNSEEN:
                for t in tensors:
                    check_history(t)
            broadcast_shape(name, [t.shape for t in tensors])
        if name == "neg" and d.category == BOOL:
            raise error(f"Negation, the `-` operator, {_INVERTED.replace('with', 'on', 1)}")
        raise error(f"{name}(): not implemented for '{d.name}' tensors")


def check_defined(name: str, kernel: str, input: Tensor, always: bool = False) -> None:
    """NotImplementedError if the primitive ``kernel`` refuses the dtype of the input, of which
    there are elements unless it ``always`` refuses."""
    always = always or kernel in ALWAYS_REFUSED
    if input._array.dtype in CATALOGUE[kernel].refused and (always or input._array.size):
        raise NotImplementedError(f"{name}(): not implemented for '{input.dtype.name}' tensors")


def operands_of(name: str, input: Any, other: Any, kind: str, refuses: tuple[str, ...]) -> tuple:
    """The promoted operands of a binary op, arrays or Python numbers, and their device."""
    tensors = [t for t in (input, other) if isinstance(t, Tensor)]
    are_numbers = name in _OF_NUMBERS and not tensors and isinstance(input, numbers.Number)
    if not (tensors or are_numbers):
        raise wrong_type(name, "input", input)
    parts = _kinds_of(name, (input, other), ("input", "other"))
    d = result_dtype(parts)
    if are_numbers:
        input = wrap(cpu.backend.full((), input, parts[0][0].array), cpu)
        tensors = [input]
    if name == "heaviside":
        check_steps(parts[0][0], parts[1][0])
    bools = [part[0] for part in parts if part[0].category == BOOL]
    if name == "sub" and bools:
        raise RuntimeError(_SUBTRACTION[len(bools) - 1])
    check_dtype(name, d, refuses, (input, other))
    if kind == "float":
        d = to_float(d)
    device = tensors[0]._device
    B = device.backend
    converted = []
    # Beside a number it is rounded with the result alone.
    single = isinstance(input, Tensor) and name in EXACT
    # Numbers of examples beside what is no such number are cast by an operation of its own.
    apart = device.depth and [is_batched(v) and not v._array.ndim for v in tensors].count(True) == 1
    for value, exact in ((input, False), (other, single)):
        if isinstance(value, Tensor):
            data = value._array
            if exact and d.array in HALF and device is cpu and not data.ndim:
                converted.append(B.item(data))
            elif data.dtype is d.array:
                converted.append(data)
            else:
                converted.append(B.cast(data, d.array))
                if device.depth and not apart:
                    _in_place_of(value, wrap(converted[-1], device))
        elif d.category >= FLOATING:
            converted.append(value if exact else held(value, d))
        else:
            converted.append(B.full((), _fits(name, value, d), d.array))
    return converted[0], converted[1], device


def _in_place_of(operand: Tensor, cast: Tensor) -> Tensor:
    """``cast``, the operand in the dtype of an operation, as a part of that: its node is hidden,
    and writes to the operand count, since torch saves the operand itself."""
    lowest(cast)._writes = lowest(operand)._writes
    given, made = of_all(operand), of_all(cast)
    if made._requires_grad:
        meta = ((given._array.shape, given._array.dtype),)
        made._edge = Promotion(made._edge.edges, (), given._device, meta)
    return cast


def _fits(name: str, value: Any, d: Any) -> Any:
    if d.category == INTEGER:
        bits = d.itemsize * 8 - d.is_signed
        if not -(1 << 63) <= value < 1 << 64:
            raise OverflowError(f"{name}(): int too big to convert: {value}")
        wrapped = int(value) & ((1 << (d.itemsize * 8)) - 1)
        return wrapped - (1 << (d.itemsize * 8)) if d.is_signed and wrapped >> bits else wrapped
    return value


def together(name: str, *values: Any) -> tuple:
    """The operands on one device. As in torch, 0-dim CPU tensors are moved to the others.

    Raises:
        RuntimeError: the others are on different devices.
    """
    places = [v._device.home for v in values if isinstance(v, Tensor) and not _moves(v)]
    if places:
        values = tuple(
            v.to(places[0]) if isinstance(v, Tensor) and _moves(v) else v for v in values
        )
    return on_one_device(name, values)


def on_one_device(name: str, values: tuple) -> tuple:
    """The values, with all tensors on one device, or lifted to the innermost level of one of them.

    Raises:
        RuntimeError: they are on different devices.
    """
    places = [v._device for v in values if isinstance(v, Tensor)]
    if all(place is places[0] for place in places):
        return values
    level: Any = max(places, key=lambda place: (place.depth, hasattr(place, "lift")))
    if any(place.home is not place for place in places):
        if not level.depth and name in OF_ZEROS and any(map(_is_zero, values)):
            return tuple(map(_beside_zeros, values))
        values = tuple([v if level.depth and _is_zero(v) else resolved(v) for v in values])
        if not level.depth:
            return on_one_device(name, values)
    if not hasattr(level, "lift") or any(place.type != places[0].type for place in places):
        raise RuntimeError(
            f"{name}(): Expected all tensors to be on the same device, but found at least two "
            f"devices, {' and '.join(dict.fromkeys(map(str, places)))}"
        )
    return tuple([_lifted(level, v) for v in values])


ASKING: list[device] = []  # the places of tensors whose classes have ``__torch_dispatch__``


def asking_among(values: Iterable[Any]) -> device | None:
    """The first of the `ASKING` places among the tensors in values, tuples and lists."""
    for value in values:
        if isinstance(value, Tensor):
            if value._device.asks:
                return value._device
        elif isinstance(value, (tuple, list)) and (found := asking_among(value)) is not None:
            return found
    return None


def kernel_asked(name: str, *values: Any) -> Any:
    """The primitive ``name`` of the `ASKING` place among the values; None if there is none."""
    place = asking_among(values) if ASKING else None
    return None if place is None else getattr(place.backend, name, None)


def beside_asking(value: Tensor, index: Any) -> Tensor:
    """The indexed tensor, moved to the `ASKING` place of a tensor in the index, if there is one."""
    place: Any = asking_among((index,)) if ASKING else None
    return value if place is None else place.lift(value)


def _lifted(level: Any, value: Any) -> Any:
    """A tensor lifted to a level, where writes to it count as well."""
    found = level.lift(value)
    if found is not value and value._writes.__class__ is list:
        found._writes = value._writes
    return found


def resolved(value: Any) -> Any:
    """A lazily conjugated or negated tensor, computed, with the same place in the graph."""
    home = value._device.home if isinstance(value, Tensor) else None
    if home is None or home is value._device:
        return value
    return moved(value, plain(value._array), home)


def moved(value: Tensor, data: Any, place: device) -> Tensor:
    """A tensor on an array of another device, with the place of ``tensor`` in the graph."""
    out = wrap(data, place)
    out._writes = value._writes
    if value.requires_grad and MODE.enabled:
        # Asking for the node raises where the history is lost.
        is_leaf = value.grad_fn is None and value._edge is None
        out._requires_grad = True
        out._edge = value.view_as(value)._edge if is_leaf else value._edge
    return out


def _is_zero(value: Any) -> bool:
    return isinstance(value, Tensor) and is_zero(value._array)


def _beside_zeros(value: Any) -> Any:
    """An operand, moved to the place of constant zeros that are another operand."""
    if not isinstance(value, Tensor) or is_zero(value._array):
        return value
    place = LazyPlace.before(value._device.home)
    return moved(value, Lazy(plain(value._array), place), place)


def _moves(value: Tensor) -> bool:
    return value._device.home is cpu and not value._array.ndim


def mismatch(name: str, *operands: Any) -> RuntimeError:
    """The error for operands whose shapes do not broadcast; numbers have the shape []."""
    shapes = [list(t.shape) if isinstance(t, Tensor) else [] for t in operands]
    for (i, a), (j, b) in itertools.combinations(enumerate(shapes[:3]), 2):
        for k in range(1, min(len(a), len(b)) + 1):
            if a[-k] != b[-k] and 1 not in (a[-k], b[-k]):
                return RuntimeError(
                    f"{name}(): The size of tensor {'abc'[i]} ({a[-k]}) must match the size of "
                    f"tensor {'abc'[j]} ({b[-k]}) at non-singleton dimension "
                    f"{max(len(a), len(b)) - k}: got shapes {a} and {b}"
                )
    return RuntimeError(f"{name}(): cannot combine operands of shapes {shapes}")


def translated(name: str, operands: Iterable[Any], error: Exception) -> Exception:
    """torch's error in place of NumPy's, for operands that passed all checks."""
    if isinstance(error, MemoryError):
        return HostMemoryError.having(error)
    tensors = [t for t in operands if isinstance(t, Tensor)]
    if is_about_shapes(error):
        return mismatch(name, *tensors)
    if is_about_dtypes(error):
        kinds = dict.fromkeys(f"'{t.dtype.name}'" for t in tensors)
        return NotImplementedError(f"{name}(): not implemented for {' and '.join(kinds)} tensors")
    return error


def promoted_dtype(
    name: str, *values: Any, parameters: tuple[str, ...] = ("input", "other")
) -> dtype:
    """torch's result type of tensors and numbers."""
    return result_dtype(_kinds_of(name, map(python_number, values), parameters))


def _kinds_of(name: str, values: Iterable, parameters: tuple[str, ...]) -> list[tuple[dtype, int]]:
    """The (dtype, priority) of each operand, as `result_dtype` takes them."""
    kinds = []
    for value in values:
        if isinstance(value, Tensor):
            kinds.append((OF_ARRAY[value._array.dtype], 0 if value._array.ndim else 1))
        elif isinstance(value, numbers.Number):
            kinds.append((of_operand(value), 2))
        else:
            position = len(kinds)
            named = position < len(parameters)
            raise wrong_type(name, parameters[position] if named else f"{position}", value)
    return kinds


def promote(
    name: str,
    *values: Any,
    floating: bool = False,
    parameters: tuple[str, ...] = ("input", "other"),
) -> tuple[Tensor, ...]:
    """The operands as Tensors of their common dtype, with history; numbers become 0-dim tensors."""
    if agree(values) and not (floating and OF_ARRAY[values[0]._array.dtype].category < FLOATING):
        return values
    values = together(name, *values)
    d = promoted_dtype(name, *values, parameters=parameters)
    if floating:
        d = to_float(d)
    place = next((v._device for v in values if isinstance(v, Tensor)), None)
    if place is None:
        raise wrong_type(name, parameters[0], values[0])
    result = []
    for value in values:
        if not isinstance(value, Tensor):
            result.append(wrap(place.backend.full((), _fits(name, value, d), d.array), place))
        else:
            result.append(cast_inside(value, d))
    return tuple(result)


def agree(values: tuple) -> bool:
    """Whether all values are tensors of one dtype in one place."""
    first = values[0]
    if not isinstance(first, Tensor):
        return False
    place, kind = first._device, first._array.dtype
    for value in values:
        if not isinstance(value, Tensor) or value._device is not place:
            return False
        if value._array.dtype is not kind:
            return False
    return True


def cast_inside(operand: Tensor, d: dtype) -> Tensor:
    """An operand, cast to the dtype of an operation as a part of that."""
    if operand._array.dtype is d.array:
        return operand
    return _in_place_of(operand, OPS["cast"](operand, d.array))


def cast_within(result: Tensor, dtype: Any) -> Tensor:
    """``result``, cast to the dtype of the tensor it is written to, as a part of the operation that
    made it: torch's rules get the gradient in that dtype."""
    cast, node = OPS["cast"](result, dtype), result._edge
    if getattr(node, "operation", "") in FORMULAS:
        if node.meta is None:
            look = result._array.shape, result._array.dtype
            node.meta = tuple([None if edge is None else look for edge in node.edges])
        cast._edge = node
    return cast
