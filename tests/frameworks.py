"""One test, two frameworks: what is asserted of nnkit is asserted of torch as well.

A test that takes the fixture ``lib`` runs with nnkit and, where it is installed, with torch. So an
expectation is never ours alone, and it is still checked where there is no torch.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

import pytest


def raises(
    lib: ModuleType, error: type[BaseException], match: str
) -> AbstractContextManager[pytest.ExceptionInfo[Any]]:
    """The error that both raise; the message is nnkit's own."""
    return pytest.raises(error, match=match if lib.__name__ == "nnkit" else None)
