"""`save` and `load`: nested states in files, whose code is not run unless a call asks for it.

A state is a tree of dictionaries, lists and tuples whose leaves are tensors, numbers and strings,
such as the ``state_dict()`` of a module or an optimizer. The tensors go into a safetensors or npz
file under their dotted paths; the rest of the tree is a JSON note in the same file. Any other
object is written as ``torch.save`` does (`nnkit.torch_checkpoint`).
"""

from __future__ import annotations

import base64
import contextlib
import errno
import io
import json
import operator
import os
import pickle
import warnings
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, BinaryIO

from nnkit.autograd import Size, Tensor
from nnkit.autograd.surface.metadata import check_has_memory
from nnkit.autograd.surface.storage import UntypedStorage
from nnkit.autograd.tensor import wrap
from nnkit.backend import files
from nnkit.backend.device import device, located
from nnkit.backend.dtype import DTYPES, OF_ARRAY, dtype
from nnkit.backend.memory import strided
from nnkit.nn.parameter import Parameter
from nnkit.replacing import replacing
from nnkit.torch_options import (
    get_crc32_options,
    get_default_mmap_options,
    location_tag,
    register_package,
    restored,
    set_crc32_options,
    set_default_mmap_options,
    skip_data,
)

__all__ = [
    "add_safe_globals",
    "clear_safe_globals",
    "get_crc32_options",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "register_package",
    "safe_globals",
    "save",
    "set_crc32_options",
    "set_default_mmap_options",
    "skip_data",
]

_NOTE = "nnkit"  # the name of the JSON note
_OF_STATES = (".npz", ".safetensors")  # extensions of files that hold nothing but states
_LONGEST_MARK = 32  # bytes, by which formats are recognized
DEFAULT_PROTOCOL = 2  # of torch's pickles
_PLAIN = (bool, int, float, str, type(None))
_LONGEST_REASON = 500  # characters of an error, which may come from the file
Path = str | os.PathLike[str]
Make = Callable[[Any], Tensor]  # from an array to the tensor that is loaded


_safe_globals: list[Any] = []


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Allow files that are read as data to create instances of classes, and to call functions.

    Args:
        safe_globals: classes and functions, or pairs of one and the name that files have for it.
            They must be safe for any arguments, which the file gives them.

    Example:
        >>> import argparse, io
        >>> import nnkit
        >>> file = io.BytesIO()
        >>> nnkit.save(argparse.Namespace(lr=0.1), file)
        >>> _ = file.seek(0)
        >>> with nnkit.serialization.safe_globals([argparse.Namespace]):
        ...     nnkit.load(file)
        Namespace(lr=0.1)
    """
    _safe_globals.extend(g for g in safe_globals if g not in _safe_globals)


def get_safe_globals() -> list[Any]:
    """The classes and functions that `add_safe_globals` has allowed."""
    return list(_safe_globals)


def get_unsafe_globals_in_checkpoint(f: Path | BinaryIO) -> list[str]:
    """The names of classes and functions in a file of ``torch.save`` that `load` refuses as data.

    Nothing in the file is run: its pickle is only scanned.

    Raises:
        ValueError: it is no such file, or one of torch before 1.6.
        UnpicklingError: its pickle computes names when it runs, as those of protocol 4 do.

    Example:
        >>> import argparse, io
        >>> import nnkit
        >>> file = io.BytesIO()
        >>> nnkit.save(argparse.Namespace(lr=0.1), file)
        >>> nnkit.serialization.get_unsafe_globals_in_checkpoint(file)
        ['argparse.Namespace']
    """
    from nnkit import torch_checkpoint
    from nnkit.pickle_reader import global_names
    from nnkit.torch_rebuild import PLAIN

    with open(f, "rb") if isinstance(f, (str, os.PathLike)) else contextlib.nullcontext(f) as file:
        if not zipfile.is_zipfile(file):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        file.seek(0)
        with files.open_zip(file, None) as archive:
            name = torch_checkpoint.pickle_name(archive)
            if name is None:
                raise ValueError("Expected input to be a checkpoint returned by torch.save")
            found = global_names(archive.read(name))
    return sorted(found - PLAIN.keys() - _allowed().keys())


def clear_safe_globals() -> None:
    """Revoke everything that `add_safe_globals` has allowed."""
    _safe_globals.clear()


@contextlib.contextmanager
def safe_globals(safe_globals: list[Any]) -> Iterator[None]:
    """`add_safe_globals` as a context manager."""
    before = get_safe_globals()
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        _safe_globals[:] = before


def save(
    obj: Any,
    f: Path | BinaryIO,
    pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    *,
    format: str | None = None,
) -> None:
    """Write an object to a file: a state as safetensors or npz, anything else as ``torch.save``.

    Args:
        obj: a state: dictionaries, lists and tuples of tensors, numbers, strings, bytes, None,
            dtypes and devices, the keys of dictionaries numbers or strings; or anything that can
            be pickled, such as a module, or a tensor of a subclass or with attributes.
        f: a path, or a binary file. A path is written under another name and then renamed, so
            that it never holds half a state; it keeps its mode, and links are followed.
        pickle_module: in torch's format, another module with a ``Pickler``.
        pickle_protocol: in torch's format, the protocol of the pickle.
        _use_new_zipfile_serialization: false for torch's format before 1.6.
        format: "torch" for torch's format in any case. Otherwise a state is written as npz if the
            name ends in ``.npz``, else as safetensors, and any other object in torch's format.

    Raises:
        TypeError: a value in ``obj`` is of another type, and the name ends in ``.npz`` or
            ``.safetensors``; the message has the value's path.
        ValueError: the format is unknown; or the name ends so and ``obj`` contains itself, or is
            nested some hundreds of levels deep.
        PicklingError: ``obj`` is no state and cannot be pickled, as a lambda cannot.

    Example:
        >>> import nnkit, tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
        >>> nnkit.save({"weight": nnkit.ones(2), "step": 3}, path)
        >>> nnkit.load(path)
        {'weight': tensor([1., 1.]), 'step': 3}
    """
    if format not in (None, "torch"):
        raise ValueError(f"save: format must be None or 'torch', got {format!r}")
    arrays: dict[str, Any] = {}
    name = str(os.fspath(f)) if isinstance(f, (str, os.PathLike)) else ""
    note = None
    if format is None:
        try:
            note = json.dumps(_encode(obj, "", arrays))
        except TypeError:  # no state
            if name.endswith(_OF_STATES):
                raise
        except RecursionError:
            if name.endswith(_OF_STATES):
                reason = "save: the object contains itself, or is nested too deeply"
                raise ValueError(reason) from None

    def write(stream: BinaryIO) -> None:
        if note is not None:
            (_write_npz if name.endswith(".npz") else _write)(stream, arrays, note)
        else:
            stem = os.path.splitext(os.path.basename(name))[0] or "archive"
            _write_torch(stream, obj, pickle_module, pickle_protocol, stem, is_zip)

    is_zip = _use_new_zipfile_serialization
    if isinstance(f, (str, os.PathLike)):
        with replacing(f) as stream:
            write(stream)
        return
    if not hasattr(f, "write"):
        raise AttributeError(
            f"save: expected 'f' to be a path or a file with a 'write' attribute, "
            f"got {type(f).__name__}"
        )
    if note is not None:
        write(f)
    else:
        whole = io.BytesIO()  # nothing is written of what cannot be pickled
        write(whole)
        f.write(whole.getbuffer())
    if hasattr(f, "flush"):  # some files act only then
        f.flush()


def _write_torch(
    stream: BinaryIO, obj: Any, module: Any, protocol: int, stem: str, is_zip: bool
) -> None:
    from nnkit import torch_checkpoint, torch_pickle

    def dump(value: Any, file: BinaryIO, persistent: Callable[[Any], Any]) -> None:
        torch_pickle.dump(value, file, persistent, module, protocol)

    if is_zip:
        torch_checkpoint.write(stream, obj, dump, stem)
    else:
        torch_checkpoint.write_legacy(stream, obj, dump)


def _write(stream: BinaryIO, arrays: dict[str, Any], note: str) -> None:
    files.write_safetensors(stream, arrays, {"format": "pt", _NOTE: note})


def _write_npz(stream: BinaryIO, arrays: dict[str, Any], note: str) -> None:
    arrays[_NOTE] = files.array_of(bytearray(note.encode()), DTYPES["uint8"].array)
    files.write_npz(stream, arrays)


def load(
    f: Path | BinaryIO,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    max_bytes: int | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read a file of `save`, ``torch.save``, safetensors or NumPy.

    Args:
        f: a path, or a binary file.
        map_location: the device of the tensors; a dictionary from devices as the file names them
            to others; or a function of a storage and such a name, which returns a storage or None.
            Without it, and where it returns None, they are on the CPU.
        pickle_module: with ``weights_only=False``, another module with an ``Unpickler``.
        weights_only: read data alone, the default. **With False the file is executed**: the pickle
            in a file of ``torch.save`` may run any code, so use it only for files that you trust.
            In the environment, ``TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1`` makes False the default, and
            ``TORCH_FORCE_WEIGHTS_ONLY_LOAD=1`` True the only choice.
        mmap: map a file of ``torch.save`` (a path) to memory instead of reading it: its tensors
            are read when they are used, and values written to them stay in memory.
        max_bytes: refuse a file whose contents are larger. Without it they are at most as large
            as the file, except in a compressed npz (at most a thousand times as large).
        pickle_load_args: ``encoding``, of strings that Python 2 has written ("bytes" leaves them
            as they are); with ``weights_only=False`` further arguments of the ``Unpickler``.

    A file of ``torch.save`` may hold tensors, parameters, numbers, strings and containers, and
    instances of the classes that `add_safe_globals` has allowed. The file may come from anybody:
    see SECURITY.md for what is promised. With ``weights_only=False`` it may hold anything; modules,
    optimizers and the like become those of nnkit.

    Raises:
        ValueError: the file is damaged, too large or of no known format, or ``mmap`` is given
            and ``f`` is no path.
        UnpicklingError: a file of ``torch.save`` needs a class, function or action not allowed.
        RuntimeError: ``pickle_module`` is given with ``weights_only=True``.
        OSError: it cannot be opened or read.
    """
    weights_only = _reads_data_alone(weights_only, pickle_module)
    if weights_only and pickle_module is not None:
        raise RuntimeError(
            "Can not safely load weights when explicit pickle_module is specified: load() got "
            "weights_only=True and a pickle_module"
        )
    if mmap and not isinstance(f, (str, os.PathLike)):
        raise ValueError("f must be a file path in order to use the mmap argument")
    make = partial(_placed, map_location)
    if not callable(map_location) and not isinstance(map_location, dict) and map_location:
        _ = located(map_location).backend  # a missing device is no error of the file
    options = {"encoding": "utf-8", **pickle_load_args}
    if weights_only:
        unpickle = partial(_read_data, encoding=options["encoding"])
    else:
        from nnkit import torch_pickle

        unpickle = partial(torch_pickle.load, module=pickle_module or pickle, options=options)

    def read(stream: BinaryIO) -> Any:
        arguments = (stream, make, unpickle, max_bytes, f if mmap else None)
        # A file that is executed may raise anything.
        return _load(*arguments) if weights_only else _read(*arguments)

    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as stream:
            return read(stream)
    return read(_sought(f))


def _reads_data_alone(weights_only: bool | None, pickle_module: Any) -> bool:
    """What a call says of this, or the environment in torch's two variables."""
    alone, anything = (
        os.environ.get(name, "0").lower() in ("1", "y", "yes", "true")
        for name in ("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    )
    if alone and anything:
        raise RuntimeError(
            "Only one of TORCH_FORCE_WEIGHTS_ONLY_LOAD and TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD "
            "should be set, but both were set"
        )
    if alone or weights_only is not None:
        return alone or bool(weights_only)
    if anything:
        warnings.warn(
            "load(): the file is executed, since TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD is set and the "
            "call does not say weights_only",
            stacklevel=3,
        )
        return False
    return pickle_module is None


def _sought(f: BinaryIO) -> BinaryIO:
    """The file, if it is seekable, else its contents in memory."""
    if not hasattr(f, "seekable"):
        for method in ("seek", "tell"):
            if not hasattr(f, method):
                raise AttributeError(
                    f"{type(f).__name__} has no attribute '{method}'. You can only torch.load from "
                    "a file that is seekable. Please pre-load the data into a buffer like "
                    "io.BytesIO and try to load from it instead."
                )
    elif f.seekable():
        return f
    return io.BytesIO(f.read())


def _placed(map_location: Any, array: Any, location: str = "cpu") -> Tensor:
    """The tensor of an array that was on the device ``location``."""
    made = wrap(array)
    if map_location is None:
        found: Any = restored(UntypedStorage._of(made), location)
        return made if found is None else found._elements.view(made.dtype)
    if isinstance(map_location, dict):
        map_location = map_location.get(location)
    elif callable(map_location) and not isinstance(map_location, device):
        found = map_location(UntypedStorage._of(made), location)
        return made if found is None else found._elements.view(made.dtype)
    return made if map_location is None else made.to(located(map_location))


def _read_data(stream: io.BytesIO, persistent: Callable[[Any], Any], encoding: str) -> Any:
    from nnkit.pickle_reader import PickleReader
    from nnkit.torch_rebuild import PLAIN

    return PickleReader(PLAIN, persistent, _allowed(), encoding).read(stream)


def _allowed() -> dict[str, Any]:
    """The allowed classes and functions, by the names that files have for them."""
    from nnkit.torch_pickle import name_of

    allowed = {}
    for value in get_safe_globals():
        value, name = value if isinstance(value, tuple) else (value, None)
        found = name_of(value) or (value.__module__, value.__qualname__)
        allowed[name or ".".join(found)] = value
        if name is None and found[0] == "builtins":
            allowed[f"__builtin__.{found[1]}"] = value
    return allowed


def _load(stream: BinaryIO, *arguments: Any) -> Any:
    """The contents of a stream; errors in its bytes become UnpicklingError or ValueError."""
    name = getattr(stream, "name", "the stream")
    try:
        return _read(stream, *arguments)
    except pickle.UnpicklingError as error:
        raise pickle.UnpicklingError(
            f"Weights only load failed. load: {name}: {str(error)[:_LONGEST_REASON]}"
        ) from None
    except MemoryError:
        raise
    except Exception as error:
        # EINVAL comes from a seek to a position that the file gives wrongly.
        if isinstance(error, OSError) and error.errno != errno.EINVAL:
            raise
        reason = str(error)[:_LONGEST_REASON]
        if not isinstance(error, ValueError):
            reason = f"damaged, {type(error).__name__}: {reason}"
        raise ValueError(f"load: {name}: {reason}") from error


def _read(
    stream: BinaryIO,
    make: Callable[..., Tensor],
    unpickle: Callable[..., Any],
    max_bytes: int | None,
    path: Any,
) -> Any:
    begin = stream.tell()
    start = stream.read(_LONGEST_MARK)
    stream.seek(begin)
    # A safetensors file begins with a length, which may be any other format's mark, and a "{".
    if start[8:9] == b"{":
        arrays, metadata = files.read_safetensors(stream, max_bytes)
        return _restore(arrays, metadata.get(_NOTE), make)
    if start[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        from nnkit import torch_checkpoint

        with files.open_zip(stream, max_bytes) as archive:
            name = torch_checkpoint.pickle_name(archive)
            if name is not None:
                return torch_checkpoint.read(archive, name, make, unpickle, path)
            arrays = files.read_npz(archive)
        note = arrays.pop(_NOTE, None)
        return _restore(arrays, None if note is None else files.memory_of(note).decode(), make)
    if start[:1] == b"\x80":
        from nnkit import torch_checkpoint

        if torch_checkpoint.is_legacy(start):
            files.check_size(stream, max_bytes)
            return torch_checkpoint.read_legacy(stream, make, unpickle)
        raise ValueError("a bare pickle is not read, it can run code")
    raise ValueError("it is neither safetensors nor npz nor a file of torch.save")


def _restore(arrays: dict[str, Any], note: str | None, make: Make) -> Any:
    if note is not None:
        return _decode(json.loads(note), arrays, make)
    for name, array in arrays.items():
        if array.dtype not in OF_ARRAY:
            raise ValueError(f"{name!r:.80} has the unknown dtype {array.dtype}")
    return {name: make(array) for name, array in arrays.items()}


_MARKS = {"_is_buffer", "_is_param", "persistent"}  # attributes that mark buffers and parameters


def _encode(value: Any, path: str, arrays: dict[str, Any]) -> Any:
    """A tree as JSON: a plain value is itself, anything else a list ``[tag, content ...]``."""
    if isinstance(value, Tensor):
        if value.layout is not strided:
            raise TypeError(f"save: {path or 'the object'} has layout {value.layout}, no state")
        if type(value) not in (Tensor, Parameter) or value.__dict__.keys() - _MARKS:
            raise TypeError(
                f"save: {path or 'the object'} is a {type(value).__name__} with attributes or of a "
                "class of its own, no state"
            )
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
    check_has_memory("save", value, NotImplementedError)
    array = value.detach().cpu()._array
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
