"""The memory behind a tensor, which its views have in common, and memory that processes share."""

from __future__ import annotations

import copy
import mmap
import operator
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from nnkit.autograd.arguments.dims import check_tensor
from nnkit.autograd.grad_mode import capturing
from nnkit.autograd.op.public import METHODS, PUBLIC, attach, public
from nnkit.autograd.ops.creation.conversion import TYPE_NAMES
from nnkit.autograd.ops.shape.strided import as_strided, move_storage
from nnkit.autograd.surface.metadata import check_has_memory
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.backend.device import cpu, located
from nnkit.backend.dtype import ALIASES, DTYPES, default_dtype, dtype, package_of, uint8
from nnkit.backend.lazy import memory_of
from nnkit.backend.memory import is_lent, owner
from nnkit.backend.shared_memory import descriptor_of

if TYPE_CHECKING:
    from typing_extensions import Self


class Storage:
    """All the memory that a tensor and its views lie in, as one row of numbers.

    An `UntypedStorage` counts it in bytes, a `TypedStorage` in elements of a dtype.

    Example:
        >>> import nnkit
        >>> x = nnkit.arange(6.0).view(2, 3)
        >>> x[1].untyped_storage().nbytes()
        24
        >>> x[1].untyped_storage().data_ptr() == x.data_ptr()
        True
    """

    _memory: Tensor
    _is_part = False  # of another storage: it does not grow with that
    filename: str | None = None  # of the file that writes go to

    @classmethod
    def _of(cls, memory: Tensor, is_part: bool = False) -> Self:
        self = object.__new__(cls)
        self._memory = memory
        self._is_part = is_part
        return self

    @property
    def _elements(self) -> Tensor:
        """The numbers, as many as there are now: `Tensor.resize_` may make room for more."""
        memory = self._memory
        if not self._is_part:
            size = memory._device.backend.storage_size(memory._array)
            memory = as_strided(memory, (size,), (1,), 0)
        return memory

    @property
    def dtype(self) -> Any:
        """The dtype of its elements; ``nnkit.uint8`` for bytes."""
        return self._elements.dtype

    @property
    def device(self) -> Any:
        """The device of its memory."""
        return self._elements.device

    @property
    def is_cuda(self) -> bool:
        """Whether it is on a GPU."""
        return self._elements.is_cuda

    def data_ptr(self) -> int:
        """The address of its first byte."""
        return self._elements.data_ptr()

    def nbytes(self) -> int:
        """Its size in bytes."""
        return self._elements.nbytes

    def size(self) -> int:
        """The number of its elements."""
        return self._elements.numel()

    def element_size(self) -> int:
        """The bytes of each number."""
        return self._elements.element_size()

    def untyped(self) -> UntypedStorage:
        """The same memory, counted in bytes."""
        return UntypedStorage._of(self._memory, self._is_part)

    def clone(self) -> Self:
        """A copy of the memory."""
        return self._of(self._elements.clone())

    @capturing(None)
    def copy_(self, source: Storage, non_blocking: bool = False) -> Self:
        """Take over the numbers of another storage of the same size.

        Raises:
            RuntimeError: it has another size.
        """
        if source.size() != self.size():
            raise RuntimeError(
                f"copy_(): size does not match, self was {self.nbytes()} bytes but src was "
                f"{source.nbytes()} bytes"
            )
        self._elements.copy_(source._elements, non_blocking)
        return self

    @capturing(None)
    def fill_(self, value: Any) -> Self:
        """Write one number everywhere."""
        self._elements.fill_(value)
        return self

    def resize_(self, size: int) -> Self:
        """Make room for so many numbers."""
        memory = self._memory
        if not self._is_part:  # from its beginning, wherever the tensor lies in it
            memory = as_strided(memory, (0,), (1,), 0)
        memory.resize_(-(-size * self.element_size() // memory.element_size()))
        return self

    def resizable(self) -> bool:
        """Whether `resize_` can make it larger: a map of a file, and what NumPy looks into, keep
        their size."""
        return not is_lent(memory_of(self._memory._array))

    def cpu(self) -> Self:
        """This storage, or a copy of it, on the CPU."""
        return self.to(device="cpu")

    def to(self, *, device: Any, non_blocking: bool = False) -> Self:
        """This storage, or a copy of it, on a device."""
        place = located(device)
        if self.device == place:
            return self
        return self._of(self._elements.to(place, non_blocking=non_blocking))

    def tensor(self, dtype: Any) -> Tensor:
        """Its memory as a tensor of one dimension.

        Raises:
            RuntimeError: it holds numbers of another dtype; bytes are taken for any.
        """
        if dtype is not self.dtype:
            raise RuntimeError(f"Expected a Storage of type {dtype}, got one of {self.dtype}")
        return self._elements

    def tolist(self) -> list:
        """The numbers.

        Raises:
            NotImplementedError: it is on device ``meta``.
        """
        return self._readable().tolist()

    def _readable(self) -> Tensor:
        """The numbers, where there are some."""
        if self.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device type")
        return self._elements

    def is_shared(self) -> bool:
        """Whether processes share it."""
        return self._elements.is_shared()

    def is_pinned(self) -> bool:
        """Whether its pages are locked for copies to a GPU."""
        return self._elements.is_pinned()

    def share_memory_(self) -> Self:
        """Move it to memory that processes forked from now on share."""
        self._elements.share_memory_()
        return self

    def _share_fd_cpu_(self) -> tuple[int, int]:
        """Move it to memory that processes share: the descriptor of its file, and its size."""
        if self.device.type != "cpu":
            raise RuntimeError("_share_fd_: only available on CPU")
        self.share_memory_()
        return descriptor_of(self._memory._array), self.nbytes()

    def _share_filename_cpu_(self) -> Any:
        if self.device.type != "cpu":
            raise RuntimeError("_share_filename_: only available on CPU")
        raise NotImplementedError("_share_filename_cpu_(): shared memory here has no file name")

    def _write_file(self, file: Any, is_real_file: bool, save_size: bool, width: int) -> None:
        """Write the bytes, behind the number of elements of ``width`` bytes if ``save_size``."""
        content = self.untyped().cpu()._elements.numpy().tobytes()
        file.write((len(content) // width).to_bytes(8, "little") * save_size + content)

    @property
    def _cdata(self) -> int:
        """A number that the storages of the same memory have in common."""
        return id(owner(self._memory._array))

    def _fix_weakref(self) -> None:
        """Do nothing: an object that a weak reference gives is whole."""

    def __copy__(self) -> Self:
        return self.clone()

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def __repr__(self) -> str:
        has_numbers = self.device.type != "meta"
        rows = "".join([f" {n}\n" for n in self.tolist()]) if has_numbers else "...\n"
        return f"{rows}[nnkit.storage.{self._words()} of size {self.size()}]"

    def _words(self) -> str:
        raise NotImplementedError

    def _item(self, index: Any) -> int:
        if not isinstance(index, int):
            raise TypeError(f"can't index a {type(self).__name__} with {type(index).__name__}")
        size = self.size()
        if not -size <= index < size:
            raise IndexError(f"index {index} out of range for storage of size {size}")
        return index

    def __len__(self) -> int:
        return self.size()

    def __iter__(self) -> Iterator:
        return iter(self.tolist())

    def __getitem__(self, index: Any) -> Any:
        return self._readable()[self._item(index)].item()

    @capturing(None)
    def __setitem__(self, index: int | slice, value: Any) -> None:
        self._elements[index if isinstance(index, slice) else self._item(index)] = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Storage):
            return NotImplemented
        return (self.data_ptr(), self.nbytes()) == (other.data_ptr(), other.nbytes())

    def __hash__(self) -> int:
        return hash((self.data_ptr(), self.nbytes()))


def _row(given: Any, d: dtype, device: Any) -> Tensor:
    """A new row of so many numbers, or of the given ones; the default device is not asked."""
    place = located(cpu if device is None else device)
    if hasattr(given, "__index__"):
        return wrap(place.backend.empty((operator.index(given),), d.array), place)
    return wrap(place.backend.array(list(given), d.array), place)


def map_file(filename: Any, shared: bool, size: int, d: dtype) -> Tensor:
    """The first ``size`` elements of a file, in memory that maps it: what is written to it goes to
    the file if it is ``shared``, which then is made and becomes large enough. Of nothing none is
    opened."""
    length = size * d.itemsize
    if not length:
        return wrap(cpu.backend.empty((0,), d.array), cpu)
    access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
    try:
        flags = os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY
        flags |= getattr(os, "O_BINARY", 0)
        with open(os.open(filename, flags, 0o666), "r+b" if shared else "rb") as file:
            room = os.fstat(file.fileno()).st_size
            if room < length and not shared:
                raise RuntimeError(
                    f"file <{filename}> size <{room}> is smaller than the required mapping size "
                    f"<{length}>"
                )
            if room < length:
                file.truncate(length)
            memory: Any = mmap.mmap(file.fileno(), length, access=access)
    except OSError as error:
        raise RuntimeError(f"unable to open file <{filename}>: {error.strerror}") from None
    return wrap(cpu.backend.from_buffer(memory, d.array, size, 0), cpu)


class UntypedStorage(Storage):
    """Memory counted in bytes: ``UntypedStorage(n)``, ``UntypedStorage([1, 2, 3])``.

    Raises:
        RuntimeError: what is given is neither a number nor a sequence of bytes.

    Example:
        >>> import nnkit
        >>> storage = nnkit.UntypedStorage([1, 0, 2, 0])
        >>> nnkit.tensor([], dtype=nnkit.int16).set_(storage)
        tensor([1, 2], dtype=nnkit.int16)
    """

    def __init__(self, given: Any = 0, *, device: Any = None) -> None:
        if not isinstance(given, (int, Sequence, Storage)):
            got = type(given).__name__
            raise RuntimeError(f"UntypedStorage(): Expected a sequence type, but got {got}")
        self._memory = _row(given, uint8, device)

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, nbytes: int = 0) -> Self:
        """The first bytes of a file, in memory that maps it.

        Args:
            shared: whether writes go to the file, which then becomes large enough.

        Raises:
            RuntimeError: the file cannot be opened, or is shorter.
        """
        self = cls._of(map_file(filename, shared, nbytes, uint8))
        self.filename = str(filename) if shared else None
        return self

    @property
    def _elements(self) -> Tensor:
        return super()._elements.view(uint8)

    def untyped(self) -> UntypedStorage:
        """Itself."""
        return self

    def tensor(self, dtype: Any) -> Tensor:
        """Its memory as a tensor of one dimension, of any dtype."""
        return self._elements.view(dtype)

    def new(self) -> Self:
        """An empty one on the same device."""
        return type(self)(device=self.device)

    def type(self, dtype: Any = None) -> str:
        """The name of its class."""
        return "nnkit.storage.UntypedStorage"

    @capturing(None)
    def byteswap(self, dtype: dtype) -> None:
        """Turn round the bytes of each number of a dtype; of a complex one those of its parts."""
        size = dtype.to_real().itemsize
        self._elements.copy_(self._elements.view(-1, size).flip(1).flatten())

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            return super().__getitem__(index)
        if index.step not in (None, 1):
            raise RuntimeError(
                f"Trying to slice with a step of {index.step}, but only a step of 1 is supported"
            )
        return self._of(self._readable()[index], True)

    def _words(self) -> str:
        return f"UntypedStorage(device={self.device})"


class TypedStorage(Storage):
    """Memory counted in numbers of a dtype, the default one unless given.

    Args:
        given: how many, or the numbers.
        wrap_storage: the memory, instead.
        dtype, device: of the numbers.

    Example:
        >>> import nnkit
        >>> nnkit.TypedStorage([1, 2], dtype=nnkit.float64).tolist()
        [1.0, 2.0]
    """

    def __init__(
        self, given: Any = 0, *, wrap_storage: Any = None, dtype: Any = None, device: Any = None,
        _internal: bool = False,
    ) -> None:  # fmt: skip
        kind = dtype or default_dtype()
        if wrap_storage is None:
            self._memory = _row(given, kind, device)
        else:
            self._memory, self._is_part = wrap_storage.tensor(kind), True

    @classmethod
    def from_buffer(
        cls, buffer: Any, byte_order: str = sys.byteorder, *, dtype: Any = None, **options: Any
    ) -> Any:
        """The numbers in a buffer of Python's, copied; ``byte_order`` is "little" or "big"."""
        kind = dtype or default_dtype()
        content = bytearray(buffer)
        if byte_order != sys.byteorder:
            given, size = bytes(content), kind.itemsize
            for place in range(size):
                content[place::size] = given[size - 1 - place :: size]
        return TypedStorage._of(wrap(cpu.backend.from_buffer(content, kind.array, -1, 0), cpu))

    def type(self, dtype: Any = None) -> Any:
        """The name of its class; with a dtype, a copy in it."""
        if dtype is None:
            return f"{package_of(self.dtype)}.{storage_name(self.dtype)}"
        return TypedStorage._of(self._elements.to(dtype))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return super().__getitem__(index)

    def _setitem(self, index: int | slice, value: Any) -> None:
        self[index] = value

    def _deepcopy(self, memo: dict[int, Any]) -> Self:
        return copy.deepcopy(self, memo)

    @property
    def _untyped_storage(self) -> UntypedStorage:
        return self.untyped()

    def pickle_storage_type(self) -> str:
        """The name of the class of storages of its dtype."""
        return storage_name(self.dtype)

    def _words(self) -> str:
        return f"TypedStorage(dtype={self.dtype}, device={self.device})"


class StorageType(type):
    """The class of `FloatStorage` and its like: those of one dtype are their instances."""

    dtype: Any
    _dtype = property(lambda cls: cls.dtype)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype

    def __call__(cls, *arguments: Any, **options: Any) -> TypedStorage:
        return TypedStorage(*arguments, dtype=cls.dtype, **options)

    def from_file(cls, filename: Any, shared: bool, size: int = 0) -> TypedStorage:
        """The first numbers of a file, in memory that maps it."""
        found = TypedStorage._of(map_file(filename, shared, size, cls.dtype))
        found.filename = str(filename) if shared else None
        return found

    def from_buffer(cls, *args: Any, **options: Any) -> TypedStorage:
        """The numbers in a buffer of Python's, copied."""
        return TypedStorage.from_buffer(*args, dtype=cls.dtype, **options)


def storage_name(d: dtype) -> str:
    """The name of the class of storages of a dtype."""
    return TYPE_NAMES.get(d.name, f"{d.name.title()}Tensor").replace("Tensor", "Storage")


def _cast(name: str, d: dtype) -> None:
    def convert(self: TypedStorage) -> TypedStorage:
        return self.type(d)

    convert.__doc__ = f"A copy in dtype {d.name}."
    setattr(TypedStorage, name, convert)


for _name in ("size", "nbytes", "element_size", "data_ptr", "is_shared", "resize_",
              "share_memory_", "pickle_storage_type"):  # fmt: skip
    setattr(TypedStorage, f"_{_name}", getattr(TypedStorage, _name))  # torch's, which do not warn
PUBLIC["UntypedStorage"], PUBLIC["TypedStorage"] = UntypedStorage, TypedStorage
for _kind in TYPE_NAMES:
    _name = storage_name(DTYPES[_kind])
    _members = {"dtype": DTYPES[_kind], "__module__": "nnkit"}
    PUBLIC[_name] = StorageType(_name, (), _members)
for _name, _kind in {
    **ALIASES,
    "bool": DTYPES["bool"],
    "byte": uint8,
    "char": DTYPES["int8"],
}.items():
    _cast(_name.replace("cfloat", "complex_float").replace("cdouble", "complex_double"), _kind)
_cast("bfloat16", DTYPES["bfloat16"])


@public(method=False)
def from_file(
    filename: str, shared: bool | None = None, size: int | None = 0, *, dtype: Any = None,
    layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The first ``size`` numbers of a file as a tensor in memory that maps it.

    Args:
        shared: whether writes go to the file, which then is made, and becomes large enough.

    Raises:
        RuntimeError: the file cannot be opened, or is shorter.

    Example:
        >>> import nnkit, tempfile
        >>> file = tempfile.NamedTemporaryFile()
        >>> _ = file.write(bytes(4)), file.flush()
        >>> nnkit.from_file(file.name, size=2, dtype=nnkit.int16)
        tensor([0, 0], dtype=nnkit.int16)
        >>> file.close()
    """
    found = map_file(filename, bool(shared), size or 0, dtype or default_dtype())
    return found.requires_grad_() if requires_grad else found


@public(namespace=False)
def storage(input: Tensor) -> TypedStorage:
    """Its memory, counted in elements.

    Raises:
        NotImplementedError: it is a tensor inside of a function that is transformed.
    """
    check_tensor("storage", input)
    check_has_memory("storage", input, NotImplementedError)
    data = memory_of(input._array)
    whole = wrap(data, input._device)
    whole._writes = input._writes
    return TypedStorage._of(whole)


attach("_typed_storage", METHODS["storage"])


@public(namespace=False)
def untyped_storage(input: Tensor) -> UntypedStorage:
    """Its memory, counted in bytes."""
    return storage(input).untyped()


@public(namespace=False)
def storage_type(input: Tensor) -> Any:
    """The class of its `storage`, such as ``nnkit.FloatStorage``."""
    return PUBLIC[storage_name(input.dtype)]


@public(method=False)
def is_storage(obj: Any) -> bool:
    """Whether ``obj`` is a `Storage`.

    Example:
        >>> import nnkit
        >>> nnkit.is_storage(nnkit.ones(2).untyped_storage())
        True
    """
    return isinstance(obj, Storage)


@public(namespace=False)
def is_shared(input: Tensor) -> bool:
    """Whether `share_memory_` has put it into memory that processes share."""
    check_has_memory("is_shared", input, NotImplementedError)
    return input._device.backend.is_shared(input._array)


@public(namespace=False)
def share_memory_(input: Tensor) -> Tensor:
    """Move its storage to memory that processes share: those that are forked from now on, and those
    that it is sent to by `nnkit.multiprocessing`.

    Example:
        >>> import nnkit
        >>> nnkit.zeros(2).share_memory_().is_shared()
        True
    """
    if not is_shared(input):
        move_storage(input, input._device.home.backend.shared(memory_of(input._array)))
    return input
