"""Containers of modules: one after the other, a list, a dictionary."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any

from nnkit.nn.modules.module import Module, indent

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["ModuleDict", "ModuleList", "Sequential"]


class _IndexedModules(Module):
    """The base of Sequential and ModuleList: modules "0", "1", ..., reached by position."""

    def _get_abs_string_index(self, index: Any) -> str:
        names = list(self._modules)
        position = operator.index(index)
        if not -len(names) <= position < len(names):
            raise IndexError(f"index {position} is out of range of {len(names)} modules")
        return names[position]

    def _put(self, modules: Iterable[Any]) -> None:
        modules = list(modules)
        self._modules.clear()
        for position, module in enumerate(modules):
            self.add_module(str(position), module)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._get_abs_string_index(index), module)

    def __delitem__(self, index: int | slice) -> None:
        keys = (
            list(self._modules)[index]
            if isinstance(index, slice)
            else [self._get_abs_string_index(index)]
        )
        for key in keys:
            del self._modules[key]
        self._put(self)

    def append(self, module: Module) -> Self:
        """Add a module at the end, under its position as a name.

        Raises:
            TypeError: ``module`` is no Module.
        """
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: int | slice) -> Any:
        """Remove the module at a position, or those of a slice, and return it."""
        popped = self[key]  # pyright: ignore[reportIndexIssue]
        del self[key]
        return popped


class Sequential(_IndexedModules):
    """Modules in a row: the output of each is the input of the next.

    Args:
        args: modules, named by their position, or one ``OrderedDict`` of names and modules.

    Raises:
        TypeError: an argument is no Module.

    Example:
        >>> import nnkit
        >>> nnkit.nn.Sequential(nnkit.nn.Flatten(), nnkit.nn.Identity())
        Sequential(
          (0): Flatten(start_dim=1, end_dim=-1)
          (1): Identity()
        )
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            self._put(args)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._get_abs_string_index(index)]

    def __add__(self, other: Sequential) -> Sequential:
        return Sequential(*chain(self, _sequential(other)))

    def __iadd__(self, other: Sequential) -> Self:
        return self.extend(_sequential(other))

    def __mul__(self, times: int) -> Sequential:
        return Sequential(*_repeat(self, times))

    def __rmul__(self, times: int) -> Sequential:
        return self * times

    def __imul__(self, times: int) -> Self:
        return self.extend(_repeat(self, times)[len(self) :])

    def insert(self, index: int, module: Module) -> Self:
        """Put ``module`` before position ``index``; those behind it are renumbered.

        Raises:
            AssertionError: ``module`` is no Module.
            IndexError: ``index`` is outside of -n..n.
        """
        if not isinstance(module, Module):
            raise AssertionError(f"insert: module must be a Module, got {type(module).__name__}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"insert: index {index} is out of range of {len(self)} modules")
        modules = list(self)
        modules.insert(index, module)
        self._put(modules)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Add several modules at the end."""
        for module in list(sequential):
            self.append(module)
        return self


def _sequential(other: Any) -> Sequential:
    if not isinstance(other, Sequential):
        raise ValueError(f"Sequential: only a Sequential can be added, got {type(other).__name__}")
    return other


def _repeat(modules: Sequential, times: int) -> list[Any]:
    if not isinstance(times, int):
        raise TypeError(f"Sequential: the factor must be an int, got {type(times).__name__}")
    if times <= 0:
        raise ValueError(f"Sequential: the factor must be positive, got {times}")
    return list(modules) * times


class ModuleList(_IndexedModules):
    """A list of modules, each of which is registered.

    Args:
        modules: an iterable of modules.

    Raises:
        TypeError: ``modules`` cannot be iterated, or an element is no Module.

    Example:
        >>> import nnkit
        >>> nnkit.nn.ModuleList(nnkit.nn.Identity() for _ in range(3))
        ModuleList(
          (0-2): 3 x Identity()
        )
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self._modules.values())[index])
        return self._modules[self._get_abs_string_index(index)]

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def insert(self, index: int, module: Module) -> None:
        """Put ``module`` before position ``index``, as ``list.insert`` does.

        Raises:
            TypeError: ``module`` is no Module.
        """
        modules = list(self)
        modules.insert(index, module)
        self._put(modules)

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add several modules at the end.

        Raises:
            TypeError: ``modules`` cannot be iterated.
        """
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleList.extend should be called with an iterable, but got "
                f"{type(modules).__name__}"
            )
        for module in list(modules):
            self.append(module)
        return self

    def __repr__(self) -> str:
        """Equal modules in a row are shown once."""
        if len(self) == 0:
            return f"{self._get_name()}()"
        lines = []
        start = 0
        for text, group in groupby(repr(module) for module in self):
            count = len(list(group))
            if count == 1:
                lines.append(f"({start}): {indent(text)}")
            else:
                lines.append(f"({start}-{start + count - 1}): {count} x {indent(text)}")
            start += count
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class ModuleDict(Module):
    """A dictionary of modules under names, each of which is registered.

    Args:
        modules: a mapping, or an iterable of pairs, of names and modules.

    Raises:
        TypeError: ``modules`` is no such thing, a name is no string, a value no Module.
        KeyError: a name is empty, has a dot, or is an attribute of ModuleDict.

    Example:
        >>> import nnkit
        >>> heads = nnkit.nn.ModuleDict({"class": nnkit.nn.Identity(), "box": nnkit.nn.Flatten()})
        >>> list(heads)
        ['class', 'box']
    """

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Remove the module of that name and return it."""
        module = self[key]
        del self[key]
        return module

    def keys(self) -> KeysView[str]:
        """The names, in the order of their arrival."""
        return self._modules.keys()

    def items(self) -> ItemsView[str, Any]:
        """Pairs of name and module."""
        return self._modules.items()

    def values(self) -> ValuesView[Any]:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add the modules of a mapping or of pairs; those of the same name are replaced."""
        for name, module in pairs_of(modules, "ModuleDict.update"):
            self[name] = module


def pairs_of(source: Any, function: str) -> Iterator[tuple[str, Any]]:
    """The pairs of a mapping, of a dictionary-like module, or of an iterable of pairs.

    Raises:
        TypeError: ``source``, or an element of it, cannot be iterated.
        ValueError: an element has not exactly two parts.
    """
    if not isinstance(source, Iterable):
        raise TypeError(
            f"{function} should be called with an iterable of key/value pairs, but got "
            f"{type(source).__name__}"
        )
    if isinstance(source, Mapping | ModuleDict):
        yield from source.items()
        return
    for position, pair in enumerate(source):
        if not isinstance(pair, Iterable):
            raise TypeError(
                f"{function}: sequence element #{position} should be Iterable; is "
                f"{type(pair).__name__}"
            )
        parts = tuple(pair)
        if len(parts) != 2:
            raise ValueError(
                f"{function}: sequence element #{position} has length {len(parts)}; 2 is required"
            )
        yield parts
