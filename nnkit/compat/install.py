"""`install`: makes ``import torch`` import nnkit, by a finder of modules."""

from __future__ import annotations

import builtins
import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import inspect
import logging
import multiprocessing
import sys
from collections.abc import Callable, Iterable, Sequence
from types import FunctionType, ModuleType
from typing import Any

import nnkit
from nnkit.autograd.function import Function
from nnkit.autograd.surface import return_types
from nnkit.compat.layout import (
    ROOT,
    answered,
    defined,
    find,
    holder_of,
    homes,
    inside,
    is_own,
    known,
    namesakes,
    packages,
    part,
)
from nnkit.compat.names.torch_version import __version__
from nnkit.nn import init

LOG = logging.getLogger("nnkit.compat")
VERSION = str(__version__)
OLD = "functorch"  # the package that became torch.func, and that torch still includes
_PLAIN = (bool, int, float, str, type(None))  # a module's state, which is read anew each time
_DUNDER = ("__config__", "__future__", "__version__")  # the names of that form
_renamed: list[tuple[Any, str]] = []
_import = builtins.__import__


class TorchModule(ModuleType):
    """A module of torch, which gets each name from nnkit when it is first used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in _DUNDER:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        try:
            value = find(self.__name__, name, vars(self)["__load__"])
        except AttributeError:
            LOG.info("missing: %s.%s", self.__name__, name)
            if not FINDER.lazy:
                raise
            return StandIn(f"{self.__name__}.{name}")
        LOG.info("%s.%s", self.__name__, name)
        at_home(self.__name__, value)
        if not isinstance(value, _PLAIN):
            vars(self)[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        """Write through to nnkit's module, so that a replaced function is used there too."""
        holder = None if name[:2] == "__" else holder_of(self.__name__, name)
        if holder is None:
            super().__setattr__(name, value)
        elif not isinstance(value, ModuleType):
            before = vars(self)["__replaced__"].setdefault(name, getattr(holder, name))
            setattr(holder, name, value)
            if value is before:
                del vars(self)["__replaced__"][name]
            vars(self).pop(name, None)
            if not isinstance(value, _PLAIN):
                vars(self)[name] = value
        else:
            replaced = vars(self)["__replaced__"]
            if name in replaced:
                setattr(holder, name, replaced.pop(name))
            if isinstance(getattr(holder, name), ModuleType):
                super().__setattr__(name, value)  # else a function hides the module, as in torch

    def __delattr__(self, name: str) -> None:
        """Restore the value before the first write, as `unittest.mock` needs it."""
        before = vars(self)["__replaced__"]
        if name in before:
            setattr(self, name, before[name])
        elif name in vars(self) or holder_of(self.__name__, name) is None:
            super().__delattr__(name)  # else the original value has been written back already

    def __reduce__(self) -> tuple:
        return importlib.import_module, (self.__name__,)

    def __dir__(self) -> list[str]:
        places = namesakes(self.__name__)
        names = {
            n for place in places for n in dir(place)
            if n[:2] != "__" and not is_own(vars(place).get(n))
        }  # fmt: skip
        within = {m.rpartition(".")[2] for m in inside().get(self.__name__, ()) if answered(m)}
        return sorted(names | set(vars(self)) | set(_public(self.__name__)) | within)


class StandIn:
    """A stand-in for a name that nnkit lacks, under ``install(lazy=True)``: to use it raises."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError(f"{self.__name__}: nnkit has nothing of that name")

    __call__ = __iter__ = __len__ = __getitem__ = __enter__ = _refuse

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn(f"{self.__name__}.{name}")

    def __mro_entries__(self, bases: tuple) -> tuple:
        return (object,)  # so that a class can be derived from it

    def __repr__(self) -> str:
        return f"<{self.__name__}, which nnkit lacks>"


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The finder of ``torch``, of its modules, and of its metadata for `importlib.metadata`."""

    lazy = False

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] == OLD:
            found = importlib.util.find_spec(f"{__package__}.{name}", __package__)
            return found and importlib.machinery.ModuleSpec(name, self, is_package="." not in name)
        if name != ROOT and not name.startswith(f"{ROOT}."):
            return None
        if not (known(name) and answered(name)):
            LOG.info("missing: %s", name)
            return None
        spec = importlib.machinery.ModuleSpec(name, self, is_package=_holds_modules(name))
        own = namesakes(name)
        spec.origin = own[-1].__file__ if own else nnkit.__file__
        spec.has_location = True
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        if spec.name.partition(".")[0] == OLD:
            return importlib.import_module(f"{__package__}.{spec.name}")
        module = TorchModule(spec.name)
        vars(module).update(__load__=importlib.import_module, __replaced__={})
        return module

    def exec_module(self, module: ModuleType) -> None:
        if not isinstance(module, TorchModule):
            return
        for own in namesakes(module.__name__):
            for value in list(vars(own).values()):
                at_home(module.__name__, value)
        names = _public(module.__name__)
        if names:
            vars(module)["__all__"] = names
        # Some programs search a module's dictionary for classes of a kind.
        for own in reversed(namesakes(module.__name__)):
            held = vars(own)
            vars(module).update((n, held[n]) for n in names if isinstance(held.get(n), type))
        if module.__name__ == ROOT:
            for home in {value.__module__ for value, _ in _renamed}:
                _import_home(home)

    def find_distributions(self, context: Any = None) -> Iterable[importlib.metadata.Distribution]:
        name = getattr(context, "name", None)
        return iter([Metadata()]) if name in (None, ROOT) else iter(())


class Metadata(importlib.metadata.Distribution):
    """The metadata of a package torch for `importlib.metadata`."""

    def read_text(self, filename: str) -> str | None:
        if filename == "METADATA":
            return f"Metadata-Version: 2.1\nName: {ROOT}\nVersion: {VERSION}\n"
        return None

    def locate_file(self, path: Any) -> Any:
        raise FileNotFoundError(path)


FINDER = Finder()


def install(
    *, scope: Iterable[str] | None = None, lazy: bool = False, verbose: bool = False
) -> None:
    """Let ``import torch`` import nnkit from now on.

    Args:
        scope: names of packages to which this is limited; ``import torch`` elsewhere is not
            touched. Imports by `importlib.import_module` are not seen.
        lazy: a name that nnkit lacks is an object that raises when it is used, instead of an
            AttributeError when the name is looked up.
        verbose: log each name that is looked up, by the logger ``nnkit.compat``.

    Raises:
        RuntimeError: the real torch has already been imported.

    Example:
        >>> import nnkit.compat
        >>> nnkit.compat.install()
        >>> import torch
        >>> torch.arange(3).dtype
        torch.int64
        >>> nnkit.compat.uninstall()
    """
    loaded = sys.modules.get(ROOT)
    if loaded is not None and not isinstance(loaded, TorchModule) and scope is None:
        if getattr(loaded, "__version__", None) != VERSION:
            raise RuntimeError("install(): torch itself has already been imported")
    FINDER.lazy = lazy
    LOG.setLevel(logging.INFO if verbose else logging.WARNING)
    if verbose and not LOG.handlers:
        LOG.addHandler(logging.StreamHandler())
    if scope is not None:
        builtins.__import__ = _scoped(frozenset(scope))
        return
    if FINDER not in sys.meta_path:
        sys.meta_path.insert(0, FINDER)
    _shared_with_children()[__name__] = _InChildren(lazy)
    for value in list(vars(nnkit).values()):
        at_home(ROOT, value)
    at_home(f"{ROOT}.autograd.function", Function)  # nodes are named after it
    for value in vars(return_types).values():
        at_home(f"{ROOT}.return_types", value)
    for value in vars(init).values():  # modes recognize an initialization by the module
        at_home(f"{ROOT}.nn.init", value)


def _shared_with_children() -> dict[str, Any]:
    return vars(multiprocessing.current_process())["_config"]


class _InChildren:
    """Lets ``import torch`` import nnkit in processes that this one starts anew, too. They get it
    before the function that they run."""

    def __init__(self, lazy: bool) -> None:
        self.lazy = lazy

    def __reduce__(self) -> tuple:
        return _install_in_child, (self.lazy,)


def _install_in_child(lazy: bool) -> _InChildren:
    with contextlib.suppress(RuntimeError):  # the program has imported torch itself there
        install(lazy=lazy)
    return _InChildren(lazy)


def uninstall() -> None:
    """Undo `install`; modules that have been imported keep what they have."""
    _shared_with_children().pop(__name__, None)
    if FINDER in sys.meta_path:
        sys.meta_path.remove(FINDER)
    builtins.__import__ = _import
    for name, module in list(sys.modules.items()):
        if isinstance(module, TorchModule) or name.partition(".")[0] == OLD:
            del sys.modules[name]
    while _renamed:
        value, module = _renamed.pop()
        value.__module__ = module


def at_home(module: str, value: Any) -> None:
    """Set ``__module__`` of a class or function of nnkit to torch's, for pickles and `repr`."""
    if not isinstance(value, (type, FunctionType)) and not hasattr(type(value), "learn"):
        return
    if (value.__module__ or "").partition(".")[0] != nnkit.__name__:
        return
    own = ROOT + value.__module__.removeprefix(nnkit.__name__).removeprefix(".compat.names")
    places = [homes().get((part(each), value.__name__)) for each in (module, own)]
    if value.__name__ in defined().get(own, ()):  # another module may have the same name
        places.insert(0, own)
    home = next(filter(None, places), None)
    if home is None and part(module) == module:
        home = module
    if home is not None:
        _renamed.append((value, value.__module__))
        # Strings in annotations can only be evaluated in the class's own module.
        if isinstance(value, type) and value.__dict__.get("__annotations__"):
            value.__annotations__ = inspect.get_annotations(value, eval_str=True)
        value.__module__ = home
        if ROOT in sys.modules:
            _import_home(home)


def _import_home(module: str) -> None:
    """Import the module of a class: picklers look for it in ``sys.modules``."""
    if FINDER in sys.meta_path and known(module) and answered(module):
        importlib.import_module(module)


def _holds_modules(name: str) -> bool:
    return name in packages() or any(hasattr(m, "__path__") for m in namesakes(name))


# Modules of torch most of whose names are defined in no file, or in others.
_OPEN = (ROOT, "torch.nn", "torch.nn.functional")


def _public(module: str) -> list[str]:
    """The names of ``from module import *``: those that torch's module defines and nnkit has."""
    listed = {n for own in namesakes(module) for n in getattr(own, "__all__", ())}
    if module in _OPEN:
        for own in namesakes(module):
            if module != ROOT and own.__name__.startswith(f"{__package__}."):
                continue  # it has little, beside what it imports for itself
            listed |= {
                n for n, value in vars(own).items() if n[0] != "_" != n[-1] and _is_of_torch(value)
            }  # fmt: skip
    for name in defined().get(module, ()):
        if name[0] != "_":
            try:
                find(module, name)
            except AttributeError:
                continue
            listed.add(name)
    return sorted(listed)


def _is_of_torch(value: Any) -> bool:
    """Whether a value is a class or function of nnkit, a constant such as a dtype, or a float."""
    of = value if isinstance(value, (type, FunctionType)) else type(value)
    return of is float or str(of.__module__).partition(".")[0] in (ROOT, nnkit.__name__)


def _scoped(scope: frozenset[str]) -> Callable:
    """An ``__import__`` in which torch is nnkit for imports by the packages in ``scope``."""
    modules: dict[str, ModuleType] = {}

    def module_of(name: str) -> ModuleType:
        found = modules.get(name)
        if found is None:
            spec = FINDER.find_spec(name)
            if spec is None:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)
            found = modules[name] = FINDER.create_module(spec)
            vars(found)["__load__"] = module_of
            FINDER.exec_module(found)
        return found

    def scoped(
        name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> Any:
        asking = str((globals or {}).get("__name__", "")).partition(".")[0]
        if level or name.partition(".")[0] != ROOT or asking not in scope:
            return _import(name, globals, locals, fromlist, level)
        return module_of(name if fromlist else ROOT)

    return scoped
