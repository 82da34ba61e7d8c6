"""Some seconds of `tests.fuzz.outs`."""

from __future__ import annotations

from types import ModuleType

import pytest

import nnkit
from tests.fuzz.outs import chosen, differences


@pytest.mark.filterwarnings("ignore")
def test_what_becomes_of_out(torch: ModuleType) -> None:
    """Of each tenth function, by the first sample of its row."""
    assert list(differences([torch, nnkit], chosen()[::10], 1)) == []
