"""The buffers of a program that may lie in the same memory, and those that are written."""

from __future__ import annotations

from nnkit.backend.program.program import Call, Outside, Program

OUTER = -1  # stands for all memory from outside, of which nothing is known


class Aliases:
    """The memory of each buffer: buffers of one ``root`` may lie in one another.

    Attributes:
        written: the roots that a call writes.
        escaping: the roots that something outside of the program is given, or gives.
        public: the roots that are written or seen outside.
    """

    def __init__(self, program: Program) -> None:
        self.roots: dict[int, int] = dict.fromkeys((*program.inputs, *program.constants), OUTER)
        for call in program.calls:
            given = [self.root(n) for n in call.reads] if call.shares else []
            for number in call.makes:
                known = [*given, *([self.root(number)] if number in self.roots else [])]
                self.roots[number] = number
                for other in known:
                    self._unite(self.root(number), other)
        self.written: set[int] = set()
        self.escaping: set[int] = {self.root(n) for n in program.outputs}
        for call in program.calls:
            if call.writes:
                self.written.update(map(self.root, call.writes))
            if call.__class__ is Outside:
                self.escaping.update(map(self.root, (*call.reads, *call.makes)))
        self.public = self.written | self.escaping | {OUTER}

    def root(self, number: int) -> int:
        """The buffer that stands for all which may share memory with buffer ``number``."""
        while True:
            parent = self.roots.get(number, number)
            if parent in (number, OUTER):
                return parent
            number = parent

    def _unite(self, one: int, other: int) -> None:
        if one != other:
            low, high = sorted((one, other))  # OUTER is the lowest
            self.roots[high] = low

    def is_private(self, call: Call) -> bool:
        """Whether nobody writes what a call makes, and nobody outside sees it."""
        return self.public.isdisjoint(map(self.root, call.makes))
