"""``options={"check": n}``: replays beside eager steps."""

from __future__ import annotations

import pytest

import nnkit
from tests.compiler.programs import PROGRAMS
from tests.compiler.test_programs import bits, state

NAMES = ("optimizer_adam", "model_batch_norm", "model_dropout", "scaled_loss", "two_models",
         "accumulation_over_calls", "schedule_one_cycle", "clipping_by_norm")  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_checked_replays_change_nothing(name: str) -> None:
    seen = []
    for check in (0, 4):
        nnkit.manual_seed(0)
        step, holders, batch = PROGRAMS[name]()
        step = nnkit.compile(step, options={"check": check})
        found = [(bits(step(*batch(i))), state(holders)) for i in range(10)]
        assert step.program()
        seen.append(found)
    assert seen[0] == seen[1]


def test_other_bits_are_found() -> None:
    step = nnkit.compile(lambda x: x * 2, options={"check": 100})
    x = nnkit.ones(3)
    for _ in range(3):
        step(x)
    (entry,) = [e for entries in step.entries.values() for e in entries]
    entry.run = lambda leaves: leaves[0] * 3
    with pytest.raises(RuntimeError, match="has other bits in a result"):
        step(x)
