"""From which call to which each memory of a program is there, and how much there is in all."""

from __future__ import annotations

from math import prod

from nnkit.backend.program.aliases import OUTER, Aliases
from nnkit.backend.program.program import Outside, Program


class Lifetimes:
    """The memory that the calls of a program make, by root.

    Attributes:
        first: the place of the call that makes each.
        last: that of the last one that touches it, one past the end for what is given back.
        sizes: bytes.
    """

    def __init__(self, program: Program) -> None:
        self.aliases = aliases = program.found(Aliases)
        self.calls = program.calls
        self.first: dict[int, int] = {}
        self.last: dict[int, int] = {}
        self.sizes: dict[int, int] = {}
        for place, call in enumerate(program.calls):
            for number in (*call.reads, *call.makes):
                root = aliases.root(number)
                if root != OUTER and number in program.shapes:
                    shape, dtype, _ = program.shapes[number]
                    size = prod(shape) * dtype.itemsize
                    self.sizes[root] = max(self.sizes.get(root, 0), size)
                    self.first.setdefault(root, place)
                    self.last[root] = place
        for number in program.outputs:
            self.last[aliases.root(number)] = len(program.calls)

    def profile(self) -> list[int]:
        """The bytes that are there while each call runs."""
        changes = [0] * (len(self.calls) + 2)
        for root, place in self.first.items():
            changes[place] += self.sizes[root]
            changes[self.last[root] + 1] -= self.sizes[root]
        there, total = [], 0
        for change in changes[: len(self.calls)]:
            total += change
            there.append(total)
        return there

    def peak(self) -> int:
        """The most bytes that are there at once."""
        return max(self.profile(), default=0)

    def are_untouched(self, numbers: list[int], begin: int, end: int) -> bool:
        """Whether buffers keep their elements from one call to before another one."""
        roots = {self.aliases.root(n) for n in numbers}
        for call in self.calls[begin:end]:
            if isinstance(call, Outside) and OUTER in roots:
                return False
            given = call.reads if isinstance(call, Outside) else call.writes
            if not roots.isdisjoint(map(self.aliases.root, given)):
                return False
        return True
