"""torch's answers about ops that are no arrays: asked, or read from one file for all rows."""

from __future__ import annotations

import functools
import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

from tests.harness.expectations import torch
from tests.harness.row import OpRow

FOLDER = Path(__file__).parent.parent / "expected"


def by_name(reasons: dict[str, str]) -> dict[str, str]:
    """The reason why an op is left out, by its name; given the names for each reason."""
    return {name: reason for reason, names in reasons.items() for name in names.split()}


class Answers:
    """What ``ask(framework, row)`` gives of each row: answers by the name of a call, None where it
    is refused.

    Args:
        file: where torch's are stored, in the folder of what is expected.
        rows: the rows that are compared.
        module: which freezes them anew, as a command.
    """

    def __init__(
        self, file: str, rows: Sequence[OpRow], ask: Callable[[ModuleType, OpRow], dict],
        module: str,
    ) -> None:  # fmt: skip
        self.path, self.rows, self.ask = FOLDER / file, rows, ask
        self.hint = f"run: python -m {module}"

    @functools.cached_property
    def stored(self) -> dict[str, dict]:
        return json.loads(gzip.decompress(self.path.read_bytes()))

    def differences(self, found: dict, wanted: dict) -> dict:
        """Where both answer: what is refused is tested elsewhere, and torch does not always refuse
        what it cannot read, such as batch sizes with gaps."""
        assert found.keys() == wanted.keys(), self.hint
        pairs = {key: (answer, wanted[key]) for key, answer in found.items()}
        return {k: pair for k, pair in pairs.items() if None not in pair and pair[0] != pair[1]}

    def compare(self, framework: ModuleType, row: OpRow) -> dict:
        """The differences to what is stored, which must be torch's where it is installed."""
        stored = self.stored[row.name]
        if torch is not None:
            assert not self.differences(stored, self.ask(torch, row)), self.hint
        return self.differences(self.ask(framework, row), stored)

    def check_file(self) -> None:
        """AssertionError unless the file has all rows."""
        assert list(self.stored) == [row.name for row in self.rows], self.hint

    def freeze(self) -> None:
        text = json.dumps(
            {row.name: self.ask(torch, row) for row in self.rows}, separators=(",", ":")
        )
        self.path.write_bytes(gzip.compress(text.encode(), mtime=0))
        print(f"{self.path.name}: {self.path.stat().st_size} bytes")
