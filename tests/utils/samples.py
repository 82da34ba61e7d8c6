"""Streams of numbers, and tensors as lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def stream(data: Any, size: int, length: int | None = None) -> Any:
    class Stream(data.IterableDataset):
        def __iter__(self) -> Iterator[int]:
            return iter(range(size))

    class Measured(Stream):
        def __len__(self) -> int:
            assert length is not None
            return length

    return Stream() if length is None else Measured()


def lists(value: Any) -> Any:
    """Tensors inside a structure as lists."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, dict):
        return {key: lists(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [lists(item) for item in value]
    return value
