"""The memory behind a tensor, which its views have in common, and memory that processes share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nnkit.autograd.arguments.dims import check_tensor
from nnkit.autograd.op.public import public
from nnkit.autograd.ops.shape.strided import as_strided
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.backend.dtype import DTYPES
from nnkit.backend.lazy import alike, memory_of


class Storage:
    """All the memory that a tensor and its views lie in, as one row of numbers.

    `Tensor.untyped_storage` counts it in bytes, `Tensor.storage` in elements of the tensor's dtype.

    Example:
        >>> import nnkit
        >>> x = nnkit.arange(6.0).view(2, 3)
        >>> x[1].untyped_storage().nbytes()
        24
        >>> x[1].untyped_storage().data_ptr() == x.data_ptr()
        True
    """

    def __init__(self, memory: Tensor, untyped: bool = False, is_part: bool = False) -> None:
        self._memory = memory
        self._untyped = untyped
        self._is_part = is_part

    @property
    def _elements(self) -> Tensor:
        """The numbers, as many as there are now: `Tensor.resize_` may make room for more."""
        memory = self._memory
        if not self._is_part:
            size = memory._device.backend.storage_size(memory._data)
            memory = as_strided(memory, (size,), (1,), 0)
        return memory.view(DTYPES["uint8"]) if self._untyped else memory

    @property
    def dtype(self) -> Any:
        """What it is counted in; ``nnkit.uint8`` for bytes."""
        return DTYPES["uint8"] if self._untyped else self._memory.dtype

    @property
    def device(self) -> Any:
        """Where it is."""
        return self._memory.device

    def data_ptr(self) -> int:
        """The address of its first byte."""
        return self._elements.data_ptr()

    def nbytes(self) -> int:
        """Its size in bytes."""
        return self._elements.nbytes

    def size(self) -> int:
        """How many numbers it holds."""
        return self._elements.numel()

    def element_size(self) -> int:
        """The bytes of each number."""
        return self.dtype.itemsize

    def untyped(self) -> Storage:
        """The same memory, counted in bytes."""
        return self if self._untyped else Storage(self._memory, True, self._is_part)

    def clone(self) -> Storage:
        """A copy of the memory."""
        return Storage(self._elements.clone(), self._untyped)

    def copy_(self, source: Storage, non_blocking: bool = False) -> Storage:
        """Take over the numbers of another storage of the same size."""
        self._elements.copy_(source._elements, non_blocking)
        return self

    def fill_(self, value: Any) -> Storage:
        """Write one number everywhere."""
        self._elements.fill_(value)
        return self

    def cpu(self) -> Storage:
        """This storage, or a copy of it, on the CPU."""
        return self if self.device.type == "cpu" else Storage(self._elements.cpu(), self._untyped)

    def tensor(self, dtype: Any) -> Tensor:
        """Its memory as a tensor of one dimension.

        Raises:
            RuntimeError: it holds numbers of another dtype; bytes are taken for any.
        """
        if self._untyped:
            return self._elements.view(dtype)
        if dtype is not self.dtype:
            raise RuntimeError(f"Expected a Storage of type {dtype}, got one of {self.dtype}")
        return self._elements

    def tolist(self) -> list:
        """The numbers."""
        return self._elements.tolist()

    def is_shared(self) -> bool:
        """Whether processes share it."""
        return self._elements.is_shared()

    def __len__(self) -> int:
        return self.size()

    def __iter__(self) -> Iterator:
        return iter(self.tolist())

    def __getitem__(self, index: int | slice) -> Any:
        found = self._elements[index]
        return Storage(found, self._untyped, True) if isinstance(index, slice) else found.item()

    def __setitem__(self, index: int | slice, value: Any) -> None:
        self._elements[index] = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Storage):
            return NotImplemented
        return (self.data_ptr(), self.nbytes()) == (other.data_ptr(), other.nbytes())

    def __hash__(self) -> int:
        return hash((self.data_ptr(), self.nbytes()))

    def __repr__(self) -> str:
        return f"<nnkit.Storage of {self.size()} {self.dtype.name} on {self.device}>"


@public(namespace=False)
def storage(input: Tensor) -> Storage:
    """Its memory, counted in elements."""
    check_tensor("storage", input)
    data = memory_of(input._data)
    whole = wrap(data, input._device)
    whole._writes = input._writes
    return Storage(whole)


@public(namespace=False)
def untyped_storage(input: Tensor) -> Storage:
    """Its memory, counted in bytes."""
    return storage(input).untyped()


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
    return input._device.backend.is_shared(input._data)


@public(namespace=False)
def share_memory_(input: Tensor) -> Tensor:
    """Move the tensor to memory that it shares with the processes forked from now on.

    Views made before keep the old memory.

    Raises:
        RuntimeError: it is a view itself.

    Example:
        >>> import nnkit
        >>> nnkit.zeros(2).share_memory_().is_shared()
        True
    """
    if input._base is not None:
        raise RuntimeError("share_memory_(): cannot move a view, move the tensor it is a view of")
    if not is_shared(input):
        data = memory_of(input._data)
        input._data = alike(input._data, input._device.home.backend.shared(data))
    return input
