"""torch.distributed._composable.fsdp: an older place of torch.distributed.fsdp."""

from __future__ import annotations

from typing import Any

from nnkit.compat.layout import find


def __getattr__(name: str) -> Any:
    return find("torch.distributed.fsdp", name)
