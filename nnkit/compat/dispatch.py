"""Modes of ``__torch_dispatch__``: objects that answer for each operator, below autograd.

Where one is entered, an object stands in the door of every device. What a call there gets and gives
becomes Tensors, and the call one of operators (`nnkit.compat.operators`), for which the mode
answers.
"""

from __future__ import annotations

import threading
from typing import Any

import nnkit
from nnkit import Tensor
from nnkit.autograd.tensor import wrap
from nnkit.backend.algebra import CATALOGUE
from nnkit.backend.door import Doorkeeper
from nnkit.compat.operators import raw, translated

# Of the primitives that tell something to Python, what an operator of torch tells as well.
_TOLD = ("item",)
_SILENT = ("collective", "exchange", "update")  # subjects that torch has no operators for


class _Thread(threading.local):
    def __init__(self) -> None:
        self.modes: list[Any] = []


THREAD = _Thread()
_entered: list[Any] = []  # of all threads
_doors: dict[Any, Any] = {}  # the devices in whose doors a keeper stands, and their backends


class _Keeper(Doorkeeper):
    """Lets the innermost mode of the thread answer for the calls on a device's backend."""

    place: Any

    def passed(self, name: str, function: Any, arguments: tuple) -> Any:
        primitive = CATALOGUE.get(name)
        if (
            not THREAD.modes
            or primitive is None
            or (name not in _TOLD and (primitive.tells or primitive.subject in _SILENT))
        ):
            return function(*arguments)
        mode = THREAD.modes.pop()  # which is off while it answers
        try:
            return translated(self._tensor, primitive, arguments, mode._answer, raw)
        finally:
            THREAD.modes.append(mode)

    def _tensor(self, array: Any) -> Tensor:
        return wrap(array, self.place)


class TorchDispatchMode:
    """A block in which ``__torch_dispatch__`` of this object answers for each operator.

    Derivatives are recorded around it, and what they compute is answered for as well. The tensors
    that it gets have no history and are made for the call; in place of the operators of ``aten``
    that one of nnkit's primitives is not, it gets ``nnkit::`` and the primitive's name.

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

    def _answer(self, operator: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        return self.__torch_dispatch__(operator, (), args, kwargs)

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
