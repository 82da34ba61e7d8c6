"""A few seconds of wrong calls, on functions for which the fuzzer finds nothing."""

from __future__ import annotations

from types import ModuleType

import pytest

import nnkit
from tests.fuzz.calls import examine

CLEAN = ["sum", "mean", "amax", "transpose", "unsqueeze", "flatten", "tril", "argmax", "topk"]


@pytest.mark.filterwarnings("ignore")
def test_wrong_calls(torch: ModuleType) -> None:
    found = [examine(11, number, CLEAN, [torch, nnkit]) for number in range(1500)]
    assert [finding for finding in found if finding is not None] == []
