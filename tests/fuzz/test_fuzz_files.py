"""A few seconds of the fuzzer of files; the seed changes from day to day and is printed."""

from __future__ import annotations

import datetime
import os

import pytest

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="made for Linux")


def test_fuzz_files(capsys: pytest.CaptureFixture[str]) -> None:
    from tests.fuzz import files

    seed = datetime.date.today().toordinal()
    figures, found = files.run(seed, seconds=60.0, processes=2, count=4000, kills=20)
    print(f"seed {seed}: {dict(figures)}")
    assert not found, f"seed {seed}: {found[:5]}"
    assert figures["loaded"] and figures["ValueError"] and figures["UnpicklingError"]
