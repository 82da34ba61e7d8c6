"""The stubs that editors read say what the package offers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.stubs import STUBS


@pytest.mark.parametrize("path", STUBS, ids=lambda path: path.name)
def test_stubs_are_up_to_date(path: Path) -> None:
    assert path.read_text() == STUBS[path](), "out of date: run python -m tools.stubs"
