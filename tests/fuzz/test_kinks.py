"""Some seconds of `tests.fuzz.kinks`."""

from __future__ import annotations

from types import ModuleType

import pytest

import nnkit
from tests.fuzz.kinks import chosen, differences


@pytest.mark.filterwarnings("ignore")
def test_derivatives_at_kinks(torch: ModuleType) -> None:
    """Of each fifteenth function, by the first sample of its row."""
    assert list(differences([torch, nnkit], chosen()[::15], 1)) == []
