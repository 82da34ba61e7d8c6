"""Programs: lists of calls over numbered buffers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any, TypeVar

from nnkit.backend.algebra import CATALOGUE, Primitive
from nnkit.backend.cpu.native import MODULE
from nnkit.backend.door import Slot
from nnkit.backend.program.listing import listing

Found = TypeVar("Found")


def slots_in(value: Any) -> Iterator[int]:
    """The numbers of the buffers in an argument or a result."""
    if value.__class__ is Slot:
        yield value.number
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from slots_in(item)


class Call:
    """One call of a primitive: its arguments and results, with a `Slot` for each array.

    Attributes:
        reads: the buffers it is given.
        makes: the buffers it returns; one that it was given is not made.
        writes: the buffers it writes in place.
        shares: whether a result may look into the memory of an argument.
        is_pure: whether all it does is its result: it writes, draws and checks nothing.
    """

    __slots__ = (
        "arguments", "is_pure", "line", "makes", "name", "primitive", "reads", "result", "shares",
        "writes",
    )  # fmt: skip
    primitive: Primitive
    reads: list[int]
    makes: list[int]
    writes: list[int]
    shares: bool
    is_pure: bool

    def __init__(self, name: str, arguments: tuple, result: Any, line: str) -> None:
        self.name = name
        self.arguments = arguments
        self.result = result
        self.line = line

    def __getattr__(self, name: str) -> Any:
        """The attributes that follow from the arguments, computed on first use: most recorded calls
        never need them."""
        self.primitive = p = CATALOGUE[self.name]
        self.reads = list(slots_in(self.arguments))
        returned = list(slots_in(self.result))
        self.makes = [number for number in returned if number not in self.reads]
        written = [a for a, n in zip(self.arguments, p.arrays) if n in p.writes] if p.writes else ()
        self.writes = list(slots_in(written))
        self.shares = any(p.shares.values()) or len(set(returned)) > len(self.makes)
        self.is_pure = not (p.writes or p.draws or p.tells or p.subject == "collective")
        return object.__getattribute__(self, name)


class Outside:
    """A call of something that is no primitive, with buffers that it is given and gives.

    Attributes:
        function: called in each replay with the arrays of ``reads``; gives those of ``makes``.
        title: what the listing says of it.
    """

    __slots__ = ("function", "line", "makes", "reads", "title")
    writes: tuple = ()
    is_pure = shares = False

    def __init__(self, function: Callable[..., Any], title: str, line: str) -> None:
        self.function = function
        self.title = title
        self.line = line
        self.reads: list[int] = []
        self.makes: list[int] = []


class Fused(Outside):
    """Formulas that run together, block by block.

    Attributes:
        program: the formulas.
    """

    __slots__ = ("program",)

    def __init__(self, function: Callable[..., Any], program: Program, line: str) -> None:
        super().__init__(function, "fused", line)
        self.program = program
        self.reads = program.inputs
        self.makes = program.outputs


class Program:
    """A list of calls, and which buffers go in and come out.

    Attributes:
        calls: in the order in which they are made.
        inputs: the buffers that each run is given, in this order.
        constants: those that are the same arrays in each run, such as parameters.
        outputs: those that a run gives back, in this order.
        shapes: shape, dtype and strides of each buffer.
    """

    def __init__(
        self,
        calls: list[Call | Outside],
        inputs: list[int],
        constants: dict[int, Any],
        outputs: list[int],
        shapes: dict[int, tuple],
    ) -> None:
        self.calls = calls
        self.inputs = inputs
        self.constants = constants
        self.outputs = outputs
        self.shapes = shapes
        self._found: dict[Any, Any] = {}

    def replaced(self, calls: list[Call | Outside], constants: dict | None = None) -> Program:
        """The program with other calls; this very program where they are the same."""
        if calls == self.calls and not constants:
            return self
        return Program(calls, self.inputs, constants or self.constants, self.outputs, self.shapes)

    def found(self, analysis: Callable[[Program], Found]) -> Found:
        """The result of an analysis of the program, which is made once."""
        if analysis not in self._found:
            self._found[analysis] = analysis(self)
        return self._found[analysis]

    def last_uses(self) -> dict[int, int]:
        """The place of the last call that touches each buffer which a call makes."""
        last: dict[int, int] = {}
        for place, call in enumerate(self.calls):
            for number in (*call.reads, *call.makes):
                last[number] = place
        return last

    def bytes_made(self) -> int:
        """The bytes of all that its calls make, those of views among them."""
        made = [self.shapes.get(n) for call in self.calls for n in call.makes]
        return sum([prod(known[0]) * known[1].itemsize for known in made if known is not None])

    def gone(self) -> dict[int, list[int]]:
        """The buffers that nobody needs after a call, by its place."""
        kept = {*self.constants, *self.outputs}
        found: dict[int, list[int]] = {}
        for number, place in self.last_uses().items():
            if number not in kept:
                found.setdefault(place, []).append(number)
        return found

    def __str__(self) -> str:
        return listing(self)


def difference(one: list[Any], other: list[Any]) -> str | None:
    """The difference between two recordings of one step, in words; None if they are the same."""
    for a, b in zip(one, other):
        if a.__class__ is not b.__class__ or _title(a) != _title(b):
            return f"{_title(a)} was called at {a.line}, and {_title(b)} the next time"
        if a.__class__ is Outside:
            if a.reads != b.reads or a.makes != b.makes:
                return f"{_title(a)} was given other arrays the next time, at {a.line}"
        elif not _same((a.arguments, a.result), (b.arguments, b.result)):
            return f"{_title(a)} was called with other arguments the next time, at {a.line}"
    if len(one) != len(other):
        longer, place = (one, len(other)) if len(one) > len(other) else (other, len(one))
        return f"{_title(longer[place])} was called in one of two runs, at {longer[place].line}"
    return None


def _title(call: Any) -> str:
    return call.title if call.__class__ is Outside else call.name


def _same(a: Any, b: Any) -> bool:
    if MODULE is not None:
        return MODULE.same_values(Slot, a, b)
    if a is b:
        return True
    if a.__class__ is not b.__class__:
        return False
    if a.__class__ is Slot:
        return a.number == b.number
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, slice):
        return _same((a.start, a.stop, a.step), (b.start, b.stop, b.step))
    try:
        return bool(a == b) or (a != a and b != b)
    except (TypeError, ValueError):
        return False
