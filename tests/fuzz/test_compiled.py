"""Functions at random, compiled; `python -m tests.fuzz.compiled` goes on."""

import pytest

import nnkit
from tests.fuzz.compiled import check


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(0, 120, 3))
def test_has_the_bits_of_the_eager_function(seed: int) -> None:
    found = "".join(check(each, nnkit, nnkit) for each in range(seed, seed + 3))
    assert not found, found
