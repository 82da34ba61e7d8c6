"""Every compiled kernel has a test case."""

from __future__ import annotations

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
    missing = sorted(set(native.MODULE.names()) - tested)
    assert not missing, "CASES of no tests/backend/test_native_*.py names these kernels"
