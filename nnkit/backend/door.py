"""Objects that observe the door: a recorder, a counter, a timer, a NaN hunter.

Every array is computed by a call on a backend. So an object that has the same attributes and passes
each call on can observe a whole training step. `standing` puts one in front of a device's backend::

    with standing(Recorder, cpu) as recorder:
        step()
    recorder.replay({x: other_x})
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, TypeVar

from nnkit.backend.algebra import CATALOGUE
from nnkit.backend.cost import bytes_moved, flops, is_array
from nnkit.backend.device import device
from nnkit.backend.warning import users_line


class Doorkeeper:
    """Passes every call on to a backend; subclasses observe the calls in ``called``."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = getattr(self._backend, name)

        def call(*arguments: Any) -> Any:
            return self.passed(name, function, arguments)

        call.__name__ = name
        setattr(self, name, call)
        return call

    def passed(self, name: str, function: Callable[..., Any], arguments: tuple) -> Any:
        """Make one call of a primitive, and return its result."""
        result = function(*arguments)
        self.called(name, arguments, result)
        return result

    def called(self, name: str, arguments: tuple, result: Any) -> None:
        """Observe a call that has just returned."""

    def leave(self) -> None:
        """Delete the cached functions, each of which holds a reference to this object."""
        for name in [name for name in vars(self) if name in CATALOGUE]:
            delattr(self, name)


Keeper = TypeVar("Keeper", bound=Doorkeeper)


@contextmanager
def standing(kind: Callable[[Any], Keeper], place: device) -> Iterator[Keeper]:
    """Put a doorkeeper in front of a device's backend for the duration of a ``with`` block."""
    backend = place.backend
    keeper = kind(backend)
    place.backend = keeper  # type: ignore[assignment]
    try:
        yield keeper
    finally:
        place.backend = backend
        keeper.leave()


class Slot:
    """Stands for an array in a recorded call, by its number."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


# The classes of most static arguments, which contain no arrays.
WITHOUT_ARRAYS = frozenset((bool, int, float, complex, str, type(None)))


class Recorder(Doorkeeper):
    """Records every call, so that they can be replayed on other arrays.

    Arrays that no recorded call made are the inputs of the recording: data, parameters, state.

    Raises:
        RuntimeError: Python reads values, or a result has a size that depends on values. A replay
            would not do that again, but keep the result. The message names the user's line.
    """

    def __init__(self, backend: Any) -> None:
        super().__init__(backend)
        self.calls: list[tuple[str, tuple, Any]] = []
        self.numbers: dict[int, int] = {}
        self.arrays: list[Any] = []  # kept alive, so that no id is reused
        self.inputs: list[int] = []

    def _numbered(self, value: Any, made: bool) -> int:
        """A new number, for an array that the recording has not seen yet."""
        number = self.numbers[id(value)] = len(self.arrays)
        self.arrays.append(value)
        if not made:
            self.inputs.append(number)
        return number

    def _slot(self, value: Any, made: bool) -> Any:
        """``value`` with slots in place of arrays; ``made`` says that a recorded call made them."""
        kind = value.__class__
        if kind in WITHOUT_ARRAYS:
            return value
        number = self.numbers.get(id(value))
        if number is not None:
            return Slot(number)
        if isinstance(value, (tuple, list)):
            return kind([self._slot(v, made) for v in value])
        return Slot(self._numbered(value, made)) if is_array(value) else value

    def passed(self, name: str, function: Callable[..., Any], arguments: tuple) -> Any:
        primitive = CATALOGUE[name]
        if primitive.reads or primitive.is_sized_by_data(arguments):
            told = "a value" if primitive.reads else "a size that depends on values"
            raise RuntimeError(
                f"{name}: {told} is read in a recording, which would keep it in every replay, at "
                f"{users_line()}"
            )
        return super().passed(name, function, arguments)

    def called(self, name: str, arguments: tuple, result: Any) -> None:
        self.calls.append((name, self._slot(arguments, False), self._slot(result, True)))

    def number(self, array: Any) -> int:
        """The number of an array that took part in the recording."""
        return self.numbers[id(array)]

    def replay(self, replacements: dict[int, Any]) -> dict[int, Any]:
        """Run the recorded calls again, with other arrays in place of some inputs.

        Args:
            replacements: the arrays to use, by the number of the input they replace.

        Returns:
            All arrays of the replay by number. Inputs that the calls write are written in place.
        """
        known: dict[int, Any] = {n: self.arrays[n] for n in self.inputs}
        known.update(replacements)
        for name, arguments, result in self.calls:
            _store(known, result, getattr(self._backend, name)(*_fill(known, arguments)))
        return known


def _fill(known: dict[int, Any], value: Any) -> Any:
    if isinstance(value, Slot):
        return known[value.number]
    if isinstance(value, (tuple, list)):
        return type(value)(_fill(known, v) for v in value)
    return value


def _store(known: dict[int, Any], slots: Any, result: Any) -> None:
    if isinstance(slots, Slot):
        known[slots.number] = result
    elif isinstance(slots, (tuple, list)):
        for slot, value in zip(slots, result, strict=True):
            _store(known, slot, value)


class Counter(Doorkeeper):
    """Counts calls, floating-point operations and bytes moved, by primitive."""

    def __init__(self, backend: Any) -> None:
        super().__init__(backend)
        self.calls: dict[str, int] = {}
        self.flops: dict[str, int] = {}
        self.bytes: dict[str, int] = {}

    def called(self, name: str, arguments: tuple, result: Any) -> None:
        self.calls[name] = self.calls.get(name, 0) + 1
        self.flops[name] = self.flops.get(name, 0) + flops(name, arguments, result)
        self.bytes[name] = self.bytes.get(name, 0) + bytes_moved(name, arguments, result)

    def table(self) -> str:
        """One line for each primitive, the most expensive first."""
        columns = self.calls, self.flops, self.bytes
        lines = [f"{'primitive':<28}{'calls':>8}{'FLOPs':>16}{'bytes':>16}"]
        names = sorted(self.calls, key=lambda n: (-self.flops[n], -self.bytes[n]))
        rows = [(name, *(column[name] for column in columns)) for name in names]
        for name, calls, operations, moved in [
            *rows,
            ("total", *(sum(column.values()) for column in columns)),
        ]:
            lines.append(f"{name:<28}{calls:>8}{operations:>16}{moved:>16}")
        return "\n".join(lines)


class Timer(Doorkeeper):
    """Sums up the seconds spent in each primitive."""

    def __init__(self, backend: Any, clock: Callable[[], float] = perf_counter) -> None:
        super().__init__(backend)
        self.clock = clock
        self.calls: dict[str, int] = {}
        self.seconds: dict[str, float] = {}

    def passed(self, name: str, function: Callable[..., Any], arguments: tuple) -> Any:
        start = self.clock()
        result = function(*arguments)
        seconds = self.clock() - start
        self.calls[name] = self.calls.get(name, 0) + 1
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        return result


class NanHunter(Doorkeeper):
    """Raises FloatingPointError at the first call whose result contains a NaN."""

    def called(self, name: str, arguments: tuple, result: Any) -> None:
        for value in result if isinstance(result, tuple) else (result,):
            if is_array(value) and value.dtype.kind in "fc" and (value != value).any():
                shapes = [list(a.shape) for a in arguments if is_array(a)]
                raise FloatingPointError(
                    f"{name} made a NaN: result of shape {list(value.shape)} from inputs of "
                    f"shapes {shapes}"
                )
