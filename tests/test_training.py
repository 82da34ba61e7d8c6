"""Same seed, same run as torch: weights, shuffles, dropout masks, and so every loss."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import nnkit
import nnkit.utils.data
from tests.training_programs import PROGRAMS, losses

EXPECTED = Path(__file__).parent / "expected" / "training.json"
TOLERANCE = 1e-5  # relative, at every one of 50 steps


@pytest.mark.parametrize("name", PROGRAMS)
def test_losses_are_torchs(name: str) -> None:
    expected = json.loads(EXPECTED.read_text())[name]
    assert losses(nnkit, nnkit.utils.data, name) == pytest.approx(expected, rel=TOLERANCE, abs=0)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("seed", [1, 123456789])
def test_losses_are_torchs_for_other_seeds(name: str, seed: int, torch) -> None:
    import torch.utils.data

    expected = losses(torch, torch.utils.data, name, seed=seed)
    found = losses(nnkit, nnkit.utils.data, name, seed=seed)
    assert found == pytest.approx(expected, rel=TOLERANCE, abs=0)


def test_another_seed_is_another_run() -> None:
    first, second = (losses(nnkit, nnkit.utils.data, "mlp", 3, seed) for seed in (0, 1))
    assert first != second


def write() -> None:
    """Write the expectations from torch: ``python -m tests.test_training``."""
    import torch
    import torch.utils.data

    found = {name: losses(torch, torch.utils.data, name) for name in PROGRAMS}
    EXPECTED.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    write()
