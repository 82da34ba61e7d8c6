"""Functions that write in place under transforms; see `tests.fuzz.writes`."""

from __future__ import annotations

from types import ModuleType

import pytest

import nnkit
from tests.fuzz.writes import check


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(0, 400, 20))
def test_writes_have_the_derivatives_of_torch(seed: int, torch: ModuleType) -> None:
    found = "".join(check(each, torch, nnkit) for each in range(seed, seed + 20))
    assert not found, found
