"""Pickles read as data: an interpreter that knows the opcodes that build values, and no others.

A pickle is a program. ``pickle.Unpickler`` can restrict the names that a program looks up, but not
what it does with the objects: one opcode sets any attribute of any object in reach. Here containers
are changed only if the program itself has made them, and only listed functions are called.
"""

from __future__ import annotations

import pickle
import pickletools
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from io import BytesIO
from types import MappingProxyType
from typing import Any

from nnkit.autograd import Tensor
from nnkit.backend.device import device
from nnkit.backend.dtype import dtype

__all__ = ["Function", "PickleReader"]

# Opcodes that push the value in the file on the stack.
_LITERALS = frozenset((
    "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT",
    "UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8",
    "SHORT_BINBYTES", "BINBYTES", "BINBYTES8", "BYTEARRAY8",
))  # fmt: skip
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_CONTAINERS: dict[str, Callable[[], Any]] = {
    "EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_SET": set,
}  # fmt: skip
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_NOTHING = frozenset(("PROTO", "FRAME"))

_SIZED = (str, bytes, bytearray, tuple, list, dict, set)
_DICTS = (dict, OrderedDict, Counter)
_KEYS = (str, int, float, bool, type(None), bytes, complex, dtype, device, Tensor)
_LONGEST_KEY = 16  # elements of a tuple, or bytes of an integer


class Function:
    """A function that a pickle may call; for the pickle itself an opaque value."""

    __slots__ = ("_call", "_name")

    def __init__(self, name: str, call: Callable[..., Any]) -> None:
        self._name = name
        self._call = call

    def __call__(self, *arguments: Any) -> Any:
        return self._call(*arguments)

    def __repr__(self) -> str:
        return f"<{self._name}>"


class PickleReader:
    """A reader of pickles that builds only plain values, containers and the ``known`` names.

    Args:
        known: the values that a pickle may refer to, by full name, among them each `Function` that
            it may call with a tuple of arguments.
        persistent: from a persistent id to the object it stands for.
        allowed: by full name, classes and functions of the program that it may call too; it may
            fill instances of these very classes with items and attributes.
        encoding: of the strings of Python 2; "bytes" leaves them as they are.

    Time and memory are proportional to the length of the pickle: no size in it decides how much is
    allocated, and functions may copy only in proportion to its length.
    """

    def __init__(
        self,
        known: Mapping[str, Any],
        persistent: Callable[[Any], Any],
        allowed: Mapping[str, Any] = MappingProxyType({}),
        encoding: str = "utf-8",
    ) -> None:
        self._known = {**allowed, **known}
        self._persistent = persistent
        self._allowed = list(allowed.values())
        self._encoding = encoding

    def read(self, stream: BytesIO) -> Any:
        """The value of the pickle that begins at the stream's position, which moves to its end.

        Raises:
            UnpicklingError: the pickle uses an operation or name that data do not need.
            ValueError: it is damaged.
        """
        self._stack: list[Any] = []
        self._marked: list[list[Any]] = []  # the stacks below the marks
        self._memo: dict[int, Any] = {}
        self._left_to_copy = 2 * stream.getbuffer().nbytes
        name, position = "the beginning", 0
        try:
            for opcode, argument, at in pickletools.genops(stream):
                name, position = opcode.name, at
                if name == "STOP":
                    break
                self._do(name, argument)
            return self._stack.pop()
        except pickle.UnpicklingError as error:
            raise pickle.UnpicklingError(f"{error} ({name} at byte {position})") from None
        except (MemoryError, OSError):  # of the machine
            raise
        except Exception as error:
            reason = str(error) or type(error).__name__
            raise ValueError(f"damaged pickle: {reason} ({name} at byte {position})") from error

    def _do(self, name: str, argument: Any) -> None:
        stack = self._stack
        if name in _LITERALS:
            stack.append(argument)
        elif name == "SHORT_BINSTRING":  # of Python 2, whose strings are bytes
            content = argument.encode("latin-1")
            stack.append(content if self._encoding == "bytes" else content.decode(self._encoding))
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name in _CONTAINERS:
            stack.append(_CONTAINERS[name]())
        elif name in _TUPLES:
            length = _TUPLES[name]
            stack[-length:] = [self._tuple(stack[-length:], length)]
        elif name not in _NOTHING:
            action = _ACTIONS.get(name)
            if action is None:
                raise pickle.UnpicklingError("the opcode is not one of plain data")
            action(self, argument)

    @staticmethod
    def _tuple(items: list[Any], length: int) -> tuple[Any, ...]:
        if len(items) < length:
            raise ValueError("the stack is empty")
        return tuple(items)

    # The stack and the memo

    def _mark(self, argument: Any) -> None:
        self._marked.append(self._stack)
        self._stack = []

    def _behind_mark(self) -> list[Any]:
        items = self._stack
        self._stack = self._marked.pop()
        return items

    def _pop(self, argument: Any) -> None:
        if self._stack:
            self._stack.pop()
        else:
            self._behind_mark()

    def _pop_mark(self, argument: Any) -> None:
        self._behind_mark()

    def _duplicate(self, argument: Any) -> None:
        self._stack.append(self._stack[-1])

    def _put(self, key: int) -> None:
        self._memo[key] = self._stack[-1]

    def _memoize(self, argument: Any) -> None:
        self._memo[len(self._memo)] = self._stack[-1]

    def _get(self, key: int) -> None:
        if key not in self._memo:
            raise ValueError(f"nothing was kept under {key}")
        self._stack.append(self._memo[key])

    # Containers

    def _make_tuple(self, argument: Any) -> None:
        items = self._behind_mark()
        self._stack.append(tuple(items))

    def _append(self, argument: Any) -> None:
        item = self._stack.pop()
        self._container(list).append(item)

    def _extend(self, argument: Any) -> None:
        items = self._behind_mark()
        self._container(list).extend(items)

    def _set_item(self, argument: Any) -> None:
        value, key = self._stack.pop(), self._stack.pop()
        self._container(*_DICTS)[self._key(key)] = value

    def _set_items(self, argument: Any) -> None:
        items = self._behind_mark()
        target = self._container(*_DICTS)
        for key, value in zip(items[::2], items[1::2], strict=True):
            target[self._key(key)] = value

    def _add_items(self, argument: Any) -> None:
        items = self._behind_mark()
        self._container(set).update(map(self._key, items))

    def _key(self, key: Any) -> Any:
        return key if self._is_allowed(type(key)) else checked_key(key)

    def _container(self, *kinds: type) -> Any:
        target = self._stack[-1]
        if type(target) not in kinds and not self._is_allowed(type(target)):
            raise pickle.UnpicklingError(f"items cannot be put into a {type(target).__name__}")
        return target

    def _build(self, argument: Any) -> None:
        """Set attributes of an OrderedDict, such as the ``_metadata`` of a ``state_dict``."""
        state, target = self._stack.pop(), self._stack[-1]
        if self._is_allowed(type(target)):
            set_state(target, state)
            return
        if type(target) is not OrderedDict or type(state) is not dict:
            raise pickle.UnpicklingError(f"a {type(target).__name__} is given no attributes")
        for name in state:
            if not isinstance(name, str) or hasattr(OrderedDict, name):
                raise pickle.UnpicklingError(f"an OrderedDict is given no attribute {name!r:.80}")
        self._copy(state)
        vars(target).update(state)

    # Names and calls

    def _global(self, names: str) -> None:
        self._stack.append(self._find(*names.split(" ", 1)))

    def _stack_global(self, argument: Any) -> None:
        name, module = self._stack.pop(), self._stack.pop()
        self._stack.append(self._find(module, name))

    def _find(self, module: Any, name: Any) -> Any:
        known = self._known.get(f"{module}.{name}")
        if known is None:
            raise pickle.UnpicklingError(
                f"the file refers to {module:.80}.{name:.80}, only tensors, numbers, strings and "
                "containers are read (serialization.add_safe_globals allows more, "
                "weights_only=False everything)"
            )
        return known

    def _reduce(self, argument: Any) -> None:
        arguments, function = self._stack.pop(), self._stack.pop()
        is_known = type(function) is Function or self._is_allowed(function)
        if not is_known or type(arguments) is not tuple:
            raise pickle.UnpicklingError(f"a {type(function).__name__} cannot be called")
        self._copy(*arguments)
        self._stack.append(function(*arguments))

    def _new(self, argument: Any) -> None:
        arguments, kind = self._stack.pop(), self._stack.pop()
        if not (isinstance(kind, type) and self._is_allowed(kind)) or type(arguments) is not tuple:
            raise pickle.UnpicklingError(f"no instance of a {type(kind).__name__} is made")
        self._copy(*arguments)
        self._stack.append(kind.__new__(kind, *arguments))

    def _is_allowed(self, value: Any) -> bool:
        return any(value is allowed for allowed in self._allowed)

    def _copy(self, *values: Any) -> None:
        """Count values that are copied: few bytes of a pickle can copy a memoized value often."""
        self._left_to_copy -= sum(len(v) for v in values if isinstance(v, _SIZED))
        if self._left_to_copy < 0:
            raise pickle.UnpicklingError("it copies more than it contains")

    def _persistent_id(self, argument: Any) -> None:
        self._stack.append(self._persistent(self._stack.pop()))


def global_names(content: bytes) -> set[str]:
    """The classes and functions that a pickle refers to, found without running it.

    Raises:
        UnpicklingError: it computes their names when it runs, or takes them from a registry.
    """
    found = set()
    for operation, argument, _ in pickletools.genops(content):
        if operation.name in ("STACK_GLOBAL", "INST") or operation.name.startswith("EXT"):
            raise pickle.UnpicklingError(f"the names of {operation.name} are not known beforehand")
        if operation.name == "GLOBAL":
            found.add(str(argument).replace(" ", "."))
    return found


def set_state(target: Any, state: Any) -> None:
    """Restore the state that an object was pickled with, as `pickle` does."""
    if hasattr(target, "__setstate__"):
        target.__setstate__(state)
        return
    attributes, slots = state if type(state) is tuple and len(state) == 2 else (state, None)
    vars(target).update(attributes or {})
    for name, value in (slots or {}).items():
        setattr(target, name, value)


def checked_key(key: Any) -> Any:
    """A key of a dictionary or a set whose hash takes a bounded time.

    Raises:
        UnpicklingError: it is of another type, or a long or nested tuple.
    """
    parts = key if isinstance(key, tuple) else (key,)
    if len(parts) > _LONGEST_KEY or not all(isinstance(part, _KEYS) for part in parts):
        raise pickle.UnpicklingError(f"a {type(key).__name__} like this one cannot be a key")
    if any(isinstance(part, int) and part.bit_length() > 8 * _LONGEST_KEY for part in parts):
        raise pickle.UnpicklingError("an integer as long as this one cannot be a key")
    return key


_ACTIONS: dict[str, Callable[[PickleReader, Any], None]] = {
    "MARK": PickleReader._mark,
    "POP": PickleReader._pop,
    "POP_MARK": PickleReader._pop_mark,
    "DUP": PickleReader._duplicate,
    "PUT": PickleReader._put,
    "BINPUT": PickleReader._put,
    "LONG_BINPUT": PickleReader._put,
    "MEMOIZE": PickleReader._memoize,
    "GET": PickleReader._get,
    "BINGET": PickleReader._get,
    "LONG_BINGET": PickleReader._get,
    "TUPLE": PickleReader._make_tuple,
    "APPEND": PickleReader._append,
    "APPENDS": PickleReader._extend,
    "SETITEM": PickleReader._set_item,
    "SETITEMS": PickleReader._set_items,
    "ADDITEMS": PickleReader._add_items,
    "BUILD": PickleReader._build,
    "GLOBAL": PickleReader._global,
    "STACK_GLOBAL": PickleReader._stack_global,
    "REDUCE": PickleReader._reduce,
    "NEWOBJ": PickleReader._new,
    "BINPERSID": PickleReader._persistent_id,
}
