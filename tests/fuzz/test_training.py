"""Training programs at random; `python -m tests.fuzz.training` goes on."""

from types import ModuleType

import pytest

import nnkit
from tests.fuzz.training import Writer, check


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(80))
def test_trains_as_torch_does(torch: ModuleType, seed: int) -> None:
    program = Writer(seed, torch).program()
    found = check(program, torch, nnkit)
    assert not found, f"{program}\n# {found}"
