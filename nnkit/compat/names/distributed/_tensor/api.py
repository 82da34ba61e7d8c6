"""torch.distributed._tensor.api: an older place of torch.distributed.tensor."""

from __future__ import annotations

from typing import Any

from nnkit.compat.layout import find


def __getattr__(name: str) -> Any:
    return find("torch.distributed.tensor", name)
