"""Formulas that follow one another run together, over blocks that stay in the first-level cache."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import prod
from typing import Any

from nnkit.backend.door import Slot
from nnkit.backend.dtype import bool_, float32, float64
from nnkit.backend.program.aliases import Aliases
from nnkit.backend.program.loop import loop_of
from nnkit.backend.program.passes.reuse import reuse_memory
from nnkit.backend.program.program import Call, Fused, Outside, Program

MOST_ARRAYS, MOST_SLOTS = 16, 48  # fused.cpp: most_arrays_of_fusion, most_slots
LARGEST = 2**53  # up to which an int is itself as a float


def fuse_formulas(program: Program, backend: Any) -> Program:
    """The program with neighbouring formulas of one shape and dtype as one call each.

    What only they read is never a whole array. The loops are those of the formulas, so that the
    bits are theirs. Other calls between them go before, where they have nothing to do with them.
    """
    if backend.fuse is None:
        return program
    aliases = program.found(Aliases)
    uses = Counter([n for call in program.calls for n in call.reads])
    uses.update(program.outputs)
    kept: list[Any] = []
    group = _Group(program, uses)
    call: Any
    for call in program.calls:
        kind = _kind(call, program, backend)
        if kind is None:
            if group.is_disturbed(call, aliases):
                kept += group.close(backend)
                group = _Group(program, uses)
            kept.append(call)
            continue
        if not group.takes(call, kind):
            kept += group.close(backend)
            group = _Group(program, uses)
        group.add(call, kind)
    return program.replaced([*kept, *group.close(backend)])


def _kind(call: Call | Outside, program: Program, backend: Any) -> tuple | None:
    """The shape of a formula's result and the dtype that it is computed in; None for other calls,
    and for formulas that have to be called by themselves."""
    if not isinstance(call, Call) or call.primitive.subject != "formula" or call.writes:
        return None
    if call.shares or call.result.__class__ is not Slot or not call.makes:
        return None
    dtypes = set()
    for value in call.arguments:
        if value.__class__ is Slot:
            if value.number not in program.shapes:  # a number that each run reads
                return None
            dtypes.add(program.shapes[value.number][1])
        elif not isinstance(value, (int, float)):
            return None
        elif isinstance(value, int) and abs(value) > LARGEST:
            return None
    dtypes.discard(bool_.array)
    if len(dtypes) != 1 or not dtypes <= {float32.array, float64.array}:
        return None
    shape, dtype, strides = program.shapes[call.makes[0]]
    steps = tuple(prod(shape[i + 1 :]) * dtype.itemsize for i in range(len(shape)))
    if strides != steps or dtype not in (*dtypes, bool_.array):
        return None
    if not hasattr(getattr(backend, call.name), "twin"):  # it is not compiled
        return None
    return shape, dtypes.pop()


class _Group:
    """Formulas that may become one call."""

    def __init__(self, program: Program, uses: Counter[int]) -> None:
        self.program = program
        self.uses = uses
        self.calls: list[Any] = []  # of formulas
        self.kind: tuple = ()
        self.inputs: dict[int, None] = {}
        self.made: dict[int, int] = {}  # with how often they are still read
        self.outputs: dict[int, None] = {}  # of these, those that somebody else reads too
        self.numbers = 0  # the most there are among the operands

    def add(self, call: Call, kind: tuple) -> None:
        self.calls.append(call)
        self.kind = kind
        for n in call.reads:
            if n not in self.made:
                self.inputs[n] = None
                continue
            self.made[n] -= 1
            if not self.made[n]:
                del self.outputs[n]
        (made,) = call.makes
        self.made[made] = self.uses[made]
        if self.made[made]:
            self.outputs[made] = None
        self.numbers += sum([a.__class__ is not Slot for a in call.arguments])

    def takes(self, call: Call, kind: tuple) -> bool:
        """Whether a formula may join."""
        if not self.calls:
            return True
        read = set(call.reads)
        if kind != self.kind or (read.isdisjoint(self.inputs) and read.isdisjoint(self.made)):
            return False
        arrays = len(self.inputs.keys() | read) + len(self.outputs) + 1
        slots = arrays + self.numbers + len(call.arguments) + len(self.made)
        return arrays <= MOST_ARRAYS and slots <= MOST_SLOTS

    def is_disturbed(self, call: Call | Outside, aliases: Aliases) -> bool:
        """Whether a call must come after the formulas."""
        if isinstance(call, Outside) or not self.made.keys().isdisjoint(call.reads):
            return True
        written = set(map(aliases.root, call.writes))
        return not written.isdisjoint(map(aliases.root, self.inputs))

    def close(self, backend: Any) -> list[Any]:
        """The formulas as one call, or as they are."""
        outputs = list(self.outputs)
        if len(self.calls) < 2 or not outputs:
            return self.calls
        program = Program(self.calls, list(self.inputs), {}, outputs, self.program.shapes)
        function = backend.fuse(*_steps(program), _twin(program, backend))
        return [Fused(function, program, self.calls[-1].line)]


def _steps(program: Program) -> tuple:
    """The formulas over slots, which are inputs, outputs, numbers and temporaries in this order:
    steps (name, target, operands, scalars), inputs, types of the outputs, numbers, slots."""
    slots = {n: i for i, n in enumerate((*program.inputs, *program.outputs))}
    numbers: dict[str, int] = {}
    first = len(slots)
    calls: Any = program.calls

    def arrays_of(call: Call) -> tuple:
        return call.arguments[: len(call.primitive.arrays)]

    for value in (a for call in calls for a in arrays_of(call)):
        if value.__class__ is not Slot:
            numbers.setdefault(float(value).hex(), first + len(numbers))
    count = first + len(numbers)
    free: list[int] = []
    last = program.last_uses()
    steps = []
    for place, call in enumerate(calls):
        operands = tuple(
            slots[a.number] if a.__class__ is Slot else numbers[float(a).hex()]
            for a in arrays_of(call)
        )
        for n in set(call.reads):
            if last[n] == place and slots[n] >= first:
                free.append(slots[n])
        (made,) = call.makes
        if made not in slots:
            if not free:
                free.append(count)
                count += 1
            slots[made] = free.pop()
        scalars = call.arguments[len(operands) :]
        steps.append((call.name, slots[made], operands, tuple(map(float, scalars))))
    types = tuple(program.shapes[n][1].num for n in program.outputs)
    values = tuple(map(float.fromhex, numbers))
    return tuple(steps), len(program.inputs), types, values, count


def _twin(program: Program, backend: Any) -> Callable[..., tuple]:
    """The fused formulas one by one, for arrays that are declined; made when it is needed."""
    made: list[Callable[..., tuple]] = []

    def twin(*arrays: Any) -> tuple:
        if not made:
            made.append(loop_of(reuse_memory(program), backend))
        return made[0](*arrays)

    return twin
