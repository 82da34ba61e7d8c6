"""Whose code a step runs: seen by the interpreter's profiler, while it is recorded."""

from __future__ import annotations

import gc
import sys
import sysconfig
from collections.abc import Callable
from os.path import basename
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import nnkit
from nnkit.backend.cpu.native import MODULE

OWN = str(Path(nnkit.__file__).parent)
_PATHS = sysconfig.get_paths()
STANDARD = tuple({_PATHS["stdlib"], _PATHS["platstdlib"]})
INSTALLED = tuple({_PATHS["purelib"], _PATHS["platlib"]})
PRINTED = ("<effects>", "<formula ", "<frozen ", "<node ", "<op ", "<program>")
KERNELS = tuple(str(Path(path) / name) for path in INSTALLED for name in ("numpy", "ml_dtypes"))
# Modules of functions in C whose results or effects no replay would have.
UNWATCHED = frozenset("_datetime _io _random _socket _thread nt posix random secrets time".split())
OUTPUT = frozenset(("breakpoint", "exec", "eval", "input", "open", "print"))
# What of nnkit itself changes something that is no array, or tells of it.
REFUSED = {
    ("random.py", name): f"a generator's state is used by {name}()"
    for name in ("manual_seed", "seed", "set_state", "get_state", "clone_state", "jump")
}
REFUSED.update(
    {
        ("dtype.py", "set_default_dtype"): "the default dtype is changed",
    }
)


# The compiled one does not ask about what is settled.
_set_profiler: Callable = sys.setprofile if MODULE is None else MODULE.trace


def _directly(function: Callable, *arguments: Any) -> Any:
    return function(*arguments)


untraced: Callable = _directly if MODULE is None else MODULE.untraced  # calls what needs no look


def whose(filename: str) -> str:
    """``"own"`` for nnkit's files, ``"standard"`` for Python's, else ``"user"``."""
    if filename.startswith(OWN) or filename.startswith(PRINTED):
        return "own"
    if filename.startswith(INSTALLED):
        return "standard" if filename.startswith(KERNELS) else "user"
    return "standard" if filename.startswith(STANDARD) else "user"


class Trace:
    """The code of the user's that runs within a ``with`` block.

    The garbage collector waits until its end: what it calls, whenever it happens to run, is not
    part of the block.

    Attributes:
        ran: its code objects.
    """

    def __init__(self, refuse: Callable[..., None]) -> None:
        self.refuse = refuse
        self.ran: set[CodeType] = set()
        self.kinds: dict[str, str] = {}
        self.previous: Any = None
        self.collects = False
        self.paused = False

    def __enter__(self) -> Trace:
        self.collects = gc.isenabled()
        gc.disable()
        self.previous = sys.getprofile()
        _set_profiler(self._look)
        return self

    def __exit__(self, *error: Any) -> None:
        sys.setprofile(self.previous)
        if self.collects:
            gc.enable()

    def _kind(self, filename: str) -> str:
        found = self.kinds.get(filename)
        if found is None:
            # What is compiled from a string is printed by nnkit, or else the user's.
            found = self.kinds[filename] = whose(filename)
        return found

    def _look(self, frame: FrameType, event: str, argument: Any) -> bool:
        """Look at an event; whether no such event in the same code ever needs a look."""
        code = frame.f_code
        if self.paused or event not in ("call", "c_call") or code.co_name == "<module>":
            return False  # what runs at import, or is printed by nnkit
        kind = self._kind(code.co_filename)
        if event == "c_call":
            if kind == "user" or (kind == "standard" and self._is_users(frame)):
                self._look_at_c(frame, argument, kind)
            return kind == "own"
        if kind == "user":
            if code not in self.ran and not _is_importing(frame):
                self.ran.add(code)
            return False
        name = basename(code.co_filename), code.co_name
        if kind == "own" and name in REFUSED and "backend" in code.co_filename:
            self.refuse(REFUSED[name])
            return False
        return True

    def _is_users(self, frame: FrameType | None) -> bool:
        """Whether Python's library was called by the user's code, and not in an import."""
        while frame is not None:
            filename = frame.f_code.co_filename
            if filename.startswith("<frozen importlib"):
                return False
            kind = self._kind(filename)
            if kind != "standard":
                return kind == "user"
            frame = frame.f_back
        return False

    def _look_at_c(self, frame: FrameType, function: Any, kind: str) -> None:
        owner = getattr(function, "__self__", None)
        module = getattr(function, "__module__", None) or type(owner).__module__
        name = getattr(function, "__name__", "?")
        told = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        if module in UNWATCHED and (module, name) not in HARMLESS:
            self.refuse(f"{module.strip('_')}.{name}() is called", told)
        elif kind == "user" and module == "builtins" and name in OUTPUT:
            self.refuse(f"{name}() is called", told)


def _is_importing(frame: FrameType | None) -> bool:
    """Whether a frame belongs to the import of a module, which happens once."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


HARMLESS = frozenset(
    ("_thread", name) for name in ("get_ident", "allocate_lock", "RLock", "_is_owned", "lock")
) | frozenset((("posix", "fspath"), ("_thread", "acquire"), ("_thread", "release")))
