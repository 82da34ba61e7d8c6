"""The same values in another dtype, on another device, or in other memory."""

from __future__ import annotations

import numbers
from typing import Any

from nnkit.autograd.arguments.dims import check_tensor, expanded_shape
from nnkit.autograd.arguments.factory import dtype_of
from nnkit.autograd.arguments.overriding import overridable
from nnkit.autograd.compiled import bind_write
from nnkit.autograd.engine.node import Node, edge_of
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.pointwise import declined
from nnkit.autograd.op.promotion import kernel_asked
from nnkit.autograd.op.public import attach, known_as, public
from nnkit.autograd.op.rule import rule
from nnkit.autograd.ops.creation.memory_format import in_format, ordered
from nnkit.autograd.surface.limits import FLOAT32_MAX, fitting
from nnkit.autograd.surface.metadata import is_conj, is_neg
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.autograd.views.overlap import check_expanded
from nnkit.autograd.views.writes import write
from nnkit.backend.device import device as Device
from nnkit.backend.device import located
from nnkit.backend.dtype import (
    ALIASES,
    BOOL,
    COMPLEX,
    DTYPES,
    FLOATING,
    SCALAR_TYPES,
    complex128,
    default_dtype,
    float32,
    float64,
    of_number,
    package_of,
    python_number,
)
from nnkit.backend.dtype import dtype as dtype_type
from nnkit.backend.memory import axes_of, contiguous_format, format_of, preserve_format
from nnkit.backend.memory import memory_format as memory_format_type
from nnkit.backend.warning import warn_once

_NUMBERS = (bool, int, float, complex)
_WIDE = {float: float64, complex: complex128}  # what no digit of a number is lost in
_cut = rule("cast")  # to integers and bools, which have no gradient
# The engine casts a gradient back to the dtype of the input.
_cast = rule("cast", node="ToCopyBackward0", broadcasts=True, alone="recorded", x=lambda B, g: g)
_copy = rule("copy", node="CloneBackward0", alone="recorded", x=lambda B, g: g)
# Whatever was written over has no influence any more.
_fill = rule("fill", x=lambda B, g: B.zeros_like(g))
_zero = rule("fill", node="ZeroBackward0", x=lambda B, g: B.zeros_like(g))
_WRITTEN = tuple([d.array for d in (float32, float64)])
_attempt_copy = bind_write("copy_", "copy_", 2, _WRITTEN, declined)
_attempt_fill = bind_write("fill_", "fill_", 1, _WRITTEN, declined)
_attempt_zero = bind_write("fill_", "zero_", 1, _WRITTEN, declined)
fill_with, _overwrite = (
    rule(
        "overwrite", node=node, broadcasts=True,
        x=lambda B, g: B.zeros_like(g), source=lambda B, g: g,
    )
    for node in ("FillBackward3", "CopyBackwards")
)  # fmt: skip


@public
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy in memory of its own, through which gradients flow.

    Args:
        memory_format: the order of the copy in memory (``nnkit.contiguous_format`` for rows,
            ``nnkit.channels_last``); without one the order of the strides is kept.

    Example:
        >>> import nnkit
        >>> x = nnkit.ones(2)
        >>> x.clone().zero_()
        tensor([0., 0.])
        >>> x
        tensor([1., 1.])
    """
    check_tensor("clone", input)
    other = in_format(input, memory_format)
    return _copy(input) if other is input else other


def composite_operands(*inputs: Tensor) -> tuple[Tensor, ...]:
    """Operands of what torch makes of several operations: without a history to be had, in inference
    mode or of inference tensors alone, copies of those whose conjugation or negation is put off."""
    if all(x._device.home is x._device for x in inputs):  # nothing is put off
        return inputs
    if MODE.inference or all(x.is_inference() for x in inputs):
        return tuple(clone(x) if is_conj(x) or is_neg(x) else x for x in inputs)
    return inputs


@public(namespace=False)
def contiguous(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """The tensor itself if its memory is in row order, else a copy that is.

    Args:
        memory_format: another order, such as ``nnkit.channels_last``.

    Raises:
        RuntimeError: the order is for another number of dimensions.

    Example:
        >>> import nnkit
        >>> nnkit.zeros(2, 3).mT.contiguous().stride()
        (2, 1)
    """
    return in_format(input, memory_format or contiguous_format)


def converted(input: Tensor, d: dtype_type, copy: bool = False) -> Tensor:
    """``input`` in dtype ``d``: itself where it has it already, unless a copy is asked for."""
    if input._array.dtype is d.array:
        return _copy(input) if copy else input
    _warn_of_lost_parts(input.dtype, d)
    return (_cast if d.category >= FLOATING else _cut)(input, d.array)


def _warn_of_lost_parts(source: dtype_type, target: dtype_type) -> None:
    if source.category == COMPLEX and BOOL < target.category < COMPLEX:
        warn_once("Casting complex values to real discards the imaginary part")


def destination(name: str, given: tuple, named: dict[str, Any]) -> tuple:
    """Device, dtype, ``non_blocking``, ``copy`` and memory format from the arguments of ``to``.

    Raises:
        TypeError: there are too many, or one is of a wrong type.
    """
    first = given[0] if given else named.get("tensor")
    place = d = None
    names = ("device", "dtype", "non_blocking", "copy")
    if isinstance(first, dtype_type) or (isinstance(first, type) and first in _NUMBERS):
        names = names[1:]
    elif isinstance(first, Tensor):
        place, d, names = first._device, first.dtype, ("tensor", *names[2:])
    elif isinstance(first, (bool, float, complex)):  # as a tensor of it
        d, names = dtype_of(name, type(first)), ("tensor", *names[2:])
    if len(given) > len(names):
        raise TypeError(f"{name}() takes at most {len(names)} such arguments, got {len(given)}")
    found = dict(zip(names, given))
    for key, value in named.items():
        if key in found or key not in (*names, "memory_format"):
            raise TypeError(f"{name}(): the argument {key!r} is unknown or given twice")
        found[key] = value
    memory_format = found.get("memory_format")
    if memory_format is not None and not isinstance(memory_format, memory_format_type):
        got = type(memory_format).__name__
        raise TypeError(f"{name}(): argument 'memory_format' must be memory_format, not {got}")
    flags = found.get("non_blocking", False), found.get("copy", False)
    if not isinstance(flags[0], bool) or not isinstance(flags[1], bool):
        raise TypeError(f"{name}(): non_blocking and copy must be bool, got {flags[0]}, {flags[1]}")
    if "dtype" in found and found["dtype"] is not None:
        d = dtype_of(name, found["dtype"])
    if found.get("device") is not None:
        place = found["device"]
        if isinstance(place, bool) or not isinstance(place, (str, bytes, Device, numbers.Integral)):
            got = type(place).__name__
            raise TypeError(f"{name}(): argument 'device' must be nnkit.device, not {got}")
        place = located(place)
    return place, d, *flags, memory_format


@public(namespace=False)
def to(input: Tensor, *target: Any, **options: Any) -> Tensor:
    """Convert to a dtype, a device, or those of another tensor: ``to(dtype)``, ``to(device)``,
    ``to(device, dtype)``, ``to(other)``.

    Args:
        target: dtype, device or tensor; further positional arguments are ``non_blocking`` and
            ``copy``.
        options: ``dtype``, ``device``, ``tensor``, ``non_blocking``, ``copy``, ``memory_format``.

    Returns:
        ``input`` itself if nothing changes and ``copy`` is false.

    Raises:
        RuntimeError: the device is unknown or has no backend here.
        TypeError: an argument is of a wrong type.

    Example:
        >>> import nnkit
        >>> nnkit.tensor([1, 2]).to(nnkit.float64)
        tensor([1., 2.], dtype=nnkit.float64)
    """
    if len(target) == 1 and not options:  # the most frequent calls
        (first,) = target
        if isinstance(first, dtype_type):
            return converted(input, first)
        place = input._device
        named = first.__class__ is str and place.__class__ is Device and first == str(place)
        if first is place or named:
            return input
    place, d, non_blocking, copy, memory_format = destination("to", target, options)
    d = input.dtype if d is None else d
    moved = input if place is None else _moved(input, place, non_blocking)
    result = converted(moved, d, copy and moved is input)
    if result is input and memory_format is not None and memory_format is not preserve_format:
        axes = axes_of(memory_format, input.ndim)
        return result if format_of(result._array) == axes else ordered(result, axes)
    return in_format(result, memory_format)


class ToDevice(Node):
    """The history of a tensor that came from another device: its gradient goes back there."""

    __slots__ = ()
    operation = "to"

    def gradients(self, B: Any, grads: list, unpack: Any) -> list:
        (g,) = grads
        home = self.values
        back = _moved(g if isinstance(g, Tensor) else wrap(g, self.device), home)
        return [back if isinstance(g, Tensor) else back._array]


def uploaded(data: Any, place: Device) -> None:
    """Wait until a copy from page-locked memory to a GPU has read it: its owner may write again."""
    from nnkit.backend.cuda import runtime

    if runtime.is_pinned(data):
        runtime.synchronize(place.index)


def _moved(input: Tensor, place: Device, non_blocking: bool = False) -> Tensor:
    home, place = input._device.home, place.home
    if place is home or place.type == home.type == "cpu":
        return input
    array = place.backend.array(home.backend.to_numpy(input._array), None)
    if home.type == "cpu" and not non_blocking:
        uploaded(input._array, place)
    moved = wrap(array, place)
    if input.requires_grad and MODE.enabled:
        moved._edge = ToDevice((edge_of(input),), home, place)
        moved._requires_grad = True
    return moved


TYPE_NAMES = {name: f"{word}Tensor" for name, word in SCALAR_TYPES.items()}
_BY_NAME = {
    f"{m}{'.cuda' * (place == 'cuda')}.{n}": (DTYPES[d], place)
    for d, n in TYPE_NAMES.items() for m in ("nnkit", "torch") for place in ("cpu", "cuda")
}  # fmt: skip


@public(name="type", namespace=False)
def type_(
    input: Tensor, dtype: type | dtype_type | str | None = None, non_blocking: bool = False
) -> Any:
    """Its type's name, such as ``nnkit.FloatTensor``; with a dtype (or such a name), `to` it.

    Raises:
        RuntimeError: it is the name of a type of tensors on GPUs, of which there is none.
        ValueError: the name is not one of a type.
    """
    if dtype is None:
        place = package_of(input.dtype) + ".cuda" * input.is_cuda
        return f"{place}.{input.dtype.scalar_type}Tensor"
    place = own = input.device.type
    if isinstance(dtype, type) and isinstance(getattr(dtype, "dtype", None), dtype_type):
        place = "cuda" if dtype.__module__ == "torch.cuda" else "cpu"
        dtype = dtype.dtype  # FloatTensor and its like
    elif dtype is Tensor:
        dtype = default_dtype()
    if isinstance(dtype, str):
        if dtype not in _BY_NAME:
            raise ValueError(f"type(): invalid type: {dtype!r}")
        dtype, place = _BY_NAME[dtype]
    if place != own and own != "meta":
        input = to(input, place)
    return converted(input, dtype_of("type", dtype))


@public(namespace=False)
def to_dense(input: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """The tensor itself, cast if another dtype is given: every tensor here is dense."""
    return input if dtype is None else converted(input, dtype_of("to_dense", dtype))


@public(namespace=False)
def type_as(input: Tensor, other: Tensor) -> Tensor:
    """``input`` in the dtype and on the device of ``other``.

    Example:
        >>> import nnkit
        >>> nnkit.tensor([1, 2]).type_as(nnkit.tensor(0.5))
        tensor([1., 2.])
    """
    check_tensor("type_as", other, "other")
    return to(*composite_operands(input, other))


def _conversion(name: str, d: dtype_type) -> None:
    def convert(self: Tensor, *, memory_format: Any = None) -> Tensor:
        try:
            return in_format(converted(self, d), memory_format)
        except AttributeError:
            check_tensor(name, self)
            raise

    convert.__name__ = name
    known_as(convert, f"Tensor.{name}")
    convert.__doc__ = f"The tensor in dtype {d}."
    attach(name, overridable(convert))


for _name, _dtype in ALIASES.items():
    _conversion(_name, _dtype)
for _name, _full in {
    "bool": "bool",
    "bfloat16": "bfloat16",
    "byte": "uint8",
    "char": "int8",
}.items():
    _conversion(_name, DTYPES[_full])


@public(namespace=False)
def cpu(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """The tensor in main memory.

    Example:
        >>> import nnkit
        >>> nnkit.ones(2).cpu()
        tensor([1., 1.])
    """
    return in_format(_moved(input, Device("cpu")), memory_format)


@public(namespace=False)
def cuda(input: Tensor, device: Any = None, non_blocking: bool = False) -> Tensor:
    """The tensor on an NVIDIA GPU, the current one unless ``device`` is given.

    Raises:
        RuntimeError: ``device`` is no GPU, or there is none.
    """
    place = Device("cuda" if device is None else device)
    if place.type != "cuda":
        raise RuntimeError(f"cuda(): device must be a cuda device, got {str(place)!r}")
    return _moved(input, located(place), non_blocking)


@public(namespace=False)
def copy_(input: Tensor, other: Tensor | complex, non_blocking: bool = False) -> Tensor:
    """Overwrite with the values of ``other``, a tensor that is broadcast and cast, or a number;
    returns the tensor.

    Raises:
        RuntimeError: the shapes do not fit, or a leaf that requires grad would be written.
        TypeError: ``other`` is neither.

    Example:
        >>> import nnkit
        >>> nnkit.zeros(2, 2).copy_(nnkit.tensor([1, 2]))
        tensor([[1., 2.],
                [1., 2.]])
    """
    out = _attempt_copy(input, other)
    if out is not None:
        return out
    source: Any = other
    if isinstance(other, numbers.Number):
        B, value = input._device.backend, python_number(other)
        wide = _WIDE.get(type(value)) or of_number(value)
        source = wrap(B.full((), value, wide.array), input._device)
    check_tensor("copy_", source, "other")
    source = _moved(source, input._device, non_blocking)
    shape = input._array.shape
    if source._array.shape != shape:
        expanded_shape("copy_", source._array.shape, shape)
    _warn_of_lost_parts(source.dtype, input.dtype)
    kernel = kernel_asked("copy_", source) or input._device.backend.copy_
    return write(input, "copy_", _overwrite, source, kernel=kernel)


@public(namespace=False)
def fill_(input: Tensor, value: Tensor | complex) -> Tensor:
    """Overwrite every element with a number or a 0-dim tensor; returns the tensor.

    Raises:
        RuntimeError: the value has dimensions or does not fit the dtype.
        TypeError: it is no number.

    Example:
        >>> import nnkit
        >>> nnkit.zeros(2).fill_(3)
        tensor([3., 3.])
    """
    if value.__class__ in (int, float) and -FLOAT32_MAX <= value <= FLOAT32_MAX:  # type: ignore
        out = _attempt_fill(input, value)
        if out is not None:
            return out
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                "fill_ only supports 0-dimension value tensor but got tensor with "
                f"{value.ndim} dimensions."
            )
        value = _moved(value, input._device)
        check_expanded("fill_", input._array)
        return write(input, "fill_", fill_with, value, kernel=input._device.backend.copy_)
    value = python_number(value)
    if not isinstance(value, numbers.Number):
        raise TypeError(
            f"fill_(): argument 'value' must be Number or Tensor, not {value.__class__.__name__}"
        )
    value = fitting("fill_", value, input.dtype, input._array.size == 1)
    return write(input, "fill_", _fill, value, kernel=input._device.backend.fill_)


@public(method=False)
def fill(input: Tensor, value: Tensor | complex) -> Tensor:
    """A copy of ``input`` in which every element is ``value``.

    Example:
        >>> import nnkit
        >>> nnkit.fill(nnkit.zeros(2), 7)
        tensor([7., 7.])
    """
    if MODE.batches and isinstance(value, Tensor):  # it may differ between examples
        return clone(value.to(input.dtype).expand(input.shape))
    return fill_(clone(input.detach() if input.is_inference() else input), value)


@public(namespace=False)
def zero_(input: Tensor) -> Tensor:
    """Overwrite every element with 0; returns the tensor."""
    out = _attempt_zero(input, 0)
    if out is not None:
        return out
    return write(input, "zero_", _zero, 0, kernel=input._device.backend.fill_)
