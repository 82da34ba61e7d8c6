"""Every compiled kernel has a test case: in a file's CASES, or called there by its name."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

from nnkit.backend.cpu import native
from tests.backend.native_cases import needs_native


@needs_native
def test_every_kernel_has_a_case() -> None:
    assert native.MODULE is not None
    tested: set[str] = set()
    for path in Path(__file__).parent.glob("test_native_*.py"):
        tested.update(getattr(import_module(f"tests.backend.{path.stem}"), "CASES", ()))
        tested.update(re.findall(r"[\".](\w+)[\",()]", path.read_text()))
    missing = sorted(set(native.MODULE.names()) - tested)
    assert not missing, f"no tests/backend/test_native_*.py names {missing}"
