"""Programs see the same under nnkit as under torch, after each statement."""

from __future__ import annotations

import math
import pickle
from types import ModuleType

import pytest

import nnkit
from tests.fuzz.frozen import frozen, statements
from tests.fuzz.programs import find, in_processes, run_oracle
from tests.fuzz.regressions import REGRESSIONS
from tests.fuzz.running import Finding, compare, observe

FROZEN = frozen()
SEEDS = range(200)
pytestmark = pytest.mark.filterwarnings("ignore")  # both warn, torch where it wants to


@pytest.mark.parametrize("name", FROZEN)
def test_shows_what_torch_showed(name: str) -> None:
    program, expected = FROZEN[name]
    finding = compare(program, expected, nnkit)
    assert finding is None, f"\n{finding}"


@pytest.mark.parametrize("name", REGRESSIONS)
def test_shows_what_torch_shows(name: str, torch: ModuleType) -> None:
    program = statements(REGRESSIONS[name])
    finding = compare(program, observe(program, torch), nnkit)
    assert finding is None, f"\n{finding}"


def test_every_regression_is_kept() -> None:
    assert set(REGRESSIONS) <= set(FROZEN), "python -m tests.fuzz.frozen"


def test_a_finding_that_holds_nan_is_known_again() -> None:
    finding = Finding((), "x0", "values", math.nan, 0.0)
    assert pickle.loads(pickle.dumps(finding)) == finding


def test_random_programs(torch: ModuleType) -> None:
    """In a process of its own, since torch does not survive every program."""
    found, ended = in_processes(find, SEEDS, 1)
    assert not found, "\n\n".join(map(str, found.values()))
    assert set(ended) == set(in_processes(run_oracle, ended, 1)[1] if ended else ())
