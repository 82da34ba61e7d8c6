"""A few seconds of wrong calls, on functions for which the fuzzer finds nothing."""

from __future__ import annotations

from types import ModuleType

import pytest

import nnkit
from tests.fuzz.calls import changed_call, examine, rows

CLEAN = ["sum", "mean", "amax", "transpose", "unsqueeze", "flatten", "tril", "argmax", "topk"]


@pytest.mark.filterwarnings("ignore")
def test_wrong_calls(torch: ModuleType) -> None:
    valid = rows(f"^({'|'.join(CLEAN)})$")
    found = [examine(*changed_call(valid, 12, n), [torch, nnkit]) for n in range(1500)]
    assert [finding for finding in found if finding is not None] == []
