"""Random networks under the transforms of ``func``; see `tests.fuzz.functions`."""

from __future__ import annotations

from types import ModuleType

import pytest

import nnkit
from tests.fuzz.functions import check


@pytest.mark.parametrize("seed", range(60))
def test_a_network_is_transformed_as_in_torch(seed: int, torch: ModuleType) -> None:
    what = check(seed, torch, nnkit)
    assert not what, what
