"""torch.serialization: see `nnkit.serialization`."""

from __future__ import annotations

from typing import Any

from nnkit import serialization
from nnkit.serialization import DEFAULT_PROTOCOL as DEFAULT_PROTOCOL

MAP_LOCATION = Any


def save(obj: Any, f: Any, *arguments: Any, **options: Any) -> None:
    """`nnkit.save` in torch's format, also of plain states: programs give their files to others."""
    serialization.save(obj, f, *arguments, **options, format="torch")
