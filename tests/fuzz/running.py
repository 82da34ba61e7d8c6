"""A program: statements that print as Python, run one after the other as in a notebook."""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from types import CodeType, ModuleType
from typing import Any

from tests.fuzz.arbitrary import arbitrary
from tests.fuzz.evidence import Difference
from tests.fuzz.flow import Flow
from tests.fuzz.observe import Observer, builtin_error, difference
from tests.fuzz.prelude import SOURCE, needed
from tests.harness.call import reseed

SEED = 0  # of the framework's generator, at the start of each program


@dataclass(frozen=True)
class Statement:
    """One or a few lines of Python in which ``T`` is the framework."""

    kind: str
    source: str


@functools.lru_cache(256)
def _compiled(source: str) -> CodeType:
    return compile(source, "<statement>", "exec")


Program = Sequence[Statement]


@functools.cache
def _start(framework: ModuleType) -> dict[str, Any]:
    """The names that every program begins with; the definitions are made once."""
    warnings.simplefilter("ignore")
    namespace: dict[str, Any] = {"T": framework}
    exec(SOURCE, namespace)
    return namespace


class Run:
    """A program under way in one framework."""

    def __init__(self, framework: ModuleType) -> None:
        self.framework = framework
        start = _start(framework)
        self.log = start["log"]
        self.log.clear()
        self.namespace = dict(start)
        self.skip = len(self.namespace)
        self.observer = Observer(framework)
        self.restore()
        reseed(framework, SEED)

    def restore(self) -> None:
        """The modes that a program may have left behind."""
        self.framework.set_grad_enabled(True)
        self.framework.autograd.set_detect_anomaly(False)

    def step(self, statement: Statement) -> dict[str, Any]:
        """Run one statement and return what can be seen afterwards."""
        error = None
        try:
            exec(_compiled(statement.source), self.namespace)
        except Exception as raised:
            error = builtin_error(raised)
        records = self.observer.look(self.namespace, self.skip, self.log)
        return {"error": error, **records}


@dataclass(frozen=True, eq=False)
class Finding:
    """The first statement after which the frameworks show something different."""

    program: tuple[Statement, ...]
    label: str
    aspect: str
    expected: Any
    actual: Any
    seed: int | None = None

    def __hash__(self) -> int:
        return hash(self.program)

    def __eq__(self, other: object) -> bool:
        """Whether the programs are equal: a NaN that was found is not equal to itself."""
        return isinstance(other, Finding) and self.program == other.program

    @property
    def group(self) -> str:
        """Programs that differ in the same way after the same kind of statement."""
        last = re.sub(r"\bx\d+\b", "x", self.program[-1].source)
        last = re.sub(r"\[[\[\]\d., -]*\]|-?\b\d+(\.\d+)?\b", "#", last)
        return f"{self.aspect} | {self.program[-1].kind} | {last}"

    def __str__(self) -> str:
        return (
            f"{script(self.program)}\n"
            f"# {self.label}: {self.aspect} is {self.expected} in torch, {self.actual} in nnkit"
        )


def script(program: Program) -> str:
    """The program as text that runs once ``T`` is imported."""
    source = "\n".join(statement.source for statement in program)
    return "\n".join([*needed(source), source])


def observe(program: Program, framework: ModuleType) -> list[dict[str, Any]]:
    """What is seen after each statement."""
    run = Run(framework)
    return [run.step(statement) for statement in program]


def compare(
    program: Program, expected: list[dict[str, Any]], framework: ModuleType
) -> Finding | None:
    """Run a program until something differs from what was expected."""
    run = Run(framework)
    flow = Flow()
    before: dict[str, Any] = {}
    wanted_before: dict[str, Any] = {}
    try:
        for index, statement in enumerate(program):
            wanted = expected[index]
            flow.follow(statement.source, wanted)
            shown = run.step(statement)
            found = _difference(shown, wanted, flow)
            if found is not None:
                finding = Finding(tuple(program[: index + 1]), *found)
                earlier = "\n".join(each.source for each in program[:index])
                records = before, shown, wanted, wanted_before
                seen = Difference(*found, statement.source, earlier, *records)
                return None if arbitrary(seen) else finding
            before, wanted_before = shown, wanted
    finally:
        run.restore()
    return None


def _difference(actual: dict, expected: dict, flow: Flow) -> tuple[str, str, Any, Any] | None:
    if actual["error"] != expected["error"]:
        return "error", "error", expected["error"], actual["error"]
    return difference(actual, expected, flow)
