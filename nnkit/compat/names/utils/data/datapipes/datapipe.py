"""torch.utils.data.datapipes.datapipe: the pipes that torch puts around those of a loader."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nnkit.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe, lengths_of


class _DataPipeSerializationWrapper:
    """A pipe around another, which is pickled with it."""

    def __init__(self, datapipe: Any) -> None:
        self._datapipe = datapipe

    def __len__(self) -> int:
        return lengths_of(self, [self._datapipe])[0]


class _IterDataPipeSerializationWrapper(_DataPipeSerializationWrapper, IterDataPipe[Any]):
    """A stream around another."""

    def __iter__(self) -> Iterator[Any]:
        yield from self._datapipe


class _MapDataPipeSerializationWrapper(_DataPipeSerializationWrapper, MapDataPipe[Any]):
    """A map around another."""

    def __getitem__(self, idx: Any) -> Any:
        return self._datapipe[idx]
