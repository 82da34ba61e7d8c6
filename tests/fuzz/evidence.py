"""The difference between two runs, as the rules of what torch leaves open look at it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.fuzz.observe import ASPECTS, array_of, record_of


@dataclass(frozen=True)
class Difference:
    """What a rule may look at."""

    label: str
    aspect: str
    expected: Any
    actual: Any
    statement: str
    earlier: str  # those before it
    before: dict[str, Any]  # nnkit's records before the statement,
    shown: dict[str, Any]  # after it,
    wanted: dict[str, Any]  # and torch's after it,
    wanted_before: dict[str, Any]  # and before

    def seen(self, aspect: str, records: dict[str, Any], label: str | None = None) -> Any:
        """One aspect of a tensor, by default the one that differs; None if there was none."""
        record = record_of(records, label or self.label)
        return record and record[ASPECTS.index(aspect)]

    @property
    def errors(self) -> tuple:
        return self.wanted["error"], self.shown["error"]

    def operands(self) -> list[np.ndarray]:
        """The numbers that the tensors which the statement names held before it."""
        contents = [record_of(self.before, name) for name in self.named()]
        return [array_of(c) for c in contents if c and c[2] and c[0] != "bfloat16"]

    def apart_before(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """torch's and nnkit's numbers of the named tensors, where a rounding or memory that nobody
        wrote had already made them differ."""
        records = [
            (record_of(self.wanted_before, n), record_of(self.before, n)) for n in self.named()
        ]
        pairs = [(a, b) for a, b in records if a and b and a[0] == b[0] and a[2] and b[2]]
        return [(array_of(a), array_of(b)) for a, b in pairs if a[2] != b[2]]

    def named(self) -> list[str]:
        """The tensors that the statement names."""
        return [
            n for n in re.findall(r"\b(?:[nx]\d+|_)\b", self.statement) if record_of(self.before, n)
        ]


def in_statement(pattern: str, *aspects: str) -> Callable[[Difference], bool]:
    """Whether one of the aspects differs after a statement with a pattern."""
    return lambda d: d.aspect in aspects and re.search(pattern, d.statement) is not None
