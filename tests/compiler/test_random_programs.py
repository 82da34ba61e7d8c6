"""Random training programs, compiled and eager: the same bits."""

from types import ModuleType

import pytest

import nnkit
from tests.fuzz.training import Writer, check_compiled


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(1000, 1040))
def test_has_the_bits_of_the_eager_program(torch: ModuleType, seed: int) -> None:
    """torch tells the shapes of layers."""
    program = Writer(seed, torch).program()
    found = check_compiled(program, nnkit)
    assert not found, f"{program.source('compiled')}\n# {found}"
