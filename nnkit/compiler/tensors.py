"""Effects of a step on Tensors that exist outside of it, found by comparing before and after.

Nothing tells when a gradient, a write counter or the memory of a Tensor changes; so all Tensors
that live are looked at, before a recorded run and where it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, NamedTuple

from nnkit.autograd.compiled import count_writes
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.autograd.views.counters import UNTRACKED
from nnkit.backend.cpu.native import MODULE
from nnkit.backend.device import cpu
from nnkit.backend.door import Slot
from nnkit.backend.program import looped


class State(NamedTuple):
    """A snapshot of one Tensor, without its elements."""

    data: Any
    grad: Any
    writes: Any
    version: int | None
    requires_grad: bool
    edge: Any
    base: Any
    hooks: Any


# A parameter that has no shape yet lets nobody read what it is made of in another way.
data_of = Tensor.__dict__["_array"].__get__


def state_of(t: Any) -> State:
    """How a Tensor is now."""
    writes = t._writes
    version = writes[0] if writes.__class__ is list else None
    found = data_of(t), t._grad, writes, version, t._requires_grad, t._edge, t._base, t._hooks
    # The class has its own __new__ from a string, which a trace would take for the user's code.
    return tuple.__new__(State, found)


def _has_data(t: Any) -> bool:
    try:
        return data_of(t) is not None
    except AttributeError:  # it is being made
        return False


def _states(kind: type[State], tensors: list) -> tuple[dict[int, Tensor], dict[int, State]]:
    known = {id(t): t for t in tensors if _has_data(t)}
    return known, {key: state_of(t) for key, t in known.items()}


def _changed(tensors: dict[int, Tensor], states: dict[int, State]) -> list[Tensor]:
    def differs(t: Tensor) -> bool:
        old, new = states[id(t)], state_of(t)
        others = zip(old._replace(version=None), new._replace(version=None))
        return old.version != new.version or any(a is not b for a, b in others)

    return [t for t in tensors.values() if differs(t)]


find_states: Callable = _states if MODULE is None else MODULE.states
find_changed: Callable = _changed if MODULE is None else MODULE.changed


class World:
    """The Tensors that lived when a recording began, and how they were when last looked at."""

    def __init__(self) -> None:
        self.tensors: dict[int, Tensor]
        self.tensors, self.entry = find_states(State, Tensor._living())
        self.states: dict[int, State] = dict(self.entry)

    def add(self, tensor: Tensor) -> None:
        """Take a Tensor for one that was there when the recording began."""
        key = id(tensor)
        self.tensors[key] = tensor
        self.states[key] = self.entry[key] = state_of(tensor)

    @cached_property
    def holders(self) -> dict[int, list[Tensor]]:
        """The Tensors that were on each array, by its id."""
        found: dict[int, list[Tensor]] = {}
        for key, state in self.entry.items():
            found.setdefault(id(state.data), []).append(self.tensors[key])
        return found

    def look(self) -> None:
        """Take how they are now for what they are compared with next."""
        self.states = find_states(State, list(self.tensors.values()))[1]

    def __contains__(self, tensor: Any) -> bool:
        return id(tensor) in self.tensors

    def changes(self) -> list[tuple[Tensor, State, State]]:
        """The Tensors that were changed since: as they were, and as they are."""
        changed = find_changed(self.tensors, self.states)
        return [(t, self.states[id(t)], state_of(t)) for t in changed]


class Effects:
    """Calls that give Tensors what a step has given them, over arrays.

    ``target`` says what stands for a Tensor in them, and ``source`` which buffer holds an array;
    each is None for what it does not know.

    Attributes:
        reads: the buffers that they are given.
        made: what stands for the Tensors that each run makes, by id.
        refusal: why they cannot be made, None if they can.
    """

    def __init__(self, target: Any, source: Any) -> None:
        self.target = target
        self.source = source
        self.reads: list[int] = []
        self.calls: list[tuple] = []
        self.constants: dict[int, Any] = {}
        self.made: dict[int, Slot] = {}
        self.kept: dict[int, Tensor] = {}  # these Tensors, so that no id is used twice
        self.refusal: str | None = None
        self.own = 0  # buffers of their own, whose numbers are negative

    def refuse(self, reason: str) -> None:
        if self.refusal is None:
            self.refusal = reason

    def buffer(self, number: int) -> Slot:
        """The slot of a buffer of the program."""
        if number not in self.reads:
            self.reads.append(number)
        return Slot(number)

    def _new(self) -> Slot:
        self.own += 1
        return Slot(-self.own)

    def do(self, function: Any, *arguments: Any) -> None:
        """Call a function for what it does."""
        self.calls.append((function, arguments, None, ()))

    def call(self, function: Any, *arguments: Any) -> Slot:
        """Call a function; what stands for its result."""
        result = self._new()
        self.calls.append((function, arguments, result, ()))
        return result

    def add(self, changes: list[tuple[Tensor, State, State]]) -> None:
        """The calls for what has changed."""
        counted: set[int] = set()
        for tensor, old, new in changes:
            target = self.target(self, tensor)
            if target is None:
                continue
            reason = _beyond(old, new)
            if reason:
                self.refuse(reason)
            elif new.data is not old.data:
                self.replaced_data(target, new)
            if new.version != old.version and id(new.writes) not in counted:
                counted.add(id(new.writes))
                count = (new.version or 0) - (old.version or 0)
                self.do(count_writes, target, count, new.writes[1])
            if new.grad is not old.grad:
                grad = None if new.grad is None else self.tensor(new.grad)
                self.do(setattr, target, "_grad", grad)

    def replaced_data(self, target: Any, new: State) -> None:
        number = self.source(new.data)
        if number is None:
            return self.refuse("a tensor is given other memory")
        self.do(setattr, target, "_array", self.buffer(number))

    def tensor(self, tensor: Any) -> Any:
        """The stand-in for a Tensor, which may be new in each replay; None where it cannot be
        made."""
        known = self.target(self, tensor)
        if known is not None:
            return known
        made = self.made.get(id(tensor))
        if made is not None:
            return made
        number = self.source(tensor._array)
        if number is None:
            return self.refuse("a tensor is made of memory that no primitive made")
        if type(tensor) is not Tensor or tensor._device is not cpu:
            return self.refuse(f"a tensor of class {type(tensor).__name__} is made")
        if tensor._hooks is not None:
            return self.refuse("a hook is registered on a tensor that the step makes")
        made = self.made[id(tensor)] = self.call(wrap, self.buffer(number))
        self.kept[id(tensor)] = tensor
        writes = tensor._writes
        if writes is UNTRACKED:
            self.do(setattr, made, "_writes", UNTRACKED)
        elif writes.__class__ is not list:
            return self.refuse("an inference tensor is made that has a counter of writes")
        elif writes[0]:
            self.do(count_writes, made, writes[0], None)
        return made

    def function(self, results: Iterable[Any]) -> Any:
        """The function of the arrays it reads, to a tuple."""
        outputs = []
        for value in results:
            slot = value if value.__class__ is Slot else self._new()
            outputs.append(slot.number)
            if slot is not value:
                self.constants[slot.number] = value
        return looped(self.reads, self.constants, self.calls, outputs)


def _beyond(old: State, new: State) -> str | None:
    """The change of a Tensor that no replay can repeat, in words."""
    if new.requires_grad != old.requires_grad:
        return "requires_grad of a tensor from outside is changed"
    if new.edge is not old.edge or new.base is not old.base:
        return "a tensor from outside gets another history"
    if new.hooks is not old.hooks:
        return "a hook is registered on a tensor from outside"
    if new.writes is not old.writes:
        return "a tensor from outside is given other memory"
    return None
