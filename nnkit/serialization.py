"""`save` and `load`: nested state in a file, without ever running code from it.

A state is a tree of dictionaries, lists and tuples whose leaves are tensors, numbers and strings:
what ``state_dict()`` of a module or an optimizer gives. The tensors go into a safetensors or npz
file under their dotted paths; the rest of the tree is a JSON note in the same file.
"""

from __future__ import annotations

import base64
import errno
import io
import json
import operator
import os
import pickle
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, BinaryIO

from nnkit.autograd import Size, Tensor
from nnkit.autograd.tensor import wrap
from nnkit.backend import files
from nnkit.backend.device import device, located
from nnkit.backend.dtype import DTYPES, OF_ARRAY, dtype
from nnkit.nn.parameter import Parameter
from nnkit.replacing import replacing

__all__ = ["load", "save"]

_NOTE = "nnkit"  # the name of the JSON note
_PLAIN = (bool, int, float, str, type(None))
_LONGEST_REASON = 500  # what stands in an error may come from the file
Path = str | os.PathLike[str]
Make = Callable[[Any], Tensor]  # from an array to the tensor that is loaded


def save(obj: Any, f: Path | BinaryIO) -> None:
    """Write a state to a file: as npz if its name ends so, else as safetensors.

    Args:
        obj: dictionaries, lists and tuples of tensors, numbers, strings, bytes, None, dtypes and
            devices. A dictionary's keys are numbers or strings.
        f: a path, or a binary file. A path is written under another name and then renamed, so
            that it never holds half a state; it keeps its mode, and links are followed.

    Raises:
        TypeError: something in ``obj`` is of another type; the message has its path.
        ValueError: ``obj`` contains itself, or is nested some hundreds of levels deep.

    Example:
        >>> import nnkit, tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
        >>> nnkit.save({"weight": nnkit.ones(2), "step": 3}, path)
        >>> nnkit.load(path)
        {'weight': tensor([1., 1.]), 'step': 3}
    """
    arrays: dict[str, Any] = {}
    try:
        note = json.dumps(_encode(obj, "", arrays))
    except RecursionError:
        raise ValueError("save: the object contains itself, or is nested too deeply") from None
    if not isinstance(f, (str, os.PathLike)):
        _write(f, arrays, note)
        return
    write = _write_npz if str(os.fspath(f)).endswith(".npz") else _write
    with replacing(f) as stream:
        write(stream, arrays, note)


def _write(stream: BinaryIO, arrays: dict[str, Any], note: str) -> None:
    files.write_safetensors(stream, arrays, {"format": "pt", _NOTE: note})


def _write_npz(stream: BinaryIO, arrays: dict[str, Any], note: str) -> None:
    arrays[_NOTE] = files.array_of(bytearray(note.encode()), DTYPES["uint8"].array)
    files.write_npz(stream, arrays)


def load(
    f: Path | BinaryIO,
    map_location: Any = None,
    *,
    weights_only: bool = True,
    max_bytes: int | None = None,
) -> Any:
    """Read a state that `save`, ``torch.save``, safetensors or NumPy has written.

    Args:
        f: a path, or a binary file.
        map_location: the device of the tensors; the CPU when not given.
        weights_only: has to be true, since unpickling at will would run code from the file.
        max_bytes: refuse a file whose contents take more. Without it they are at most as large
            as the file, but for an npz that is compressed (a thousand times as large at most).

    A file of ``torch.save`` may hold tensors, parameters, numbers, strings and containers. The
    file may come from anybody: see SECURITY.md for what is promised.

    Raises:
        ValueError: the file is damaged, too large or of no known format, or ``weights_only`` is
            false.
        UnpicklingError: a file of ``torch.save`` wants another class, function or action.
        OSError: it cannot be opened or read.
    """
    if not weights_only:
        raise ValueError("load: weights_only must be True, unpickling at will runs foreign code")
    place = None if map_location is None else located(map_location)

    def make(array: Any) -> Tensor:
        return wrap(array) if place is None else wrap(array).to(place)

    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as stream:
            return _load(stream, make, max_bytes)
    return _load(f if f.seekable() else io.BytesIO(f.read()), make, max_bytes)


def _load(stream: BinaryIO, make: Make, max_bytes: int | None) -> Any:
    """The contents of a stream; whatever its bytes make go wrong is one of two kinds of errors."""
    name = getattr(stream, "name", "the stream")
    try:
        return _read(stream, make, max_bytes)
    except pickle.UnpicklingError as error:
        raise pickle.UnpicklingError(f"load: {name}: {str(error)[:_LONGEST_REASON]}") from None
    except MemoryError:
        raise
    except Exception as error:
        # Only a seek to a place that the file has made up is an invalid argument.
        if isinstance(error, OSError) and error.errno != errno.EINVAL:
            raise
        reason = str(error)[:_LONGEST_REASON]
        if not isinstance(error, ValueError):
            reason = f"damaged, {type(error).__name__}: {reason}"
        raise ValueError(f"load: {name}: {reason}") from error


def _read(stream: BinaryIO, make: Make, max_bytes: int | None) -> Any:
    begin = stream.tell()
    start = stream.read(9)
    stream.seek(begin)
    # A safetensors file begins with a length, which may be any other format's mark, and a "{".
    if start[8:] == b"{":
        arrays, metadata = files.read_safetensors(stream, max_bytes)
        return _restore(arrays, metadata.get(_NOTE), make)
    if start[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        from nnkit import torch_checkpoint

        with files.open_zip(stream, max_bytes) as archive:
            name = torch_checkpoint.pickle_name(archive)
            if name is not None:
                return torch_checkpoint.read(archive, name, make)
            arrays = files.read_npz(archive)
        note = arrays.pop(_NOTE, None)
        return _restore(arrays, None if note is None else files.memory_of(note).decode(), make)
    if start[:1] == b"\x80":
        raise ValueError("a bare pickle is not read, it can run code (torch before 1.6?)")
    raise ValueError("it is neither safetensors nor npz nor a file of torch.save")


def _restore(arrays: dict[str, Any], note: str | None, make: Make) -> Any:
    if note is not None:
        return _decode(json.loads(note), arrays, make)
    for name, array in arrays.items():
        if array.dtype not in OF_ARRAY:
            raise ValueError(f"{name!r:.80} has the unknown dtype {array.dtype}")
    return {name: make(array) for name, array in arrays.items()}


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


def _decode(node: Any, arrays: dict[str, Any], make: Make) -> Any:
    if not isinstance(node, list):
        return node
    tag, content = node[0], node[1]
    if tag in ("tensor", "parameter"):
        _, name, kind, requires_grad = node
        tensor = make(files.from_plain(arrays[name], DTYPES[kind].array))
        if tag == "parameter":
            return Parameter(tensor, bool(requires_grad))
        return tensor.requires_grad_(bool(requires_grad))
    if tag in ("dict", "ordered"):
        pairs = [(key, _decode(item, arrays, make)) for key, item in content]
        if tag == "dict":
            return dict(pairs)
        ordered: Any = OrderedDict(pairs)
        metadata = _decode(node[2], arrays, make)
        if metadata is not None:
            ordered._metadata = metadata
        return ordered
    if tag in _SEQUENCES:
        return _SEQUENCES[tag](_decode(item, arrays, make) for item in content)
    if tag == "complex":
        return complex(content, node[2])
    decode = _LEAVES.get(tag)
    if decode is None:
        raise ValueError(f"it has an unknown kind of value, {tag!r:.80}")
    return decode(content)


_LEAVES: dict[str, Callable[[Any], Any]] = {
    "size": lambda sizes: Size(map(operator.index, sizes)),
    "bytes": base64.b64decode,
    "dtype": DTYPES.__getitem__,
    "device": device,
}
