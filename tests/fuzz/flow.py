"""Which dtypes' rounding errors a value may carry: those of all that it was computed from."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from tests.harness.tolerances import TOLERANCES

HIDDEN = "ohs"  # what optimizers, hooks and schedulers hold cannot be seen: they may bring anything


def coarsest(dtypes: Iterable[str]) -> str:
    """The dtype of the largest tolerance; float64 where there is none."""
    known = [dtype for dtype in dtypes if dtype in TOLERANCES]
    return max(known, key=TOLERANCES.__getitem__, default="float64")


class Flow:
    """Follows a program, statement by statement."""

    def __init__(self) -> None:
        self.dtypes: dict[str, str] = {}  # by label, of what has flowed there
        self.records: dict[str, Any] = {}

    def __getitem__(self, label: str) -> str:
        return self.dtypes[label]

    def follow(self, statement: str, records: dict[str, Any]) -> None:
        """Let what the statement names flow into all that it made or changed."""
        named = set(re.findall(r"\b[a-z]\d+\b", statement))
        everything = any(name[0] in HIDDEN for name in named)
        brought = [d for label, d in self.dtypes.items() if everything or _root(label) in named]
        brought += re.findall("|".join(TOLERANCES), statement)
        source = coarsest(brought)
        for label, record in records.items():
            if isinstance(record, tuple) and record != self.records.get(label):
                kept = self.dtypes.get(label, "float64")
                self.dtypes[label] = coarsest((source, kept, record[0]))
        self.records = records


def _root(label: str) -> str:
    return re.split(r"[.\[]", label, maxsplit=1)[0]
