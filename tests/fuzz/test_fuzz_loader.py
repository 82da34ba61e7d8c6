"""A few seconds of the fuzzer of the data loader; the seed changes every day and is printed."""

from __future__ import annotations

import datetime
import os

import pytest

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="made for Linux")


def test_fuzz_loader() -> None:
    from tests.fuzz import loader

    seed = datetime.date.today().toordinal()
    figures, found = loader.run(seed, seconds=60.0, processes=2, count=8)
    print(f"seed {seed}: {dict(figures)}")
    assert not found, f"seed {seed}: {found[:5]}"
