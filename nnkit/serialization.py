"""`save` and `load`: nested state in a file, without ever running code from it.

A state is a tree of dictionaries, lists and tuples whose leaves are tensors, numbers and strings:
what ``state_dict()`` of a module or an optimizer gives. The tensors go into a safetensors or npz
file under their dotted paths; the rest of the tree is a JSON note in the same file.
"""

from __future__ import annotations

import base64
import io
import json
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from nnkit.autograd import Size, Tensor
from nnkit.autograd.tensor import wrap
from nnkit.backend import files
from nnkit.backend.device import device
from nnkit.backend.dtype import DTYPES, dtype
from nnkit.nn.parameter import Parameter

__all__ = ["load", "save"]

_NOTE = "nnkit"  # the name of the JSON note
_PLAIN = (bool, int, float, str, type(None))
Path = str | os.PathLike[str]


def save(obj: Any, f: Path | BinaryIO) -> None:
    """Write a state to a file: as npz if its name ends so, else as safetensors.

    Args:
        obj: dictionaries, lists and tuples of tensors, numbers, strings, bytes, None, dtypes and
            devices, nested as deep as one likes. A dictionary's keys are numbers or strings.
        f: a path, or a binary file. A path is written under another name and then renamed, so
            that it never holds half a state.

    Raises:
        TypeError: something in ``obj`` is of another type; the message has its path.

    Example:
        >>> import nnkit, tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
        >>> nnkit.save({"weight": nnkit.ones(2), "step": 3}, path)
        >>> nnkit.load(path)
        {'weight': tensor([1., 1.]), 'step': 3}
    """
    arrays: dict[str, Any] = {}
    note = json.dumps(_encode(obj, "", arrays))
    if isinstance(f, (str, os.PathLike)) and str(os.fspath(f)).endswith(".npz"):
        arrays[_NOTE] = files.array_of(bytearray(note.encode()), DTYPES["uint8"].array)
        with replacing(f) as stream:
            files.write_npz(stream, arrays)
        return
    metadata = {"format": "pt", _NOTE: note}
    if isinstance(f, (str, os.PathLike)):
        with replacing(f) as stream:
            files.write_safetensors(stream, arrays, metadata)
    else:
        files.write_safetensors(f, arrays, metadata)


def load(f: Path | BinaryIO, map_location: Any = None, *, weights_only: bool = True) -> Any:
    """Read a state that `save`, ``torch.save``, safetensors or NumPy has written.

    Args:
        f: a path, or a binary file.
        map_location: the device of the tensors; the CPU when not given.
        weights_only: has to be true, since unpickling at will would run code from the file.

    A file of ``torch.save`` may hold tensors, parameters, numbers, strings and containers.

    Raises:
        ValueError: the file is damaged, is of no known format, or ``weights_only`` is false.
        UnpicklingError: a file of ``torch.save`` refers to another class or function.
    """
    if not weights_only:
        raise ValueError("load: weights_only must be True, unpickling at will runs foreign code")
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as stream:
            state = _read(stream)
    else:
        state = _read(f if f.seekable() else io.BytesIO(f.read()))
    return state if map_location is None else _map(state, lambda t: t.to(map_location))


def _read(stream: BinaryIO) -> Any:
    start = stream.tell()
    magic = stream.read(4)
    stream.seek(start)
    if magic == b"PK\x03\x04":
        from nnkit import torch_checkpoint

        if torch_checkpoint.is_checkpoint(stream):
            return torch_checkpoint.read(stream)
        stream.seek(start)
        arrays = files.read_npz(stream)
        note = arrays.pop(_NOTE, None)
        return _restore(arrays, None if note is None else files.memory_of(note).decode())
    if magic[:1] == b"\x80":
        raise ValueError("load: a bare pickle is not read, it can run code (torch before 1.6?)")
    arrays, metadata = files.read_safetensors(stream)
    return _restore(arrays, metadata.get(_NOTE))


def _restore(arrays: dict[str, Any], note: str | None) -> Any:
    if note is None:
        return {name: wrap(array) for name, array in arrays.items()}
    return _decode(json.loads(note), arrays)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    temporary = f"{os.fspath(path)}.{os.getpid()}.tmp"
    try:
        with open(temporary, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.remove(temporary)
        raise


def _encode(value: Any, path: str, arrays: dict[str, Any]) -> Any:
    """A tree as JSON: a plain value is itself, anything else a list ``[tag, content ...]``."""
    if isinstance(value, Tensor):
        return _encode_tensor(value, path, arrays)
    if type(value) in _PLAIN:
        return value
    if isinstance(value, dict):
        pairs = [_encode_pair(key, item, path, arrays) for key, item in value.items()]
        if isinstance(value, OrderedDict):
            return ["ordered", pairs, _encode(getattr(value, "_metadata", None), "", arrays)]
        return ["dict", pairs]
    if isinstance(value, Size):
        return ["size", list(value)]
    for tag, kind in _SEQUENCES.items():
        if type(value) is kind:
            return [tag, [_encode(v, _join(path, i), arrays) for i, v in enumerate(value)]]
    if isinstance(value, bytes | bytearray):
        return ["bytes", base64.b64encode(value).decode()]
    if isinstance(value, complex):
        return ["complex", value.real, value.imag]
    if isinstance(value, dtype):
        return ["dtype", value.name]
    if isinstance(value, device):
        return ["device", str(value)]
    hint = ": save its state_dict()" if hasattr(value, "state_dict") else ""
    raise TypeError(f"save: {path or 'the object'} is a {type(value).__name__}, no state{hint}")


_SEQUENCES: dict[str, Callable[[Any], Any]] = {"list": list, "tuple": tuple, "set": set}


def _encode_tensor(value: Tensor, path: str, arrays: dict[str, Any]) -> list[Any]:
    array = value.detach().cpu()._data
    name = path or "tensor"
    while name in arrays or name == _NOTE:
        name += "_"
    arrays[name] = files.as_plain(array)
    tag = "parameter" if isinstance(value, Parameter) else "tensor"
    return [tag, name, value.dtype.name, value.requires_grad]


def _encode_pair(key: Any, value: Any, path: str, arrays: dict[str, Any]) -> list[Any]:
    if type(key) not in _PLAIN:
        raise TypeError(
            f"save: a key in {path or 'the object'} is a {type(key).__name__}, "
            "a number, a string or None is expected"
        )
    return [key, _encode(value, _join(path, key), arrays)]


def _join(path: str, key: Any) -> str:
    return f"{path}.{key}" if path else str(key)


def _decode(node: Any, arrays: dict[str, Any]) -> Any:
    if not isinstance(node, list):
        return node
    tag, content = node[0], node[1]
    if tag in ("tensor", "parameter"):
        _, name, kind, requires_grad = node
        tensor = wrap(files.from_plain(arrays[name], DTYPES[kind].array))
        if tag == "parameter":
            return Parameter(tensor, requires_grad)
        return tensor.requires_grad_(requires_grad)
    if tag in ("dict", "ordered"):
        pairs = [(key, _decode(item, arrays)) for key, item in content]
        if tag == "dict":
            return dict(pairs)
        ordered: Any = OrderedDict(pairs)
        metadata = _decode(node[2], arrays)
        if metadata is not None:
            ordered._metadata = metadata
        return ordered
    if tag in _SEQUENCES:
        return _SEQUENCES[tag](_decode(item, arrays) for item in content)
    if tag == "complex":
        return complex(content, node[2])
    decode = _LEAVES.get(tag)
    if decode is None:
        raise ValueError(f"load: the file has an unknown kind of value, {tag!r}")
    return decode(content)


_LEAVES: dict[str, Callable[[Any], Any]] = {
    "size": Size,
    "bytes": base64.b64decode,
    "dtype": DTYPES.__getitem__,
    "device": device,
}


def _map(value: Any, move: Callable[[Tensor], Tensor]) -> Any:
    """The same tree with every tensor replaced."""
    if isinstance(value, Tensor):
        moved = move(value.detach())
        if isinstance(value, Parameter):
            return Parameter(moved, value.requires_grad)
        return moved.requires_grad_(value.requires_grad)
    if isinstance(value, dict):
        # In place, so that an OrderedDict keeps its `_metadata`.
        for key in value:
            value[key] = _map(value[key], move)
        return value
    if type(value) in (list, tuple, set):
        return type(value)(_map(item, move) for item in value)
    return value
