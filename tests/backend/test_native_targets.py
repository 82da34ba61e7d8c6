"""Whatever the instruction set, element-wise results have the same bits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import nnkit
from nnkit.backend.cpu import native
from tests.backend.native_cases import needs_native

ROOT = Path(nnkit.__file__).parent.parent
BUILT = [
    t for t in native.fitting_targets() if list((ROOT / "nnkit/backend/cpu/native").glob(f"_{t}.*"))
]

PROGRAM = """
from zlib import crc32
import numpy as np
from nnkit.backend.cpu import BACKEND as B
from tests.backend.native_cases import bits
from tests.backend.test_native_formulas import COMPILED, operands, scalars
for name, formula in COMPILED.items():
    marks = []
    for dtype in (np.float32, np.float64, np.float16):
        result = getattr(B, name)(*operands(formula, (13, 97), dtype), *scalars(formula))
        marks.append(crc32(bits(result)))
    print(name, *marks)
"""


def results(target: str) -> list[str]:
    environment = {**os.environ, "NNKIT_NATIVE": target, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@needs_native
@pytest.mark.skipif(len(BUILT) < 2, reason=f"only {BUILT} is built here")
def test_the_same_bits_on_every_instruction_set() -> None:
    first, *others = (results(target) for target in BUILT)
    assert len(first) > 200
    for other in others:
        assert other == first
