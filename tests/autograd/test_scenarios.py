"""Programs that use autograd as users do: the same results on nnkit and on torch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import nnkit
from tests.autograd import (
    checkpoint_scenarios,
    conjugation_scenarios,
    function_scenarios,
    hook_scenarios,
    leaf_scenarios,
    node_scenarios,
    scenarios,
    view_scenarios,
)

SCENARIOS = {}
for module in (
    scenarios,
    view_scenarios,
    function_scenarios,
    hook_scenarios,
    node_scenarios,
    leaf_scenarios,
    checkpoint_scenarios,
    conjugation_scenarios,
):
    SCENARIOS |= module.SCENARIOS
EXPECTED = Path(__file__).parents[1] / "expected" / "scenarios.json"


def normal(name: str, framework) -> str:
    return repr(SCENARIOS[name](framework))


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")
@pytest.mark.parametrize("name", SCENARIOS)
def test_same_as_torch(name: str) -> None:
    frozen = json.loads(EXPECTED.read_text())
    assert normal(name, nnkit) == frozen[name]


@pytest.mark.filterwarnings("ignore::UserWarning")  # torch's own
@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")  # jvp's
@pytest.mark.parametrize("name", SCENARIOS)
def test_expectation_is_still_what_torch_gives(name: str, torch) -> None:
    assert normal(name, torch) == json.loads(EXPECTED.read_text())[name]


def write() -> None:
    """Write the expectations from torch: ``python -m tests.autograd.test_scenarios``."""
    import torch

    found = {name: normal(name, torch) for name in SCENARIOS}
    EXPECTED.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    write()
