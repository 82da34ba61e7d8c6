"""Tensors from Python data, NumPy arrays and buffers, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nnkit.autograd.arguments.factory import dtype_of, finished, place_of, shape_of
from nnkit.autograd.arguments.sizes import is_int64
from nnkit.autograd.grad_mode import is_grad_enabled
from nnkit.autograd.op.public import attach, public
from nnkit.autograd.ops.creation.conversion import clone, converted, to
from nnkit.autograd.ops.exchange.dlpack import from_dlpack, is_capsule
from nnkit.autograd.ops.indexing.expressions import as_subclass
from nnkit.autograd.surface.limits import fitting
from nnkit.autograd.surface.metadata import (
    check_asks_not,
    check_has_memory,
    is_conj,
    is_neg,
)
from nnkit.autograd.surface.size import Size
from nnkit.autograd.surface.storage import Storage
from nnkit.autograd.tensor import Tensor, blank, fill, recast, wrap
from nnkit.backend.device import cpu, get_default_device
from nnkit.backend.device import device as device_type
from nnkit.backend.dtype import (
    FLOATING,
    INTEGER,
    NUMPY_SCALARS,
    OF_ARRAY,
    bfloat16,
    bool_,
    default_dtype,
    int64,
    of_number,
    promote_types,
    uint8,
    uint64,
)
from nnkit.backend.dtype import dtype as dtype_type
from nnkit.backend.lazy import is_zero, memory_of, plain
from nnkit.backend.memory import is_writable, lend
from nnkit.backend.warning import warn, warn_once

_NUMBERS = {int, float, bool, complex}


@public(method=False)
def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A new tensor with a copy of ``data``.

    Args:
        data: a number, a nested sequence of numbers, an array, or a Tensor (copied, as a leaf).
        dtype: by default int64 for ints, the default floating dtype for floats (complex for
            complex numbers), bool for bools, and their own dtype for arrays and NumPy's numbers.
        device: where to put it, the CPU unless given.

    Raises:
        ValueError: rows of different lengths, or an int beyond int64.
        TypeError: something is neither a number nor a sequence.
        RuntimeError: the dtype cannot be inferred, or cannot hold a value.

    Example:
        >>> import nnkit
        >>> nnkit.tensor([[1, 2], [3, 4]])
        tensor([[1, 2],
                [3, 4]])
        >>> nnkit.tensor(0.5, requires_grad=True)
        tensor(0.5000, requires_grad=True)
    """
    return _copied("torch.tensor", data, dtype, place_of(device), requires_grad)


def _copied(name: str, data: Any, dtype: Any, place: Any, requires_grad: bool) -> Tensor:
    if isinstance(data, Tensor):
        way = "sourceTensor.detach().clone()"
        ways = f"{way} or {way}.requires_grad_(True), rather than {name}(sourceTensor)."
        warn(f"To copy construct from a tensor, it is recommended to use {ways}")
    d = None if dtype is None else dtype_of("tensor", dtype)
    data = data.tensor(d or data.dtype) if isinstance(data, Storage) else data
    return finished("tensor", _read(data, d, place), place, requires_grad)


def _read(data: Any, d: dtype_type | None, place: Any) -> Any:
    """A new array with the contents of ``data``."""
    B = place.backend
    kind = data.__class__
    if kind in _NUMBERS:
        d = d or (int64 if data.__class__ is int else of_number(data))
        return B.full((), _checked(data, d), d.array)
    if isinstance(data, Tensor):
        if data._device.maps:
            raise RuntimeError(
                "tensor(): an example of a vmap cannot be copied: use detach().clone()"
            )
        array = plain(data.detach().to(place)._array)
        return B.copy(array) if d is None else B.cast(array, d.array)
    if _is_array(data):
        host = cpu.backend.from_numpy(cpu.backend.array(data, None))
        return B.array(host, None if d is None else d.array)
    if hasattr(data, "__dlpack__"):
        return _read(from_dlpack(data), d, place)
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{kind.__name__}'")
    if not _is_sequence(data):
        raise _no_number(kind, d)
    found: set = set()
    data = _survey(data, found, d, _depth(data))
    if d is None:
        d = _common(found)
    return _build(B, data, d, found)


def _is_array(data: Any) -> bool:
    return hasattr(data, "__array_interface__") or hasattr(data, "__array__")


def _no_number(kind: type, d: dtype_type | None) -> Exception:
    if d is not None:
        return TypeError(f"tensor(): argument 'data' must hold real numbers, not {kind.__name__}")
    return RuntimeError(f"Could not infer dtype of {kind.__name__}")


def _is_sequence(data: Any) -> bool:
    """Whether a value is a sequence of values by its class, or by what its class offers."""
    if isinstance(data, Sequence):
        return not isinstance(data, (str, bytes))
    if isinstance(data, (Tensor, Mapping)) or _is_array(data):
        return False
    return hasattr(type(data), "__getitem__") and hasattr(type(data), "__len__")


def _depth(data: Any) -> int:
    """The depth of nested sequences along their first items, by which torch counts dimensions.

    Raises:
        ValueError: there are too many, as in a list that contains itself, or a sequence does not
            give its items.
    """
    depth = 0
    while len(data):
        if depth == 128:
            raise ValueError(f"tensor(): too many dimensions '{type(data).__name__}'")
        try:
            first = data[0]
        except TypeError:
            raise ValueError(
                f"tensor(): could not determine the shape of object type '{type(data).__name__}'"
            ) from None
        if not _is_sequence(first):
            break
        data, depth = first, depth + 1
    return depth


def _survey(data: Any, found: set, d: dtype_type | None, depth: int, leads: bool = True) -> Any:
    """Put the kinds of the numbers in nested sequences into ``found`` (Python types, or dtypes of
    arrays), and give the data back with Tensors as numbers, or as sequences above ``depth``."""
    kinds = set(map(type, data))
    if kinds <= _NUMBERS:
        found |= kinds
        return data
    items = []
    for item in data:
        kind = item.__class__
        if kind in _NUMBERS:
            found.add(kind)
        elif isinstance(item, Tensor) and item.ndim and depth:
            item = _survey(item.unbind(), found, d, depth - 1, leads and not items)
        elif isinstance(item, Tensor):
            found.add(item.dtype)
            whole = (d or _common(found | (kinds & _NUMBERS))).category <= INTEGER
            if whole and (item._array.size != 1 or item.dtype.category > INTEGER):
                raise TypeError(
                    "tensor(): only integer tensors of a single element can be converted to an "
                    f"index, got {item.dtype} of shape {list(item.shape)}"
                )
            if item._array.size != 1:
                raise ValueError(
                    "tensor(): only one element tensors can be converted to Python scalars, got "
                    f"shape {list(item.shape)}"
                )
            item = item.item()
        elif _is_array(item):
            if getattr(item, "ndim", 0) and item.size:
                warn_once(
                    "Creating a tensor from a list of numpy.ndarrays is extremely slow: make one "
                    "array of the list first, by numpy.array()"
                )
            found.add(OF_ARRAY[cpu.backend.from_numpy(cpu.backend.as_array(item)).dtype])
        elif isinstance(item, (str, bytes)):
            error = ValueError if leads and not items else TypeError  # a dimension to torch
            raise error(f"tensor(): invalid data type '{kind.__name__}' inside a sequence")
        elif item is data:
            raise TypeError("tensor(): self-referential lists are incompatible with tensors")
        elif _is_sequence(item):
            item = _survey(item, found, d, depth - 1, leads and not items)
        else:
            raise _no_number(kind, d)
        items.append(item)
    return items


def _common(found: set) -> dtype_type:
    """The dtype of data whose numbers have these kinds."""
    result = None
    for kind in found:
        d = kind if isinstance(kind, dtype_type) else of_number(kind())
        result = d if result is None else promote_types(result, d)
    return result or default_dtype()


def _checked(value: Any, d: dtype_type) -> Any:
    if d.category == INTEGER and value.__class__ is int and not is_int64(value):
        if d is not uint64:
            raise ValueError(f"Overflow when unpacking long long: {value}")
        if not 0 <= value < 2**64:
            raise OverflowError(f"int too big to convert to {d}: {value}")
    elif d is uint64 and value.__class__ is int and value < 0:
        raise OverflowError(f"can't convert negative int to unsigned: {value}")
    if isinstance(value, complex) and not d.is_complex:
        raise TypeError("must be real number, not complex")
    if d.category < FLOATING:
        return fitting("tensor", value, d)
    return float(value) if isinstance(value, int) else value


def _build(B: Any, data: Any, d: dtype_type, found: set) -> Any:
    try:
        array = B.array(data, d.array)
    except (ValueError, TypeError, OverflowError):
        fits = False
    else:
        fits = d.category != INTEGER or float not in found  # which NumPy cuts without a word
    # Where the shape is right, it is a value that does not fit: say which, or wrap it.
    return array if fits else B.array(_each(data, len(_shape(data)), d), d.array)


def _shape(data: Any) -> tuple[int, ...]:
    """The shape of nested sequences; ValueError or TypeError where they are ragged."""
    shape = []
    level = [data]
    while isinstance(level[0], Sequence) or hasattr(level[0], "__len__"):
        size = len(level[0])
        for item in level:
            if not hasattr(item, "__len__"):
                raise TypeError(
                    f"not a sequence: expected one of length {size} at dim {len(shape)}, "
                    f"got {type(item).__name__}"
                )
            if len(item) != size:
                raise ValueError(
                    f"expected sequence of length {size} at dim {len(shape)} (got {len(item)})"
                )
        shape.append(size)
        if not size:
            return tuple(shape)
        level = [element for item in level for element in item]
    for item in level:
        if hasattr(item, "__len__"):
            raise TypeError(
                f"expected a number, not '{type(item).__name__}': the sequences are nested to "
                f"different depths at dim {len(shape)}"
            )
    return tuple(shape)


def _each(data: Any, depth: int, d: dtype_type) -> Any:
    if depth:
        return [_each(item, depth - 1, d) for item in data]
    return _checked(data.item() if hasattr(data, "item") else data, d)


@public(method=False)
def as_tensor(data: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """``data`` as a tensor, without a copy where it is a Tensor or an array of that dtype.

    Example:
        >>> import nnkit
        >>> nnkit.as_tensor([1, 2])
        tensor([1, 2])
    """
    if isinstance(data, (bytes, bytearray, memoryview)):  # sequences of numbers, no memory
        return tensor(data, dtype=dtype, device=device)
    if not isinstance(data, Tensor):
        return asarray(data, dtype=dtype, device=device)
    d = data.dtype if dtype is None else dtype_of("as_tensor", dtype)
    return converted(to(data, _moved_to(device, data)), d)


def _moved_to(device: Any, data: Tensor) -> Any:
    """Where `as_tensor` and `asarray` put what exists: a default device holds for it too."""
    default = get_default_device()
    return place_of(device, data._device if default is cpu else default)


@public(method=False)
def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:  # fmt: skip
    """``obj`` as a tensor that shares its memory where it can.

    Args:
        obj: a Tensor, an array, an array or a capsule of DLPack, a buffer, a number or a nested
            sequence.
        copy: whether to copy; None copies only where necessary, False raises instead.
        requires_grad: by default what a Tensor says, which is said again: so a view made without
            grad mode becomes a leaf with a gradient of its own.

    Raises:
        ValueError: ``copy`` is False and a copy is necessary.

    Example:
        >>> import nnkit
        >>> x = nnkit.zeros(2)
        >>> nnkit.asarray(x) is x
        True
    """
    d = None if dtype is None else dtype_of("asarray", dtype)
    if isinstance(obj, Tensor):
        shared: Tensor | None = obj
    elif copy is False and isinstance(obj, NUMPY_SCALARS):
        raise RuntimeError("asarray(): can't alias NumPy scalars. They have no memory of their own")
    elif hasattr(obj, "__array_interface__"):
        shared = from_numpy(cpu.backend.as_array(obj))
    elif is_capsule(obj) or hasattr(obj, "__dlpack__"):
        shared = from_dlpack(obj)
    elif isinstance(obj, Storage):
        shared = obj.tensor(d or obj.dtype)
    elif _is_buffer(obj):
        shared = frombuffer(obj, dtype=d or default_dtype())
    else:
        shared = None
    if shared is None:
        if copy is False:
            got = type(obj).__name__
            raise ValueError(f"asarray(): can't alias arbitrary sequence into a tensor: {got}")
        return tensor(obj, dtype=d, device=device, requires_grad=bool(requires_grad))
    result = converted(to(shared, _moved_to(device, shared)), d or shared.dtype)
    if copy is False and result._array is not shared._array:
        what = f"with dtype '{shared.dtype.scalar_type}' into dtype '{result.dtype.scalar_type}'"
        if result._device is not shared._device:
            what = f"from device '{shared._device}' to '{result._device}'"
        raise ValueError(f"asarray(): can't alias tensor {what}.")
    if copy and result._array is shared._array:
        result = clone(result)
    wanted = result.requires_grad if requires_grad is None else requires_grad
    if not (wanted or result.is_leaf):
        return result.detach()
    return result._set_requires_grad(wanted)


@public(method=False)
def from_numpy(ndarray: Any) -> Tensor:
    """A tensor on the memory of a NumPy array: writing to one changes the other.

    Raises:
        TypeError: it is no array, or has a dtype that tensors do not have.
        ValueError: it has negative strides, or ones that are no multiple of its elements' size.

    Warns:
        UserWarning: the array is not writable, nor is the tensor then.
    """
    data = cpu.backend.from_numpy(ndarray)
    _warn_of_constant(data, "NumPy array")
    return wrap(data, cpu)


def _warn_of_constant(data: Any, source: str) -> None:
    if not is_writable(data):
        warn_once(
            f"The given {source} is not writable, so writes in place to the non-writable tensor "
            "are refused. Copy it before, or use `nnkit.tensor`, to get one that can be written."
        )


def _is_buffer(obj: Any) -> bool:
    try:
        memoryview(obj)
    except TypeError:
        return False
    return True


@public(method=False)
def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A 1-D tensor on the memory of a Python buffer (bytes, bytearray, memoryview, mmap).

    Raises:
        ValueError: the buffer is empty, too short, or no multiple of the element size.

    Example:
        >>> import nnkit
        >>> nnkit.frombuffer(bytearray([1, 2]), dtype=nnkit.uint8)
        tensor([1, 2], dtype=nnkit.uint8)
    """
    if dtype is None:
        raise TypeError("frombuffer(): argument 'dtype' must be nnkit.dtype, not NoneType")
    d = dtype_of("frombuffer", dtype)
    try:
        length = memoryview(buffer).nbytes
    except TypeError:
        raise ValueError(
            "frombuffer(): argument 'buffer': object does not implement Python buffer protocol. "
            f"Got {type(buffer).__name__}"
        ) from None
    if not length or not count:
        raise ValueError(
            f"frombuffer(): both buffer length ({length}) and count ({count}) must not be 0"
        )
    if not 0 <= offset < length:
        raise ValueError(
            f"frombuffer(): offset ({offset} bytes) must be non-negative and no greater than "
            f"buffer length ({length} bytes) minus 1"
        )
    if count < 0 and (length - offset) % d.itemsize:
        raise ValueError(
            f"frombuffer(): buffer length ({length - offset} bytes) after offset ({offset} bytes) "
            f"must be a multiple of element size ({d.itemsize})"
        )
    if count > 0 and offset + count * d.itemsize > length:
        raise ValueError(
            f"frombuffer(): requested buffer length ({count} * {d.itemsize} bytes) after offset "
            f"({offset} bytes) must not be greater than actual buffer length ({length} bytes)"
        )
    data = cpu.backend.from_buffer(buffer, d.array, count, offset)
    _warn_of_constant(data, "buffer")
    return finished("frombuffer", data, cpu, requires_grad)


@public(namespace=False)
def numpy(input: Tensor, *, force: bool = False) -> Any:
    """A NumPy array on the memory of the tensor.

    Args:
        force: detach, and copy to main memory, where that is necessary.

    Raises:
        RuntimeError: it requires grad (unless ``force``, or grad mode is off), or it is zeros that
            nobody may write, a derivative where there is none (unless ``force``).
        TypeError: NumPy has no such dtype (bfloat16), or it is on another device.

    Example:
        >>> import nnkit
        >>> nnkit.ones(2).numpy()
        array([1., 1.], dtype=float32)
    """
    if is_grad_enabled() and input.requires_grad and not force:
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )
    if not force:
        for test, bit, way in (
            (is_conj, "conjugate", "resolve_conj"),
            (is_neg, "negative", "resolve_neg"),
        ):
            if test(input):
                raise RuntimeError(
                    f"Can't call numpy() on Tensor that has {bit} bit set. Use "
                    f"tensor.{way}().numpy() instead."
                )
        if is_zero(input._array):
            raise RuntimeError(
                "Can't call numpy() on zeros that stand for a derivative where there is none, "
                "which nobody may write. Use tensor.clone().numpy() instead."
            )
    check_has_memory("numpy", input)
    check_asks_not("numpy", input)
    if input.dtype is bfloat16 or "float8" in input.dtype.kinds:
        raise TypeError(
            f"numpy(): got unsupported dtype {input.dtype.name}, use tensor.float().numpy()"
        )
    if not (force or input.is_cpu):
        raise TypeError(
            f"can't convert {input._device} device type tensor to numpy. Use Tensor.cpu() to copy "
            "the tensor to host memory first."
        )
    if input.is_cpu:
        lend(memory_of(input._array))
    return input._device.backend.to_numpy(input._array)


def _array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    """NumPy's protocol: the array, cast if asked for."""
    array = numpy(self)
    if dtype is not None and array.dtype != dtype:
        return array.astype(dtype)
    return array.copy() if copy else array


def _array_wrap(self: Tensor, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
    """NumPy's protocol: the result of a function of NumPy's on a tensor is a tensor; of bools one
    of uint8, as in torch."""
    B = cpu.backend
    array = B.as_array(array)
    return from_numpy(B.cast(array, uint8.array) if OF_ARRAY.get(array.dtype) is bool_ else array)


@public(namespace=False)
def tolist(input: Tensor) -> Any:
    """The elements as nested Python lists; of a 0-dim tensor, the number.

    Example:
        >>> import nnkit
        >>> nnkit.tensor([[1, 2], [3, 4]]).tolist()
        [[1, 2], [3, 4]]
    """
    check_asks_not("tolist", input)
    return input._device.backend.to_numpy(input._array).tolist()


@public(namespace=False)
def new_tensor(
    input: Tensor, data: Any, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """`tensor` with the dtype and device of this tensor, unless given."""
    d = input.dtype if dtype is None else dtype
    place = input._device if device is None else place_of(device)
    return _copied("tensor.new_tensor", data, d, place, requires_grad)


@public(namespace=False)
def new(
    input: Tensor, *arguments: Any, size: Sequence[int] | None = None, device: Any = None
) -> Tensor:
    """A tensor of this dtype: empty of the given sizes, with a copy of the given data, or on the
    memory of a tensor or storage.

    Raises:
        TypeError: a tensor of another dtype is given.
        RuntimeError: a storage of another dtype is given, or another device.
    """
    if size is not None:
        arguments = (*arguments, Size(size))
    _refuse_device("new", arguments, device)
    given = arguments[0] if arguments else None
    if isinstance(given, Tensor) and given._array.dtype != input._array.dtype:
        raise TypeError(f"new(): expected a tensor of {input.dtype}, got {given.dtype}")
    check_kind(device, input._device)
    return _legacy("new", Tensor, arguments, place_of(device, input._device), input.dtype)


def _new(cls: type, *arguments: Any, device: Any = None) -> Any:
    """``Tensor(2, 3)``, ``Tensor([1, 2])``, ``Tensor(other)``, ``Tensor()``: on the CPU, whatever
    the default device."""
    _refuse_device("Tensor", arguments, device)
    check_kind(device, cpu)
    return _legacy("Tensor", cls, arguments, cpu, default_dtype())


def check_kind(device: Any, expected: Any) -> None:
    """RuntimeError for a device of another kind than an early way to make tensors has."""
    if device is not None and (kind := device_type(device).type) != expected.type:
        raise RuntimeError(
            f"legacy constructor expects device type: {expected.type} but device type: {kind} was "
            f"passed"
        )


def _refuse_device(name: str, arguments: tuple, device: Any) -> None:
    """RuntimeError for a device beside a tensor, whose memory the new one has."""
    if device is not None and len(arguments) == 1 and isinstance(arguments[0], Tensor):
        raise RuntimeError(f"{name}(): a tensor is taken with no device, use x.to(device)")


def _legacy(name: str, cls: type, arguments: tuple, place: Any, d: dtype_type) -> Tensor:
    first = arguments[0] if arguments else ()
    if len(arguments) == 1 and isinstance(first, Storage):
        return recast(first.tensor(d), cls)
    if len(arguments) == 1 and isinstance(first, Tensor):
        return as_subclass(first, cls)  # a view, through which gradients go
    counted = hasattr(first, "__index__") and not isinstance(first, bool)
    counted = counted and not getattr(first, "ndim", 0)  # an array has that method too
    if counted or isinstance(first, Size):
        content = place.backend.empty(shape_of(name, arguments), d.array)
    elif len(arguments) > 1:
        got = ", ".join(type(argument).__name__ for argument in arguments)
        raise TypeError(f"{name}() received an invalid combination of arguments - got ({got})")
    elif not hasattr(first, "__len__"):
        raise TypeError(f"{name}(): data must be a sequence (got {first.__class__.__name__})")
    else:
        content = _read(first, d, place)
    self = blank(cls)
    fill(self, content, place)
    return self


Tensor.__new__ = staticmethod(_new)
for _method in (_array, _array_wrap):
    attach(f"_{_method.__name__}__", _method)
