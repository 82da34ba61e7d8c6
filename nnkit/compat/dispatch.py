"""``__torch_dispatch__``: modes and tensor classes that handle operators, below autograd.

While a mode is entered, an object stands in the door of every device. It turns the arrays of each
call into Tensors, and the call into calls of operators (`nnkit.compat.operators`), which the mode
handles. For tensor classes see `nnkit.compat.wrappers`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import nnkit
from nnkit import Tensor
from nnkit.autograd.arguments import overriding
from nnkit.autograd.tensor import wrap
from nnkit.backend.algebra import CATALOGUE
from nnkit.backend.door import Doorkeeper
from nnkit.compat.operators import raw, translated
from nnkit.utils._pytree import tree_leaves

# The primitives that tell values to Python and are operators of torch.
_TOLD = ("item",)
_SILENT = ("collective", "exchange", "update")  # subjects that torch has no operators for


class _Thread(threading.local):
    def __init__(self) -> None:
        self.modes: list[Any] = []


THREAD = _Thread()
_entered: list[Any] = []  # of all threads
_doors: dict[Any, Any] = {}  # the devices in whose doors a keeper stands, and their backends


class _Keeper(Doorkeeper):
    """A doorkeeper that hands the calls on a device's backend to the thread's innermost mode."""

    place: Any

    def passed(self, name: str, function: Any, arguments: tuple) -> Any:
        primitive = CATALOGUE.get(name)
        if (
            not THREAD.modes
            or primitive is None
            or (name not in _TOLD and (primitive.tells or primitive.subject in _SILENT))
        ):
            return function(*arguments)
        with _innermost() as mode:
            return translated(self._tensor, primitive, arguments, mode._answer, raw)

    def _tensor(self, array: Any) -> Tensor:
        return wrap(array, self.place)


@contextmanager
def _innermost() -> Iterator[TorchDispatchMode]:
    """The innermost mode, which is off while it handles a call."""
    mode = THREAD.modes.pop()
    try:
        yield mode
    finally:
        THREAD.modes.append(mode)


@contextmanager
def without_modes() -> Iterator[list[TorchDispatchMode]]:
    """A context manager in which all modes are off; gives the list of them."""
    modes, THREAD.modes = THREAD.modes, []
    try:
        yield modes
    finally:
        THREAD.modes = modes


def asked(operator: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """The result of an operator, as the innermost mode or else the first class of wrappers gives it
    that does not return NotImplemented; without either, the operator's own.

    Raises:
        TypeError: all return NotImplemented.
    """
    types: list[type] = []
    for each in tree_leaves((args, kwargs)):
        kind = type(each)
        if isinstance(each, Tensor) and each._device.asks and kind not in types:
            later = (i for i, known in enumerate(types) if issubclass(kind, known))
            types.insert(next(later, len(types)), kind)
    if THREAD.modes:
        with _innermost() as mode:
            result = mode._answer(operator, args, kwargs, tuple(types))
        if result is not NotImplemented:
            return result
    for kind in types:
        asks, overriding.THREAD.asks = overriding.THREAD.asks, True  # for the calls that it makes
        try:
            result = kind.__torch_dispatch__(operator, tuple(types), args, kwargs)  # type: ignore
        finally:
            overriding.THREAD.asks = asks
        if result is not NotImplemented:
            return result
    if not types:
        return operator(*args, **kwargs)
    raise _unanswered(operator, [f"tensor subclass {kind}" for kind in types])


def _unanswered(operator: Any, handlers: list[str]) -> TypeError:
    return TypeError(
        f"Multiple dispatch failed for 'torch._ops.{operator}'; all __torch_dispatch__ handlers "
        f"returned NotImplemented: {', '.join(handlers)}"
    )


class TorchDispatchMode:
    """A context manager in which this object's ``__torch_dispatch__`` handles each operator.

    Derivatives are recorded outside it, and their computations are handled too. The tensors that it
    gets have no history and are made for the call. A primitive that corresponds to no operator of
    ``aten`` is passed as ``nnkit::`` and its name.

    Example:
        >>> import nnkit
        >>> class Names(TorchDispatchMode):
        ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        ...         print(func)
        ...         return func(*args, **(kwargs or {}))
        >>> with Names():
        ...     x = nnkit.ones(2, 2) @ nnkit.zeros(2, 2) + 1
        aten.ones.default
        aten.zeros.default
        aten.mm.default
        aten.add.Tensor
    """

    def __torch_dispatch__(
        self, func: Any, types: tuple, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        raise NotImplementedError

    def _answer(self, operator: Any, args: tuple, kwargs: dict[str, Any], types: tuple = ()) -> Any:
        """Its result, which may be NotImplemented only if there are ``types`` to ask next."""
        if isinstance(getattr(self.__torch_dispatch__, "__self__", None), type):
            raise RuntimeError(
                f"{type(self).__name__}: a `__torch_dispatch__` of a mode that is a classmethod is "
                "not supported, please make it a plain method"
            )
        result = self.__torch_dispatch__(operator, types, args, kwargs)
        if result is NotImplemented and not types:
            raise _unanswered(operator, [f"mode object {self}"])
        return result

    def __enter__(self) -> Any:
        if not _entered:
            _stand_in_doors()
        _entered.append(self)
        THREAD.modes.append(self)
        return self

    def __exit__(self, *exception: Any) -> None:
        THREAD.modes.pop()
        _entered.remove(self)
        if not _entered:
            while _doors:
                place, backend = _doors.popitem()
                place.backend = backend


class BaseTorchDispatchMode(TorchDispatchMode):
    """The mode that calls each operator as if it were not there."""

    def __torch_dispatch__(
        self, func: Any, types: tuple, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


def _stand_in_doors() -> None:
    names = ["cpu", "meta", *(f"cuda:{i}" for i in range(nnkit.cuda.device_count()))]
    for place in map(nnkit.device, names):
        _doors[place] = place.backend
        keeper = _Keeper(place.backend)
        keeper.place = place
        place.backend = keeper  # type: ignore[assignment]
