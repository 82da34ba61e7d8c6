"""Files of ``torch.save``, read without running what is in them.

Such a file is a zip archive: ``data.pkl`` is a pickle of the object tree, ``data/0``, ``data/1``,
... are the memory of the tensors. A pickle is a program that may call anything; the reader here
knows the short list below and refuses all else, as torch's ``weights_only`` does.
"""

from __future__ import annotations

import codecs
import pickle
import zipfile
from collections import Counter, OrderedDict
from collections.abc import Sequence
from typing import Any, BinaryIO

from nnkit.autograd import Size, Tensor, no_grad
from nnkit.autograd.tensor import wrap
from nnkit.backend import files
from nnkit.backend.device import device
from nnkit.backend.dtype import DTYPES, dtype
from nnkit.nn.parameter import Buffer, Parameter

__all__ = ["is_checkpoint", "read"]

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


def is_checkpoint(stream: BinaryIO) -> bool:
    """Whether a zip archive is one of ``torch.save``."""
    with zipfile.ZipFile(stream) as archive:
        return _pickle_name(archive) is not None


def read(stream: BinaryIO) -> Any:
    """The object tree of a file of ``torch.save``, its tensors on the CPU.

    Raises:
        UnpicklingError: it refers to a class or function that is not on the list.
        ValueError: it was written on a big-endian machine, or a tensor exceeds its memory.
    """
    with zipfile.ZipFile(stream) as archive:
        name = _pickle_name(archive)
        assert name is not None
        prefix = name.removesuffix("data.pkl")
        if prefix + "byteorder" in archive.namelist():
            order = archive.read(prefix + "byteorder")
            if order != b"little":
                raise ValueError(f"load: the byte order of the file is {order!r}, not little")
        with archive.open(name) as pickled:
            return _Reader(pickled, archive, prefix).load()


def _pickle_name(archive: zipfile.ZipFile) -> str | None:
    return next((n for n in archive.namelist() if n.endswith("data.pkl")), None)


class _Reader(pickle.Unpickler):
    def __init__(self, pickled: Any, archive: zipfile.ZipFile, prefix: str) -> None:
        super().__init__(pickled)
        self._archive = archive
        self._prefix = prefix
        self._storages: dict[str, Tensor] = {}

    def find_class(self, module: str, name: str) -> Any:
        known = _KNOWN.get(f"{module}.{name}")
        if known is None:
            raise pickle.UnpicklingError(
                f"load: the file refers to {module}.{name}, only tensors, numbers, strings and "
                "containers are read"
            )
        return known

    def persistent_load(self, pid: Any) -> Tensor:
        """The memory of a tensor, one-dimensional; tensors that share it get the same one."""
        kind, stored, key, _, size = pid
        if kind != "storage" or not isinstance(stored, dtype):
            raise pickle.UnpicklingError(f"load: the file refers to an unknown thing, {kind!r}")
        if key not in self._storages:
            memory = bytearray(self._archive.read(f"{self._prefix}data/{key}"))
            if len(memory) != size * stored.itemsize:
                raise ValueError(
                    f"load: storage {key} has {len(memory)} bytes, {size} elements of {stored} "
                    "are expected"
                )
            self._storages[key] = wrap(files.array_of(memory, stored.array))
        return self._storages[key]


def _rebuild_tensor(
    storage: Tensor,
    offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    requires_grad: bool = False,
    hooks: Any = None,
    metadata: Any = None,
) -> Tensor:
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    length = storage.shape[0]
    if min((offset, *size, *stride)) < 0 or (0 not in size and last >= length):
        raise ValueError(
            f"load: a tensor of size {tuple(size)}, stride {tuple(stride)} and offset {offset} "
            f"exceeds its memory of {length} elements"
        )
    with no_grad():
        tensor = storage.as_strided(tuple(size), tuple(stride), offset).detach()
    return tensor.requires_grad_(requires_grad)


def _rebuild_parameter(data: Tensor, requires_grad: bool, hooks: Any, state: Any = None) -> Any:
    return Parameter(data, requires_grad)


def _rebuild_from_type(function: Any, kind: type, arguments: tuple[Any, ...], state: Any) -> Any:
    if function is not _rebuild_tensor:
        raise pickle.UnpicklingError(f"load: a tensor cannot be rebuilt by {function!r}")
    tensor = function(*arguments)
    if isinstance(state, dict) and state.get("_is_buffer"):
        return Buffer(tensor, persistent=bool(state.get("persistent", True)))
    return tensor


def _encode(text: str, encoding: str) -> bytes:
    return codecs.encode(text, encoding if encoding == "latin1" else "utf-8")  # pyright: ignore


_KNOWN: dict[str, Any] = {
    "collections.OrderedDict": OrderedDict,
    "collections.Counter": Counter,
    "builtins.set": set,
    "builtins.complex": complex,
    "builtins.bytearray": bytearray,
    "__builtin__.set": set,
    "__builtin__.complex": complex,
    "__builtin__.bytearray": bytearray,
    # Pickle's second protocol, which torch writes, has bytes as text and its encoding.
    "_codecs.encode": _encode,
    "torch.Size": Size,
    "torch.device": device,
    "torch.Tensor": Tensor,
    "torch._utils._rebuild_tensor": _rebuild_tensor,
    "torch._utils._rebuild_tensor_v2": _rebuild_tensor,
    "torch._utils._rebuild_parameter": _rebuild_parameter,
    "torch._utils._rebuild_parameter_with_state": _rebuild_parameter,
    "torch._tensor._rebuild_from_type_v2": _rebuild_from_type,
    **{f"torch.{name}": DTYPES[kind] for name, kind in _STORAGES.items()},
    **{f"torch.{name}": kind for name, kind in DTYPES.items()},
}
