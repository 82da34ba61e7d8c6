"""The state that a function depends on besides its arguments, and whether it has changed.

All values that the code can reach are visited: closures, the globals that it names, attributes of
objects, modules and their contents. For each, the place where it was found and its value are noted;
every replay compares all of them. Objects that can change unnoticed are refused.
"""

from __future__ import annotations

import datetime
import dis
import operator
from collections import deque
from collections.abc import Iterable
from functools import cache, cached_property, partial
from numbers import Number
from re import Pattern
from threading import Lock, RLock
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GeneratorType,
    GenericAlias,
    MappingProxyType,
    MethodType,
    ModuleType,
)
from typing import Any
from weakref import ReferenceType

from nnkit.amp.grad_scaler import GradScaler
from nnkit.autograd.tensor import Tensor
from nnkit.backend.cost import is_array
from nnkit.compiler.checks import (
    MISSING,
    PLAIN,
    Look,
    absence,
    attribute,
    equality,
    item,
    length,
    now,
    of_class,
    optional_attribute,
    optional_item,
    outcome,
    same,
    sequence,
    truth,
)
from nnkit.compiler.tensors import State, state_of
from nnkit.compiler.tracing import whose
from nnkit.nn.modules import module_hooks
from nnkit.nn.modules.module import Module
from nnkit.optim.lr_scheduler import LRScheduler
from nnkit.optim.optimizer import Optimizer

LIMIT = 20_000  # the largest number of values that is watched for one function
# Names whose use means that any attribute may be read.
BY_NAME = frozenset(("getattr", "vars", "__dict__", "hasattr"))
# Names of things that change without a trace in the values that a function can reach.
UNSEEN = frozenset(("_version", "environ", "getcwd", "getenv", "get_num_threads", "initial_seed"))
# Classes written in C whose objects cannot change, or whose contents do not matter.
CONSTANT = (
    *(Number, Pattern, slice, property, GenericAlias, type(Lock()), type(RLock())),
    *(datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo),
    *(operator.itemgetter, operator.attrgetter, operator.methodcaller),
    type(State.data),  # a field of a named tuple
)
# The attributes that code may read of objects whose steps are called, not recorded.
READ = {
    LRScheduler: {"get_last_lr", "get_lr", "last_epoch", "base_lrs", "_last_lr", "_step_count"},
    GradScaler: {"get_scale", "get_growth_factor", "_scale", "_growth_tracker"},
}
CONSTANTS_OF = ("numpy", "ml_dtypes", "types")  # modules: scalars, descriptions of types


class Watch:
    """The values that a function can reach, and where each was found.

    Attributes:
        tensors: the Tensors among them, by id.
        refusal: why something cannot be watched; None if everything can.
    """

    def __init__(self, ran: Iterable[CodeType], entry: dict[int, State], gradients: bool) -> None:
        self.ran = set(ran)
        self.entry = entry
        names = {n for code in self.ran for n in code.co_names}
        self.names = None if BY_NAME & names else names
        self.numbers_of_groups = "param_groups" in names
        self.gradients = gradients or "grad" in names  # whether existing gradients matter
        self.tensors: dict[int, Tensor] = {}
        self.refusal: str | None = None
        unseen = sorted(UNSEEN & names)
        if unseen:
            self.refuse(f"{unseen[0]} is read, which may change unseen")
        self.seen: dict[int, Any] = {}
        self.reached: set[CodeType] = set()
        self.checks: list[tuple] = []  # the arguments of `all_hold`

    def refuse(self, reason: str) -> None:
        if self.refusal is None:
            self.refusal = reason

    # Walking

    def visit(self, value: Any, path: str) -> None:
        """Watch a value and everything that can be reached from it."""
        kind = type(value)
        if kind in PLAIN or id(value) in self.seen:
            return
        if len(self.seen) > LIMIT:
            return self.refuse(f"it can reach more than {LIMIT} values, by {path}")
        self.seen[id(value)] = value
        if isinstance(value, Tensor):
            self._tensor(value, path)
        elif isinstance(value, FunctionType):
            self._function(value, path)
        elif isinstance(value, MethodType):
            self.visit(value.__func__, path)
            self.visit(value.__self__, path)
        elif isinstance(value, partial):
            self.visit(value.func, path)
            self._items(value.args, path)
            self._entries(value.keywords, path)
        elif isinstance(value, Module):
            self._module(value, path)
        elif isinstance(value, Optimizer):
            self._optimizer(value, path)
        elif isinstance(value, type):
            self._class(value, path)
        elif isinstance(value, ModuleType):
            self._library(value, path)
        elif isinstance(value, (tuple, list, deque)):
            self._items(value, path)
        elif isinstance(value, (dict, MappingProxyType)):
            self._keys(value, path)
            self._entries(value, path)
        elif isinstance(value, (set, frozenset)):
            self._check(equality, frozenset(value), value, True, path)
            self._items(tuple(value), path)
        elif isinstance(value, ReferenceType):
            self._found(outcome, None, value, value(), f"what {path} refers to")
        elif isinstance(value, GeneratorType) or hasattr(kind, "__next__"):
            self.refuse(f"{path} is an iterator, which goes on by itself")
        elif is_array(value):
            self.refuse(f"{path} is an array from outside of nnkit, which may be written")
        elif kind.__module__.startswith(("numpy.random", "random")):
            self.refuse(f"{path} draws random numbers, which is not seen")
        elif not isinstance(value, BuiltinFunctionType):
            self._object(value, path)

    def _check(self, look: Look, key: Any, place: Any, found: Any, path: str) -> None:
        self.checks.append((look, key, place, found, path))

    def _found(self, look: Look, key: Any, place: Any, found: Any, path: str) -> None:
        self._check(look, key, place, found, path)
        self.visit(found, path)

    def _tensor(self, t: Any, path: str) -> None:
        self.tensors[id(t)] = t
        state = self.entry.get(id(t)) or state_of(t)
        self._check(attribute, "_array", t, state.data, path)
        self._check(attribute, "_requires_grad", t, state.requires_grad, f"{path}.requires_grad")
        if state.requires_grad and self.gradients:
            self._check(absence, "_grad", t, state.grad is None, f"whether {path}.grad is None")
        self._check(attribute, "_hooks", t, state.hooks, f"hooks of {path}")
        if t._hooks is not None:
            self.refuse(f"{path} has hooks")
        self._attributes(t, t.__dict__, path)

    def _function(self, f: FunctionType, path: str) -> None:
        code = f.__code__
        if whose(code.co_filename) != "user":
            return self._wrapped(f, path)
        if code not in self.ran:
            return
        self._check(attribute, "__code__", f, code, path)
        self._codes(code)
        for name, cell in zip(code.co_freevars, f.__closure__ or ()):
            try:
                self._found(attribute, "cell_contents", cell, cell.cell_contents, name)
            except ValueError:  # still empty
                self.refuse(f"{name} is not set yet")
        for name in sorted({n for each in _nested(code) for n in _globals_of(each)}):
            if name in f.__globals__:
                self._found(item, name, f.__globals__, f.__globals__[name], name)
        self._check(attribute, "__defaults__", f, f.__defaults__, path)
        if f.__defaults__:
            self._items(f.__defaults__, f"a default of {path}")
        if f.__kwdefaults__:
            self._entries(f.__kwdefaults__, f"a default of {path}")

    def _wrapped(self, f: FunctionType, path: str) -> None:
        """Watch the user's functions that a library's function, such as a decorator, holds."""
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or ()):
            try:
                content = cell.cell_contents
            except ValueError:
                continue
            if isinstance(content, (FunctionType, MethodType, partial, Module, Tensor)):
                self._found(attribute, "cell_contents", cell, content, f"{name} in {path}")

    def _codes(self, code: CodeType) -> None:
        self.reached.update(_nested(code))

    def _items(self, values: Any, path: str) -> None:
        if not isinstance(values, tuple):
            self._check(length, None, values, len(values), f"the length of {path}")
        for i, value in enumerate(values):
            if isinstance(values, tuple):
                self.visit(value, f"{path}[{i}]")
            else:
                self._found(item, i, values, value, f"{path}[{i}]")

    def _entries(self, values: Any, path: str) -> None:
        self._check(length, None, values, len(values), f"the length of {path}")
        makes = getattr(type(values), "__missing__", None) is not None  # reading could add a key
        look = optional_item if makes else item
        for key, value in list(values.items()):
            self._found(look, key, values, value, f"{path}[{key!r}]")

    def _keys(self, values: Any, path: str) -> None:
        """Watch the order of the keys, since the code may iterate over them."""
        keys = tuple(values)
        if len(keys) > 1 and all(type(key) in PLAIN for key in keys):
            self._check(sequence, keys, values, True, f"the keys of {path}")

    def _module(self, m: Module, path: str) -> None:
        for name in ("pre_hooks", "hooks", "backward_pre_hooks", "backward_hooks"):
            kind = "" if name.startswith("backward") else "forward_"
            hooks = getattr(module_hooks, f"_global_{kind}{name}")
            if id(hooks) not in self.seen:
                self.seen[id(hooks)] = hooks
                self._entries(hooks, "the hooks of all modules")
        content = m.__dict__
        self._check(attribute, "__class__", m, type(m), path)
        self._check(length, None, content, len(content), f"the attributes of {path}")
        for name, value in list(content.items()):
            inside = f"{path}.{name}"
            if name in ("_compiled_call_impl", "_non_persistent_buffers_set"):
                continue
            self._check(item, name, content, value, inside)
            if name in ("_parameters", "_buffers", "_modules"):
                self.seen[id(value)] = value
                self._entries(value, path)
            elif not (self._is_own(type(m)) and isinstance(value, type)):
                self.visit(value, inside)
        self._methods(type(m), path)

    def _is_own(self, kind: type) -> bool:
        return kind.__module__.startswith("nnkit.")

    def _optimizer(self, o: Optimizer, path: str) -> None:
        """Watch what ``zero_grad`` of an optimizer reads; its step is called in each replay."""
        groups = o.param_groups
        if self.names is None or "defaults" in self.names:
            self._entries(o.defaults, f"{path}.defaults")
        self._check(attribute, "param_groups", o, groups, path)
        self._check(length, None, groups, len(groups), f"the groups of {path}")
        for i, group in enumerate(groups):
            inside = f"{path}.param_groups[{i}]"
            self.seen[id(group)] = group
            if self.numbers_of_groups:
                self._entries(group, inside)
            else:
                self._found(item, "params", group, group["params"], f"{inside}['params']")
                self._flags(group, inside)
        if o.is_inline:
            for hooks in o.step_hooks:
                self._check(length, None, hooks, 0, f"hooks of steps of {path}")
            self._check(attribute, "state", o, o.state, f"{path}.state")
            for p, entries in o.state.items():
                name = f"the state of {path}"
                self._found(optional_item, p, o.state, entries, name)

    def _flags(self, group: dict, path: str) -> None:
        """Watch whether the numbers of a group are zero; their values are read in each replay."""
        for name, value in group.items():
            inside = f"{path}[{name!r}]"
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                self._check(truth, name, group, bool(value), f"whether {inside} is 0")
            elif value is None or isinstance(value, (bool, str)):
                self._check(item, name, group, value, inside)

    def _class(self, kind: type, path: str) -> None:
        if kind.__module__ != "builtins":
            self._methods(kind, path)

    def _methods(self, kind: type, path: str) -> None:
        for each in kind.__mro__:
            if each.__module__ == "builtins":
                continue
            own = self._is_own(each)
            for name, value in list(each.__dict__.items()):
                if own and getattr(value, "__code__", None) not in self.ran:
                    continue  # the user's code is in nnkit's classes only in those of traced graphs
                inside = f"{path}.{name}"
                if isinstance(value, (staticmethod, classmethod)):
                    value = value.__func__
                elif isinstance(value, property):
                    value = value.fget
                elif isinstance(value, cached_property):
                    value = value.func
                if isinstance(value, FunctionType):
                    if value.__code__ in self.ran:
                        found = each.__dict__[name]
                        self._check(of_class, name, each, found, inside)
                    self.visit(value, inside)
                elif not name.startswith("__") and (self.names is None or name in self.names):
                    self._found(of_class, name, each, value, inside)

    def _library(self, library: ModuleType, path: str) -> None:
        """Watch the names of a module that the code uses."""
        if library.__name__ == "numpy.random" or (
            library.__name__ == "numpy" and (self.names is None or "random" in self.names)
        ):
            return self.refuse(f"{path} draws random numbers, which is not seen")
        own = whose(getattr(library, "__file__", None) or "<frozen >") == "user"
        content = vars(library)
        for name in sorted((self.names or set()) & content.keys()):
            inside, value = f"{path}.{name}", content[name]
            self._check(item, name, content, value, inside)
            if own or isinstance(value, (FunctionType, ModuleType)):
                self.visit(value, inside)

    def _object(self, value: Any, path: str) -> None:
        kind = type(value)
        content = getattr(value, "__dict__", None)
        if self._is_own(kind):
            if isinstance(content, dict) and "__wrapped__" in content:
                self.visit(content["__wrapped__"], path)  # a compiled function
            for owner, asked in READ.items():
                if isinstance(value, owner) and (self.names is None or asked & self.names):
                    self._entries(value.__dict__, path)
            return
        slots = [k.__dict__["__slots__"] for k in kind.__mro__ if "__slots__" in k.__dict__]
        if isinstance(value, (bytearray, memoryview)) or (content is None and not slots):
            if not isinstance(value, CONSTANT) and kind.__module__ not in CONSTANTS_OF:
                self.refuse(f"{path} is of class {kind.__name__}, which may change unseen")
            return
        if isinstance(content, dict):
            self._attributes(value, content, path)
        for names in slots:
            for name in (names,) if isinstance(names, str) else tuple(names):
                if hasattr(value, name) and not name.startswith("__"):
                    inner = getattr(value, name)
                    self._found(optional_attribute, name, value, inner, f"{path}.{name}")
        self._methods(kind, path)

    def _attributes(self, value: Any, content: dict, path: str) -> None:
        """Watch the attributes of an object that the code names, including those of the class that
        the object may get itself; or all attributes, if the code reads attributes by name."""
        if self.names is None:
            self._check(length, None, content, len(content), f"the attributes of {path}")
        for name, inner in list(content.items()):
            if self.names is None or name in self.names:
                self._found(item, name, content, inner, f"{path}.{name}")
        elsewhere = set() if self._is_own(type(value)) else (self.names or set()) - content.keys()
        for each in type(value).__mro__:
            for name in elsewhere & each.__dict__.keys():
                self._check(optional_item, name, content, MISSING, f"{path}.{name}")

    # Comparing

    def unreached(self) -> CodeType | None:
        """Code that has run but was not found by the visit."""
        return next((code for code in self.ran if code not in self.reached), None)

    def changed(self, tensors: bool = True) -> str | None:
        """The path of the first value that has changed, None if there is none. The contents of
        tensors are compared only if ``tensors``."""
        for check in self.checks:
            _, _, place, found, path = check
            if isinstance(place, Tensor) and not tensors:
                continue
            value = now(check)
            if not (value is found or (type(found) in PLAIN and same(value, found))):
                return path
        return None


def _nested(code: CodeType) -> Iterable[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


@cache
def _globals_of(code: CodeType) -> frozenset[str]:
    """The names of globals that code reads."""
    loads = (i for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME"))
    return frozenset(i.argval for i in loads)
