"""Effects of a step on Tensors that exist outside of it, found by comparing before and after.

Nothing tells when a gradient, a write counter or the memory of a Tensor changes; so all Tensors
that live are looked at, before a recorded run and where it ends.
"""

from __future__ import annotations

from typing import Any

from nnkit.autograd.tensor import UNTRACKED, Tensor, wrap
from nnkit.backend.device import cpu
from nnkit.backend.program.source import defined


class State:
    """A snapshot of one Tensor, without its elements."""

    __slots__ = ("base", "data", "edge", "grad", "hooks", "requires_grad", "version", "writes")

    def __init__(self, tensor: Any) -> None:
        self.data = tensor._data
        self.grad = tensor._grad
        self.writes = tensor._writes
        self.version = tensor._writes[0] if tensor._writes.__class__ is list else None
        self.requires_grad = tensor._requires_grad
        self.edge = tensor._edge
        self.base = tensor._base
        self.hooks = tensor._hooks


class World:
    """The Tensors that lived when a recording began, and how they were when last looked at."""

    def __init__(self) -> None:
        self.tensors: dict[int, Tensor] = {}
        self.states: dict[int, State] = {}
        self.entry: dict[int, State] = {}
        self.holders: dict[int, list[Tensor]] = {}
        for t in Tensor._living():
            if hasattr(t, "_data"):
                self.add(t)

    def add(self, tensor: Tensor) -> None:
        """Take a Tensor for one that was there when the recording began."""
        key = id(tensor)
        self.tensors[key] = tensor
        self.states[key] = self.entry[key] = State(tensor)
        self.holders.setdefault(id(tensor._data), []).append(tensor)

    def look(self) -> None:
        """Take how they are now for what they are compared with next."""
        self.states = {key: State(t) for key, t in self.tensors.items()}

    def __contains__(self, tensor: Any) -> bool:
        return id(tensor) in self.tensors

    def changes(self) -> list[tuple[Tensor, State, State]]:
        """The Tensors that were changed since: as they were, and as they are."""
        changed = []
        for key, t in self.tensors.items():
            old = self.states[key]
            writes = t._writes
            if (
                t._grad is not old.grad
                or t._data is not old.data
                or writes is not old.writes
                or (old.version is not None and writes[0] != old.version)
                or t._requires_grad != old.requires_grad
                or t._edge is not old.edge
                or t._hooks is not old.hooks
                or t._base is not old.base
            ):
                changed.append((t, old, State(t)))
        return changed


class Effects:
    """Code that gives Tensors what a step has given them: lines of Python over arrays.

    ``target`` says how a Tensor is called in it, and ``source`` how an array is; each is None for
    what it cannot name.
    """

    def __init__(self, target: Any, source: Any) -> None:
        self.target = target
        self.source = source
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {"wrap": wrap, "cpu": cpu}
        self.reads: list[int] = []
        self.made: dict[int, str] = {}  # the names of Tensors that each run makes, by id
        self.kept: dict[int, Tensor] = {}  # these Tensors, so that no id is used twice
        self.refusal: str | None = None

    def refuse(self, reason: str) -> None:
        if self.refusal is None:
            self.refusal = reason

    def name(self, value: Any) -> str:
        """A name for an object that is the same in each replay."""
        name = f"v{len(self.scope)}"
        self.scope[name] = value
        return name

    def buffer(self, number: int) -> str:
        """The name of a buffer of the program."""
        if number not in self.reads:
            self.reads.append(number)
        return f"b{number}"

    def add(self, changes: list[tuple[Tensor, State, State]]) -> None:
        """The lines for what has changed."""
        counted: set[int] = set()
        for tensor, old, new in changes:
            name = self.target(self, tensor)
            if name is None:
                continue
            reason = _beyond(old, new)
            if reason:
                self.refuse(reason)
            elif new.data is not old.data:
                self.replaced_data(name, new)
            if new.version != old.version and id(new.writes) not in counted:
                counted.add(id(new.writes))
                count = new.version - old.version  # pyright: ignore[reportOptionalOperand]
                self.lines += [
                    f"writes = {name}._writes",
                    f"writes[0] += {count}",
                    f"writes[1] = {new.writes[1]!r}",
                ]
            if new.grad is not old.grad:
                self.lines.append(f"{name}._grad = {self.gradient(new.grad)}")

    def replaced_data(self, name: str, new: State) -> None:
        number = self.source(new.data)
        if number is None:
            return self.refuse("a tensor is given other memory")
        self.lines.append(f"{name}._data = {self.buffer(number)}")

    def gradient(self, grad: Any) -> str:
        if grad is None:
            return "None"
        return self.tensor(grad) or "None"

    def tensor(self, tensor: Any) -> str | None:
        """The name of a Tensor that is new in each replay; None where it cannot be made."""
        known = self.target(self, tensor)
        if known is not None:
            return known
        name = self.made.get(id(tensor))
        if name is not None:
            return name
        number = self.source(tensor._data)
        if number is None:
            return self.refuse("a tensor is made of memory that no primitive made")
        if type(tensor) is not Tensor or tensor._device is not cpu:
            return self.refuse(f"a tensor of class {type(tensor).__name__} is made")
        if tensor._hooks is not None:
            return self.refuse("a hook is registered on a tensor that the step makes")
        name = self.made[id(tensor)] = f"t{len(self.made)}"
        self.kept[id(tensor)] = tensor
        self.lines.append(f"{name} = wrap({self.buffer(number)})")
        writes = tensor._writes
        if writes is UNTRACKED:
            self.scope["UNTRACKED"] = UNTRACKED
            self.lines.append(f"{name}._writes = UNTRACKED")
        elif writes.__class__ is not list:
            return self.refuse("an inference tensor is made that has a counter of writes")
        elif writes[0]:
            self.lines.append(f"{name}._writes[0] = {writes[0]}")
        return name

    def function(self, last: str) -> Any:
        """The function of the arrays it reads; ``last`` is its last line."""
        parameters = ", ".join(f"b{n}" for n in self.reads)
        lines = "".join(f"    {line}\n" for line in [*self.lines, last])
        source = f"def effects({parameters}):\n{lines}"
        return defined("effects", source, "<effects>", self.scope)


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
