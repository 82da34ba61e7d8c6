"""How memory is laid out and owned: layouts, memory formats, views."""

from __future__ import annotations

from typing import Any


class layout:
    """A layout of a tensor's elements; every tensor here is ``nnkit.strided``."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"nnkit.{self.name}"


class memory_format:
    """An order of the dimensions in memory, such as ``nnkit.contiguous_format``."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"nnkit.{self.name}"


def is_view(array: Any) -> bool:
    """Whether an array looks into another one's memory; a block of the allocator is its own."""
    return hasattr(array.base, "base")


def owner(array: Any) -> Any:
    """The array that the memory of ``array`` was made for: what torch calls its storage."""
    while is_view(array):
        array = array.base
    return array


strided = layout("strided")
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")
