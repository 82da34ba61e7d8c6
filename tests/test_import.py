"""What ``import nnkit`` costs and loads, each time in a fresh interpreter."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# Optional or slow to load: imported by the function that needs them, when it is called.
LAZY = (
    *("torch", "cupy", "matplotlib", "safetensors", "tqdm", "mpi4py", "pandas", "scipy"),
    *("multiprocessing", "concurrent", "subprocess", "sqlite3", "unittest", "doctest", "asyncio"),
    *("http", "urllib.request", "ssl", "xml", "email"),
)


def python(*arguments: str) -> str:
    """The output of a fresh interpreter in which warnings are errors."""
    command = [sys.executable, "-W", "error", *arguments]
    # An installed package has its byte code written; so has ours, whatever the shell says.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    """What importing nnkit loads beyond what NumPy and ml_dtypes do."""
    show = "import sys, {}; print(' '.join(sys.modules))"
    before = python("-c", show.format("numpy, ml_dtypes")).split()
    return set(python("-c", show.format("nnkit")).split()) - set(before)


@pytest.mark.parametrize("module", LAZY)
def test_is_not_loaded(loaded: set[str], module: str) -> None:
    assert not [name for name in loaded if name == module or name.startswith(module + ".")]


def test_import_is_cheap() -> None:
    """At most 0.1 s or, where a machine is slow, one and a half times NumPy's own import, which it
    takes 0.7 to 1.2 times: the least of several times of both, as machines stutter."""
    program = (
        "import time; start = time.process_time(); import numpy; between = time.process_time();"
        "import nnkit; print(between - start, time.process_time() - between)"
    )
    python("-c", program)  # writes the byte code
    runs = [tuple(map(float, python("-c", program).split())) for _ in range(7)]
    numpy, own = map(min, zip(*runs, strict=True))
    assert own <= max(0.1, 1.5 * numpy)


def test_module_runs() -> None:
    """``python -m nnkit`` tells a bug report what it needs."""
    output = python("-m", "nnkit")
    assert "nnkit" in output and "numpy" in output.lower()
