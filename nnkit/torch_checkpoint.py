"""Files of ``torch.save``, read without running what is in them.

Such a file is a zip archive: ``data.pkl`` is a pickle of the object tree, ``data/0``, ``data/1``,
... are the memory of the tensors. A pickle is a program that may call anything; here it is read
as data (`nnkit.pickle_reader`), and may refer to the short list below and to nothing else, as with
torch's ``weights_only``.
"""

from __future__ import annotations

import operator
import pickle
import zipfile
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from nnkit.autograd import Size, Tensor, no_grad
from nnkit.autograd.ops.creation.factories import empty_strided
from nnkit.backend import files
from nnkit.backend.device import device
from nnkit.backend.dtype import DTYPES, dtype
from nnkit.nn.parameter import Buffer, Parameter
from nnkit.pickle_reader import Function, PickleReader, checked_key

__all__ = ["pickle_name", "read"]

_STORAGES = {
    "BoolStorage": "bool",
    "ByteStorage": "uint8",
    "CharStorage": "int8",
    "ShortStorage": "int16",
    "IntStorage": "int32",
    "LongStorage": "int64",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "FloatStorage": "float32",
    "DoubleStorage": "float64",
    "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
}
_LONGEST_BYTE_ORDER = 16


def pickle_name(archive: zipfile.ZipFile) -> str | None:
    """The name of the pickle in a zip archive of ``torch.save``; None if it is another one."""
    return next((n for n in archive.namelist() if n.endswith("data.pkl")), None)


def read(archive: zipfile.ZipFile, name: str, make: Callable[[Any], Tensor]) -> Any:
    """The object tree of a file of ``torch.save``; ``make`` gives the tensor of an array.

    Raises:
        UnpicklingError: it refers to a class or function that is not on the list.
        ValueError: it is damaged, was written on a big-endian machine, or a tensor exceeds its
            memory.
    """
    members = _Members(archive, name.removesuffix("data.pkl"))
    if "byteorder" in members:
        order = bytes(members.read("byteorder", _LONGEST_BYTE_ORDER))
        if order != b"little":
            raise ValueError(f"the byte order of the file is {order!r}, not little")
    storages: dict[str, _Storage] = {}

    def storage(pid: Any) -> _Storage:
        """The memory of a tensor; tensors that share it get the same one."""
        kind, stored, key, _, size = pid
        if kind != "storage" or not isinstance(stored, dtype):
            raise pickle.UnpicklingError(f"the file refers to an unknown thing, {kind!r:.80}")
        if key not in storages:
            length = members.size(f"data/{key:.80}")
            if length != size * stored.itemsize:
                raise ValueError(
                    f"storage {key} has {length} bytes, {size} elements of {stored} are expected"
                )
            memory = members.read(f"data/{key}", length)
            storages[key] = _Storage(make(files.array_of(memory, stored.array)))
        found = storages[key]
        if found.tensor.dtype is not stored:
            raise ValueError(f"storage {key} is of {found.tensor.dtype} and of {stored}")
        return found

    return PickleReader(_KNOWN, storage).read(bytes(members.read("data.pkl")))


class _Members:
    """The members of a zip archive below a prefix; torch compresses none."""

    def __init__(self, archive: zipfile.ZipFile, prefix: str) -> None:
        self._archive = archive
        self._prefix = prefix

    def __contains__(self, name: str) -> bool:
        return self._prefix + name in self._archive.NameToInfo

    def size(self, name: str) -> int:
        if name not in self:
            raise ValueError(f"it has no member {name}")
        member = self._archive.getinfo(self._prefix + name)
        if member.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"its member {name} is compressed, which torch.save never does")
        return member.file_size

    def read(self, name: str, most: int | None = None) -> bytearray:
        size = self.size(name)
        if most is not None and size > most:
            raise ValueError(f"its member {name} has {size} bytes, more than {most}")
        with self._archive.open(self._prefix + name) as stream:
            return files.read_exactly(stream, size)


class _Storage:
    """The memory of tensors, one-dimensional; for the pickle an opaque value."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


def _rebuild_tensor(
    storage: _Storage,
    offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    requires_grad: bool = False,
    hooks: Any = None,
    metadata: Any = None,
) -> Tensor:
    if len(size) > files.MOST_DIMENSIONS or len(stride) != len(size):
        raise ValueError(f"a tensor has {len(size)} dimensions and {len(stride)} strides")
    numbers = (offset, *size, *stride)
    if any(type(n) is not int for n in numbers):
        raise ValueError("a size, a stride or an offset is no integer")
    last = offset + sum((n - 1) * step for n, step in zip(size, stride))
    length = storage.tensor.shape[0]
    if min(numbers) < 0 or (0 not in size and last >= length):
        raise ValueError(
            f"a tensor of size {tuple(size)}, stride {tuple(stride)} and offset {offset} "
            f"exceeds its memory of {length} elements"
        )
    marks = metadata if isinstance(metadata, dict) else {}
    with no_grad():
        tensor = storage.tensor.as_strided(tuple(size), tuple(stride), offset)
        tensor = tensor.conj() if marks.get("conj") else tensor
        tensor = (tensor._neg_view() if marks.get("neg") else tensor).detach()
    return tensor.requires_grad_(bool(requires_grad))


def _rebuild_stored(
    storage: _Storage,
    offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    requires_grad: bool,
    hooks: Any,
    kind: dtype,
    metadata: Any = None,
) -> Tensor:
    """A tensor of a dtype without a class of storages, in memory that is counted in bytes."""
    if not isinstance(kind, dtype):
        raise ValueError("a tensor's dtype is none")
    elements = _Storage(storage.tensor.view(kind))
    return _rebuild_tensor(elements, offset, size, stride, requires_grad, hooks, metadata)


def _rebuild_without_memory(
    kind: dtype, size: Sequence[int], stride: Sequence[int], requires_grad: bool
) -> Tensor:
    numbers = (*size, *stride)
    if not isinstance(kind, dtype) or len(size) > files.MOST_DIMENSIONS:
        raise ValueError(f"a tensor has {len(size)} dimensions")
    if len(stride) != len(size) or any(type(n) is not int or n < 0 for n in numbers):
        raise ValueError("a size or a stride is no integer from 0 on")
    made = empty_strided(tuple(size), tuple(stride), dtype=kind, device=device("meta"))
    return made.requires_grad_(bool(requires_grad))


def _rebuild_parameter(data: Tensor, requires_grad: bool, hooks: Any, state: Any = None) -> Any:
    return Parameter(data, bool(requires_grad))


def _rebuild_from_type(rebuild: Any, kind: Any, arguments: tuple[Any, ...], state: Any) -> Any:
    if rebuild is not _REBUILD_TENSOR:
        raise pickle.UnpicklingError(f"a tensor cannot be rebuilt by {rebuild!r:.80}")
    tensor = rebuild(*arguments)
    if isinstance(state, dict) and state.get("_is_buffer"):
        return Buffer(tensor, persistent=bool(state.get("persistent", True)))
    return tensor


def _bytes(content: bytes = b"") -> bytes:
    if type(content) is not bytes:
        raise ValueError(f"bytes are not made of a {type(content).__name__}")
    return content


def _bytearray(content: bytes | str = b"", encoding: str = "latin1") -> bytearray:
    return bytearray(_encode(content, encoding) if isinstance(content, str) else _bytes(content))


def _encode(text: str, encoding: str) -> bytes:
    """Pickle's second protocol, which torch writes, has bytes as text and its encoding."""
    if type(text) is not str or encoding not in ("latin1", "latin-1"):
        raise ValueError("bytes are stored as latin1 text")
    return text.encode("latin1")


def _complex(real: float, imag: float) -> complex:
    if type(real) is not float or type(imag) is not float:
        raise ValueError("a complex number has two floats")
    return complex(real, imag)


def _set(items: Sequence[Any] = ()) -> set[Any]:
    return set(map(checked_key, items))


def _counter(*counts: Any) -> Counter[Any]:
    if any(type(given) is not dict for given in counts):
        raise ValueError("a Counter is made of a dict")
    return Counter(*counts)


def _size(sizes: Sequence[int]) -> Size:
    return Size(map(operator.index, sizes))


_REBUILD_TENSOR = Function("_rebuild_tensor", _rebuild_tensor)
_KNOWN: dict[str, Any] = {
    **{
        f"{module}.{name}": Function(name, call)
        for module in ("builtins", "__builtin__")
        for name, call in {
            "bytearray": _bytearray,
            "bytes": _bytes,
            "complex": _complex,
            "set": _set,
        }.items()
    },
    "_codecs.encode": Function("encode", _encode),
    "collections.Counter": Function("Counter", _counter),
    "collections.OrderedDict": Function("OrderedDict", lambda: OrderedDict()),
    "torch.Size": Function("Size", _size),
    "torch.Tensor": Tensor,
    "torch.device": Function("device", device),
    "torch._tensor._rebuild_from_type_v2": Function("_rebuild_from_type_v2", _rebuild_from_type),
    "torch._utils._rebuild_parameter": Function("_rebuild_parameter", _rebuild_parameter),
    "torch._utils._rebuild_parameter_with_state": Function(
        "_rebuild_parameter_with_state", _rebuild_parameter
    ),
    "torch._utils._rebuild_tensor": _REBUILD_TENSOR,
    "torch._utils._rebuild_tensor_v2": _REBUILD_TENSOR,
    "torch._utils._rebuild_tensor_v3": Function("_rebuild_tensor_v3", _rebuild_stored),
    "torch._utils._rebuild_meta_tensor_no_storage": Function(
        "_rebuild_meta_tensor_no_storage", _rebuild_without_memory
    ),
    "torch.storage.UntypedStorage": DTYPES["uint8"],
    **{f"torch.{name}": DTYPES[kind] for name, kind in _STORAGES.items()},
    **{f"torch.{name}": kind for name, kind in DTYPES.items()},
}
