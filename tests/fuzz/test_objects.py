"""A few seconds of wrong constructions and uses, of what the fuzzer finds nothing in."""

from __future__ import annotations

from types import ModuleType

import pytest

import nnkit
from tests.fuzz.calls import changed_call, examine
from tests.fuzz.objects.compare import seen
from tests.fuzz.objects.table import table

CLEAN = (
    r"nn\.(Linear|Sequential|ModuleList|ModuleDict|ParameterList|ParameterDict|Conv2d|LayerNorm)"
    r"|nn\.init|optim\.(SGD|Adam|AdamW|lr_scheduler\.(StepLR|LinearLR|ExponentialLR))"
    r"|distributions\.(Normal|Uniform)|utils\.data\.(BatchSampler|RandomSampler|random_split)"
    r"|module_hook_returns|tensor_hook_returns|gradient_is|assigned"
)


@pytest.mark.filterwarnings("ignore")
def test_wrong_uses(torch: ModuleType) -> None:
    valid = table(f"^({CLEAN})$")
    found = [examine(*changed_call(valid, 1500020, n), [torch, nnkit], seen) for n in range(1500)]
    assert [finding for finding in found if finding is not None] == []
