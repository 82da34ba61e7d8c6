"""The data package under test."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest


@pytest.fixture
def data(lib: ModuleType) -> Any:
    __import__(f"{lib.__name__}.utils.data")
    return lib.utils.data
