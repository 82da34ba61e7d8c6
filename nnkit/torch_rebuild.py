"""The functions that rebuild the values in a file of ``torch.save``, by their names in pickles.

A pickle is a program that may call anything; read as data (`nnkit.pickle_reader`) it may refer to
`PLAIN` and to nothing else, as with torch's ``weights_only``.
"""

from __future__ import annotations

import operator
import pickle
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import nnkit
from nnkit.autograd import Size, Tensor, no_grad
from nnkit.autograd.ops.creation.conversion import TYPE_NAMES
from nnkit.autograd.ops.creation.factories import empty_strided
from nnkit.autograd.surface.generator import Generator
from nnkit.autograd.surface.storage import Storage, TypedStorage, UntypedStorage, storage_name
from nnkit.backend import files
from nnkit.backend.device import device
from nnkit.backend.dtype import DTYPES, dtype
from nnkit.backend.memory import SPARSE, sparse_coo, strided
from nnkit.nn.parameter import Buffer, Parameter
from nnkit.pickle_reader import Function, checked_key

__all__ = ["NAMES", "OF_TORCH", "PLAIN"]


def _rebuild_tensor(
    storage: Storage,
    offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    requires_grad: bool = False,
    hooks: Any = None,
    metadata: Any = None,
) -> Tensor:
    if not isinstance(storage, Storage):
        raise ValueError(f"expected the storage of a tensor, got {type(storage).__name__}")
    if len(size) > files.MOST_DIMENSIONS or len(stride) != len(size):
        raise ValueError(f"a tensor has {len(size)} dimensions and {len(stride)} strides")
    numbers = (offset, *size, *stride)
    if any(type(n) is not int for n in numbers):
        raise ValueError("a size, a stride or an offset is not an integer")
    last = offset + sum((n - 1) * step for n, step in zip(size, stride))
    memory = storage._memory
    length = memory.shape[0]
    if min(numbers) < 0 or (0 not in size and last >= length):
        raise ValueError(
            f"a tensor of size {tuple(size)}, stride {tuple(stride)} and offset {offset} "
            f"exceeds its memory of {length} elements"
        )
    marks = metadata if isinstance(metadata, dict) else {}
    with no_grad():
        tensor = memory.as_strided(tuple(size), tuple(stride), offset)
        tensor = tensor.conj() if marks.get("conj") else tensor
        tensor = (tensor._neg_view() if marks.get("neg") else tensor).detach()
    return tensor.requires_grad_(bool(requires_grad))


def _rebuild_stored(
    storage: Storage,
    offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    requires_grad: bool,
    hooks: Any,
    kind: dtype,
    metadata: Any = None,
) -> Tensor:
    """A tensor of a dtype that has no storage class, on a storage of bytes."""
    if not isinstance(kind, dtype):
        raise ValueError(f"expected the dtype of a tensor, got {type(kind).__name__}")
    if not isinstance(storage, Storage):
        raise ValueError(f"expected the storage of a tensor, got {type(storage).__name__}")
    elements = TypedStorage._of(storage._memory.view(kind))
    return _rebuild_tensor(elements, offset, size, stride, requires_grad, hooks, metadata)


def _rebuild_without_memory(
    kind: dtype, size: Sequence[int], stride: Sequence[int], requires_grad: bool
) -> Tensor:
    numbers = (*size, *stride)
    if not isinstance(kind, dtype) or len(size) > files.MOST_DIMENSIONS:
        raise ValueError(f"a tensor has {len(size)} dimensions")
    if len(stride) != len(size) or any(type(n) is not int or n < 0 for n in numbers):
        raise ValueError("a size or a stride is not a non-negative integer")
    made = empty_strided(tuple(size), tuple(stride), dtype=kind, device=device("meta"))
    return made.requires_grad_(bool(requires_grad))


class _Unread(threading.local):
    sparse: list[tuple[Any, Sequence]] | None = None  # sparse tensors whose memory is not read yet


_unread = _Unread()


@contextmanager
def checked_when_read() -> Iterator[None]:
    """A context manager for formats that read memory after making the tensors: the indices of
    sparse ones are checked at its end."""
    before, _unread.sparse = _unread.sparse, []
    made = _unread.sparse
    try:
        yield
    finally:
        _unread.sparse = before
    for kind, data in made:
        _rebuild_sparse(kind, data)


def _rebuild_sparse(kind: Any, data: Sequence) -> Tensor:
    """A sparse tensor, whose indices are checked, as they come from a file."""
    sparse, checks = nnkit.sparse, _unread.sparse is None
    if _unread.sparse is not None:
        _unread.sparse.append((kind, data))
    try:
        if kind is sparse_coo:
            indices, values, size, is_coalesced = data if len(data) == 4 else (*data, None)
            return sparse.sparse_coo_tensor(
                indices, values, size, check_invariants=checks, is_coalesced=is_coalesced
            )
        starts, others, values, size = data
        return sparse.sparse_compressed_tensor(
            starts, others, values, size, layout=kind, check_invariants=checks
        )
    except (RuntimeError, TypeError, IndexError, AttributeError) as error:
        raise ValueError(f"the parts of a sparse tensor do not fit together: {error}") from None


def _layout(name: str) -> Any:
    for each in (strided, *SPARSE):
        if name == f"torch.{each.name}":
            return each
    raise ValueError(f"there is no layout {name!r:.80}")


def _rebuild_parameter(data: Tensor, requires_grad: bool, hooks: Any) -> Any:
    return Parameter(data, bool(requires_grad))


def _rebuild_parameter_with_state(data: Tensor, requires_grad: bool, hooks: Any, state: Any) -> Any:
    parameter = Parameter(data, bool(requires_grad))
    _set_obj_state(parameter, state)
    return parameter


def _rebuild_from_type(
    rebuild: Callable[..., Any], kind: type, arguments: tuple[Any, ...], state: Any
) -> Any:
    """A tensor of a subclass, or one with attributes."""
    tensor = rebuild(*arguments)
    if type(tensor) is not kind:
        tensor = tensor.as_subclass(kind)
    if hasattr(kind, "__setstate__"):
        tensor.__setstate__(state)
    else:
        _set_obj_state(tensor, state)
    return tensor


def _set_obj_state(obj: Any, state: Any) -> Any:
    """Set an object's attributes from a dictionary, or from a pair with one for slots."""
    for part in state if isinstance(state, tuple) else (state,):
        for name, content in (part or {}).items():
            setattr(obj, name, content)
    return obj


def _plain_parameter(data: Tensor, requires_grad: bool, hooks: Any, state: Any = None) -> Any:
    return _with_plain_attributes(Parameter(data, bool(requires_grad)), state)


def _with_plain_attributes(value: Tensor, state: Any) -> Tensor:
    """A tensor with further attributes, which may not hide those of Tensor."""
    for part in state if isinstance(state, tuple) else (state,):
        for name in part or ():
            if not isinstance(name, str) or hasattr(Tensor, name):
                raise pickle.UnpicklingError(f"a tensor is given no attribute {name!r:.80}")
    _set_obj_state(value, state)
    return value


def _plain_from_type(rebuild: Any, kind: Any, arguments: tuple[Any, ...], state: Any) -> Any:
    """A tensor with attributes, or one of a class that has been allowed."""
    if rebuild is not PLAIN["torch._utils._rebuild_tensor_v2"]:
        raise pickle.UnpicklingError(f"a tensor cannot be rebuilt by {rebuild!r:.80}")
    tensor = rebuild(*arguments)
    if kind is not Tensor:
        if not (isinstance(kind, type) and issubclass(kind, Tensor)):
            raise pickle.UnpicklingError(f"{kind!r:.80} is no class of tensors")
        tensor = tensor.as_subclass(kind)
        if hasattr(kind, "__setstate__"):
            tensor.__setstate__(state)
            return tensor
    elif isinstance(state, dict) and state.get("_is_buffer"):
        tensor = Buffer(tensor, persistent=bool(state.get("persistent", True)))
        state = {name: state[name] for name in state if name not in tensor.__dict__}
    return _with_plain_attributes(tensor, state)


def _bytes(content: bytes = b"") -> bytes:
    if type(content) is not bytes:
        raise ValueError(f"bytes are not made of a {type(content).__name__}")
    return content


def _bytearray(content: bytes | str = b"", encoding: str = "latin1") -> bytearray:
    return bytearray(_encode(content, encoding) if isinstance(content, str) else _bytes(content))


def _encode(text: str, encoding: str) -> bytes:
    """Bytes from text: the second protocol of pickles stores them so, and torch uses it."""
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


def _ordered(*pairs: Any) -> OrderedDict[Any, Any]:
    """An OrderedDict from lists of pairs, as Python 2 writes it."""
    if not all(isinstance(pair, list) and len(pair) == 2 for given in pairs for pair in given):
        raise ValueError("an OrderedDict is made of pairs")
    return OrderedDict(*([(checked_key(key), value) for key, value in given] for given in pairs))


def _size(sizes: Sequence[int]) -> Size:
    return Size(map(operator.index, sizes))


def _function(name: str, call: Callable[..., Any]) -> Function:
    return Function(name.rpartition(".")[2], call)


_KINDS: dict[str, Any] = {
    "torch.storage.UntypedStorage": UntypedStorage,
    **{f"torch.{storage_name(DTYPES[kind])}": DTYPES[kind] for kind in TYPE_NAMES},
}
_REBUILDERS: dict[str, Callable[..., Any]] = {
    "torch._utils._rebuild_tensor_v2": _rebuild_tensor,
    "torch._utils._rebuild_tensor": _rebuild_tensor,
    "torch._utils._rebuild_tensor_v3": _rebuild_stored,
    "torch._utils._rebuild_meta_tensor_no_storage": _rebuild_without_memory,
    "torch._utils._rebuild_sparse_tensor": _rebuild_sparse,
    "torch.serialization._get_layout": _layout,
    "torch._utils._rebuild_parameter": _rebuild_parameter,
    "torch._utils._rebuild_parameter_with_state": _rebuild_parameter_with_state,
    "torch._tensor._rebuild_from_type_v2": _rebuild_from_type,
}
# The names that a pickle which is read as data may refer to.
PLAIN: dict[str, Any] = {
    name: _function(name, call)
    for name, call in {
        **_REBUILDERS,
        "torch._utils._rebuild_parameter": _plain_parameter,
        "torch._utils._rebuild_parameter_with_state": _plain_parameter,
        "torch._tensor._rebuild_from_type_v2": _plain_from_type,
        "torch.Size": _size,
        "torch.device": device,
        "_codecs.encode": _encode,
        "collections.Counter": _counter,
        "collections.OrderedDict": _ordered,
        **{
            f"{module}.{kind}": make
            for module in ("builtins", "__builtin__")
            for kind, make in {
                "bytearray": _bytearray,
                "bytes": _bytes,
                "complex": _complex,
                "set": _set,
            }.items()
        },
    }.items()
} | {"torch.Tensor": Tensor, **_KINDS, **{f"torch.{name}": d for name, d in DTYPES.items()}}
# Names that torch has only for files, for pickles that are executed.
OF_TORCH: dict[str, Any] = {
    **_REBUILDERS,
    **_KINDS,
    "torch._C.Generator": Generator,
    "torch._C.TensorBase": Tensor,
    "torch._C._VariableFunctionsClass": nnkit,  # whose functions are asked for by name
}
# The names under which objects of nnkit are written.
NAMES: dict[Any, str] = {call: name for name, call in reversed(_REBUILDERS.items())}
NAMES |= {UntypedStorage: "torch.storage.UntypedStorage", Generator: "torch._C.Generator"}
