"""Ordinary programs, with the same seed, see the same numbers in nnkit as in torch."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest

import nnkit
from tests.programs import PROGRAMS

EXPECTED = Path(__file__).parent / "expected" / "programs.json"
TOLERANCE = 1e-5  # relative, at every step


def run(framework: ModuleType, name: str, seed: int) -> list[float]:
    framework.manual_seed(seed)
    return PROGRAMS[name](framework)


@pytest.mark.parametrize("name", PROGRAMS)
def test_sees_what_torch_saw(name: str) -> None:
    expected = json.loads(EXPECTED.read_text())[name]
    assert run(nnkit, name, 0) == pytest.approx(expected, rel=TOLERANCE, abs=1e-7)


@pytest.mark.parametrize("name", PROGRAMS)
def test_sees_what_torch_sees(name: str, torch: ModuleType) -> None:
    expected = run(torch, name, 7)
    assert run(nnkit, name, 7) == pytest.approx(expected, rel=TOLERANCE, abs=1e-7)


def write() -> None:
    """Write the expectations from torch: ``python -m tests.test_programs``."""
    import torch

    found = {name: run(torch, name, 0) for name in PROGRAMS}
    lines = [f'"{name}": {json.dumps(numbers)}' for name, numbers in found.items()]
    EXPECTED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    write()
