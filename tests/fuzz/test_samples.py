"""torch's samples of ops for which they find nothing; `python -m tests.fuzz.samples` goes on."""

import subprocess
import sys
from pathlib import Path

import pytest

CLEAN = ["diagonal_scatter", "sgn", "index_add"]


def test_no_findings() -> None:
    """In a process of its own: a child of one in which torch has started threads may hang."""
    pytest.importorskip("torch")
    pytest.importorskip("expecttest")
    command = [sys.executable, "-m", "tests.fuzz.samples", "--seconds", "60", "--seed", "7"]
    command += [word for name in CLEAN for word in ("--op", name)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
