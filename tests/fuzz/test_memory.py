"""Memory stays flat, for some hundred steps; `python -m tests.fuzz.memory` takes more."""

import mmap
import subprocess
import sys

from tests.fuzz.memory import growth


def test_is_flat():
    """In a process of its own, whose memory other tests do not move."""
    command = [sys.executable, "-m", "tests.fuzz.memory", "--steps", "500"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_sees_what_grows():
    kept = []

    def keep() -> None:
        kept.append(mmap.mmap(-1, 1_000_000))  # of no heap, which may have room
        kept[-1].write(bytes(1_000_000))

    assert growth(keep, 100) > 50
