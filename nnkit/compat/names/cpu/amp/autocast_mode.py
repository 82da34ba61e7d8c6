"""torch.cpu.amp.autocast_mode: `nnkit.amp.autocast` for the CPU."""

from __future__ import annotations

from typing import Any

import nnkit
from nnkit import amp
from nnkit.amp.older import warn_of


class autocast(amp.autocast):
    """`nnkit.amp.autocast` for "cpu"."""

    def __init__(
        self, enabled: bool = True, dtype: Any = nnkit.bfloat16, cache_enabled: bool = True
    ) -> None:
        warn_of("cpu", "autocast")
        super().__init__("cpu", dtype, enabled, cache_enabled)
