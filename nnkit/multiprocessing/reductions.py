"""How tensors travel between processes: as the descriptors of their memory, not as copies."""

from __future__ import annotations

import pickle
import weakref
from multiprocessing import reduction
from typing import Any

from nnkit.autograd.surface.copying import warn_if_has_hooks
from nnkit.autograd.surface.storage import Storage, UntypedStorage
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.backend.device import cpu
from nnkit.backend.dtype import dtype
from nnkit.backend.memory import owner, strided
from nnkit.backend.shared_memory import received
from nnkit.nn.parameter import Parameter


class StorageWeakRef:
    """A reference that does not keep a storage alive, equal to others to the same memory.

    Example:
        >>> import nnkit
        >>> x = nnkit.ones(3)
        >>> reference = StorageWeakRef(x.untyped_storage())
        >>> reference == StorageWeakRef(x[1:].untyped_storage()), reference.expired()
        (True, False)
    """

    def __init__(self, storage: Storage) -> None:
        self.cdata = storage._cdata
        self._memory = weakref.ref(owner(storage._memory._array))

    def expired(self) -> bool:
        """Whether the memory is gone."""
        return self._memory() is None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StorageWeakRef) and self.cdata == other.cdata

    def __hash__(self) -> int:
        return self.cdata


def reduce_storage(storage: UntypedStorage) -> tuple:
    """Pickle a storage as what another process maps it by; it moves to shared memory.

    Raises:
        RuntimeError: it is not in the CPU's memory.
    """
    if storage.device.type != "cpu":
        raise RuntimeError(
            f"Cannot pickle {storage.device.type.upper()} storage; try pickling a "
            f"{storage.device.type.upper()} tensor instead"
        )
    descriptor, size = storage._share_fd_cpu_()
    return rebuild_storage, (reduction.DupFd(descriptor), size)


def rebuild_storage(descriptor: Any, size: int) -> UntypedStorage:
    """The storage that another process has sent."""
    return UntypedStorage._of(wrap(received(descriptor.detach(), size), cpu))


def reduce_tensor(tensor: Tensor) -> tuple:
    """Pickle a tensor as its storage and its place there, without hooks and gradient. A tensor that
    is not in the CPU's memory, or sparse, is copied.

    Raises:
        RuntimeError: it was made by a recorded operation.
    """
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "cannot send a non-leaf tensor that requires grad to another process, where its "
            "history is not known: send detach() of it"
        )
    if tensor.device.type != "cpu" or tensor.layout is not strided:
        return tensor.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
    warn_if_has_hooks(tensor)
    if not (tensor.is_conj() or tensor.is_neg()):
        tensor.share_memory_()  # before others look into it, who would have to be found
    plain = tensor.detach().resolve_conj().resolve_neg()
    place = plain.storage_offset(), plain.shape, plain.stride()
    storage = plain.untyped_storage()
    return rebuild_tensor, (type(tensor), storage, tensor.dtype, place, tensor.requires_grad)


def rebuild_tensor(
    cls: type, storage: UntypedStorage, kind: dtype, place: tuple, requires_grad: bool
) -> Tensor:
    """The tensor that another process has sent."""
    tensor = wrap(cpu.backend.empty((0,), kind.array), cpu).set_(storage, *place)
    if issubclass(cls, Parameter):
        return cls(tensor, requires_grad)
    return tensor.requires_grad_(requires_grad)


def register() -> None:
    """Let the pickler of multiprocessing send tensors so, where descriptors can be sent."""
    if hasattr(reduction, "DupFd"):
        reduction.register(UntypedStorage, reduce_storage)
        for kind in (Tensor, Parameter):
            reduction.register(kind, reduce_tensor)
