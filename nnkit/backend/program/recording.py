"""Writes a program down: a `Recorder` that never stands in the way of what it records."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import get_ident
from typing import Any
from weakref import ref

from nnkit.backend.algebra import CATALOGUE
from nnkit.backend.cost import is_array
from nnkit.backend.cpu.native import MODULE
from nnkit.backend.door import Recorder, Slot
from nnkit.backend.program.outside import LiveNumber
from nnkit.backend.program.program import Call, Outside
from nnkit.backend.warning import users_line

# Geometry that no replay sees change, since the strides of what a program is given are its own.
KNOWN_ADDRESSES = frozenset(("data_pointer",))


def geometry(array: Any) -> tuple:
    """The properties of an array that a program depends on: all but its elements."""
    return array.shape, array.dtype, array.strides


def bits(array: Any) -> tuple:
    """All properties and elements of an array, for comparisons."""
    return array.shape, array.dtype, array.tobytes()


line_now: Callable[[], str] = users_line if MODULE is None else MODULE.users_line


def _forget(numbers: dict[int, int], key: int, _: Any) -> None:
    numbers.pop(key, None)


class Recording(Recorder):
    """Writes down the calls of one thread.

    What cannot be replayed does not stop the step, which goes on eagerly: it is noted in
    ``broken``, and from then on nothing is written down. A ``strict`` recording raises instead.

    Attributes:
        program: the calls so far.
        shapes: shape, dtype and strides of each array, by number.
        broken: why there will be no program, None while there may be.
        paused: whether the calls belong to something that will be called itself in each replay.
        at_first: called before the first call is written down.
    """

    def __init__(self, backend: Any, strict: bool = False) -> None:
        super().__init__(backend)
        self.strict = strict
        self.program: list[Call | Outside] = []
        self.shapes: dict[int, tuple] = {}
        self.book = self.numbers, self.arrays, self.inputs, self.shapes
        self.broken: str | None = None
        self.paused = False
        self.at_first: Callable[[], None] | None = None
        self.thread = get_ident()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        primitive = CATALOGUE.get(name)
        refused = primitive is None or primitive.reads or primitive.sized_by_data
        if MODULE is None or refused or name in KNOWN_ADDRESSES:
            return super().__getattr__(name)
        function = getattr(self._backend, name)
        call = MODULE.recorded((self, name, function, Slot, Call, LiveNumber))
        setattr(self, name, call)
        return call

    def break_off(self, reason: str, line: str | None = None) -> None:
        """Note why there will be no program, and where: by default at the user's line. An empty
        ``line`` stands in the reason already."""
        if self.broken is None:
            where = users_line() if line is None else line
            self.broken = f"{reason}, at {where}" if where else reason
            if self.strict:
                raise RuntimeError(f"nnkit.compile: cannot be one program: {self.broken}")

    def passed(self, name: str, function: Callable[..., Any], arguments: tuple) -> Any:
        if self.broken or self.paused or get_ident() != self.thread:
            return function(*arguments)
        primitive = CATALOGUE[name]
        if primitive.reads or primitive.is_sized_by_data(arguments):
            told = "a value is read" if primitive.reads else "a shape depends on values"
            self.break_off(f"{name}: {told}")
            return function(*arguments)
        if LiveNumber in map(type, arguments):
            # NumPy promotes by what is no float itself, though it is derived from it.
            result = function(*[float(a) if a.__class__ is LiveNumber else a for a in arguments])
        else:
            result = function(*arguments)
        self.called(name, arguments, result)
        return result

    def _slot(self, value: Any, made: bool) -> Any:
        if MODULE is None:
            return super()._slot(value, made)
        return MODULE.slots(value, made, self.book, Slot, self._numbered)

    def _numbered(self, value: Any, made: bool) -> int:
        number = super()._numbered(value, made)
        self.shapes[number] = geometry(value)
        if made and value.__class__.__weakrefoffset__:
            # The step lets go of most of what it makes. Ids are used again, so they are forgotten.
            self.arrays[number] = ref(value, partial(_forget, self.numbers, id(value)))
        return number

    def called(self, name: str, arguments: tuple, result: Any) -> None:
        if name in KNOWN_ADDRESSES:
            return
        given = self._slot(arguments, False)
        self._begin()
        self.program.append(Call(name, given, self._slot(result, True), line_now()))

    def _begin(self) -> None:
        if self.at_first is not None:
            self.at_first()
            self.at_first = None

    def called_outside(self, function: Callable[..., Any], title: str) -> Outside:
        """Write down a call of something that is no primitive, and get the line to complete."""
        self._begin()
        outside = Outside(function, title, line_now())
        self.program.append(outside)
        return outside

    def slot_of(self, array: Any) -> Slot | None:
        """The number of an array that took part, None of any other."""
        number = self.numbers.get(id(array)) if is_array(array) else None
        return None if number is None else Slot(number)
