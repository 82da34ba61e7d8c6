"""Containers of parameters: a list and a dictionary."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, KeysView, Mapping
from typing import TYPE_CHECKING, Any

from nnkit.autograd import Tensor
from nnkit.nn.modules.container import pairs_of
from nnkit.nn.modules.module import Module
from nnkit.nn.parameter import Parameter

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["ParameterDict", "ParameterList"]


class ParameterList(Module):
    """A list of parameters, each of which is registered.

    Args:
        values: an iterable; a tensor becomes a Parameter, anything else is kept as it is.

    Raises:
        TypeError: ``values`` cannot be iterated, or the list is called.

    Example:
        >>> import nnkit
        >>> weights = nnkit.nn.ParameterList([nnkit.zeros(2), nnkit.zeros(2, 3)])
        >>> weights
        ParameterList(
            (0): Parameter containing: [nnkit.float32 of size 2]
            (1): Parameter containing: [nnkit.float32 of size 2x3]
        )
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter(self[position] for position in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(self[position] for position in range(*index.indices(len(self))))
        return getattr(self, self._get_abs_string_index(index))

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, self._get_abs_string_index(index), _as_parameter(value))

    def _get_abs_string_index(self, index: Any) -> str:
        position = operator.index(index)
        if not -len(self) <= position < len(self):
            raise IndexError(f"index {position} is out of range of {len(self)} parameters")
        return str(position % len(self))

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def append(self, value: Any) -> Self:
        """Add a value at the end."""
        self._size += 1
        self[-1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add several values at the end.

        Raises:
            TypeError: ``values`` is a tensor, or cannot be iterated.
        """
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(
                f"ParameterList.extend should be called with an iterable, but "
                f"got {type(values).__name__}"
            )
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(
            f"  ({position}): {_describe(value, 'dtype')}" for position, value in enumerate(self)
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("a ParameterList cannot be called")


class ParameterDict(Module):
    """A dictionary of parameters under names, each of which is registered.

    Args:
        parameters: a mapping or an iterable of pairs; a tensor becomes a Parameter, anything else
            is kept as it is. A plain mapping is taken in the order of its sorted names.

    Raises:
        TypeError: ``parameters`` is no such thing, a name is no string, or the dict is called.

    Example:
        >>> import nnkit
        >>> nnkit.nn.ParameterDict({"scale": nnkit.ones(1)})["scale"]
        Parameter containing:
        tensor([1.], requires_grad=True)
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, _checked(key))

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, _checked(key), _as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """A new dictionary of the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of ``key``, after setting it to ``default`` where there was none."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove everything."""
        for key in list(self):
            del self[key]

    def pop(self, key: str) -> Any:
        """Remove ``key`` and return its value."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove and return the pair that came last.

        Raises:
            KeyError: the dictionary is empty.
        """
        key = next(reversed(self), None)
        if key is None:
            raise KeyError("popitem(): the ParameterDict is empty")
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of ``key``, or ``default``."""
        return self[key] if key in self else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A new dictionary with these keys, all with the value ``default``."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> KeysView[str]:
        """The names, in the order of their arrival."""
        return self._keys.keys()

    def items(self) -> Iterator[tuple[str, Any]]:
        """Pairs of name and value."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterator[Any]:
        """The values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add the values of a mapping or of pairs; those of the same name are replaced."""
        if isinstance(parameters, ParameterDict):
            pairs: Iterable[tuple[str, Any]] = list(parameters.items())
        else:
            pairs = pairs_of(parameters, "ParameterDict.update")
            # The order is torch's: an optimizer's state refers to parameters by their position.
            if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
                pairs = sorted(pairs, key=operator.itemgetter(0))
        for key, value in pairs:
            self[key] = value

    def extra_repr(self) -> str:
        # torch names the type here and the dtype in a list.
        return "\n".join(f"  ({key}): {_describe(value, 'type')}" for key, value in self.items())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("a ParameterDict cannot be called")

    def __or__(self, other: Any) -> ParameterDict:
        union = self.copy()
        union.update(other)
        return union

    def __ror__(self, other: Any) -> Any:
        union = other.copy()
        union.update(self.items())
        return union

    def __ior__(self, other: Any) -> Self:
        self.update(other)
        return self


def _as_parameter(value: Any) -> Any:
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


def _checked(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"ParameterDict: a key must be a string, got {type(key).__name__}")
    return key


def _describe(value: Any, by: str) -> str:
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    size = "x".join(str(length) for length in value.shape)
    place = "" if value.device.type in ("cpu", "meta") else f" ({value.device})"
    kind = value.dtype if by == "dtype" else value.type()
    return f"Parameter containing: [{kind} of size {size}{place}]"
