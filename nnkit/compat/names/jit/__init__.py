"""torch.jit: functions and modules stay what they are, and run in Python."""

from __future__ import annotations

import os
import zipfile
from builtins import isinstance as isinstance_
from typing import Any, TypeVar
from typing import Final as Final

from nnkit import serialization
from nnkit.compat.passing import Inert, false, nothing, say, unchanged
from nnkit.nn import Module

T = TypeVar("T")
_PROGRAM, _EXTRA = "torch.jit.save", "extra_files"
_RUN_AS_THEY_ARE = "functions and modules run as they are written"


def script(obj: Any = None, *args: Any, **kwargs: Any) -> Any:
    """The function, class or module itself."""
    say("torch.jit.script", _RUN_AS_THEY_ARE)
    return unchanged(obj)


def trace(func: Any, *args: Any, **kwargs: Any) -> Any:
    """The function or module itself."""
    say("torch.jit.trace", _RUN_AS_THEY_ARE)
    return func


def trace_module(mod: Any, *args: Any, **kwargs: Any) -> Any:
    """The module itself."""
    return trace(mod)


def annotate(the_type: Any, the_value: T) -> T:
    """The value."""
    return the_value


def freeze(mod: Any, *args: Any, **kwargs: Any) -> Any:
    """The module itself."""
    return mod


def save(m: Any, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
    """Write a module whole, as a pickle that `load` reads here; torch does not.

    Args:
        m: the module; its class has to be one that can be imported.
        f: the path, or a stream.
        _extra_files: texts or bytes by name, which `load` gives back.
    """
    serialization.save({_PROGRAM: m, _EXTRA: dict(_extra_files or {})}, f, format="torch")


def load(
    f: Any,
    map_location: Any = None,
    _extra_files: dict[str, Any] | None = None,
    _restore_shapes: bool = False,
) -> Any:
    """The module that `save` has written. It is a pickle: read no file whose source you distrust.

    Args:
        f: the path, or a stream.
        map_location: as of `nnkit.load`.
        _extra_files: a dictionary whose values become the bytes that were saved by these names.

    Raises:
        ValueError: there is no such file.
        NotImplementedError: it is a program that TorchScript has saved.
        RuntimeError: it is no file of `save`.
    """
    if isinstance_(f, (str, os.PathLike)) and not os.path.exists(f):
        raise ValueError(f"The provided filename {f} does not exist")
    if _is_program(f):
        raise NotImplementedError("torch.jit.load: nnkit has no interpreter of TorchScript")
    try:
        found = serialization.load(f, map_location, weights_only=False)
    except ValueError:
        found = None
    if not isinstance_(found, dict) or _PROGRAM not in found:
        raise RuntimeError(f"torch.jit.load: {f} is no file of torch.jit.save")
    extra = {} if _extra_files is None else _extra_files
    for name in extra:
        content = found[_EXTRA].get(name, b"")
        extra[name] = content.encode() if isinstance_(content, str) else content
    return found[_PROGRAM]


def _is_program(f: Any) -> bool:
    """Whether a file is an archive with code of TorchScript; a stream stays where it is."""
    start = f.tell() if hasattr(f, "tell") else None
    try:
        with zipfile.ZipFile(f) as archive:
            return any(name.endswith("/constants.pkl") for name in archive.namelist())
    except zipfile.BadZipFile:
        return False
    finally:
        if start is not None:
            f.seek(start)


class ScriptModule(Module):
    """A module that TorchScript has compiled, of which there are none."""


class RecursiveScriptModule(ScriptModule):
    """See `ScriptModule`."""


class ScriptFunction:
    """A function that TorchScript has compiled, of which there are none."""


def isinstance(obj: Any, target_type: Any) -> bool:  # torch's name
    """Whether an object is of a class; of ``List[int]`` and the like, of its container."""
    from typing import get_origin

    kinds = target_type if isinstance_(target_type, tuple) else (target_type,)
    return isinstance_(obj, tuple(get_origin(kind) or kind for kind in kinds))


class Error(RuntimeError):
    """An error of TorchScript, which is never raised."""


class TracerWarning(Warning):
    """A warning of a trace, which is never given."""


ignore = unused = export = script_method = script_if_tracing = interface = unchanged
_overload = _overload_method = _script_if_tracing = unchanged
optimize_for_inference = freeze
is_scripting = is_tracing = false
enable_onednn_fusion = set_fusion_strategy = set_module = nothing
optimized_execution = fuser = strict_fusion = Inert
Attribute = annotate
CompilationUnit = Inert
