"""The contents of memory that nobody has written, as ``torch.utils.deterministic``.

``fill_uninitialized_memory`` (True) fills it where `nnkit.use_deterministic_algorithms` is on.

Example:
    >>> import nnkit
    >>> nnkit.use_deterministic_algorithms(True)
    >>> nnkit.empty(2)
    tensor([nan, nan])
    >>> nnkit.use_deterministic_algorithms(False)
"""

from __future__ import annotations

import sys
from types import ModuleType

from nnkit.backend import reproducibility


class _Module(ModuleType):
    @property
    def fill_uninitialized_memory(self) -> bool:
        return reproducibility.fill_uninitialized_memory

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise RuntimeError(
                f"fill_uninitialized_memory expected a bool, but got {type(mode).__name__}"
            )
        reproducibility.fill_uninitialized_memory = mode


sys.modules[__name__].__class__ = _Module
