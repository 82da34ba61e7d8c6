"""Random programs of random draws; see `tests.fuzz.draws`."""

from __future__ import annotations

from types import ModuleType

import pytest

import nnkit
from tests.fuzz.draws import check


@pytest.mark.parametrize("seed", range(200))
def test_numbers_and_states_are_torchs(seed: int, torch: ModuleType) -> None:
    what = check(seed, torch, nnkit)
    assert not what, what
