"""torch.utils.data.dataloader: the classes of passes over a loader, under torch's names."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from typing import Any, TypeVar

from nnkit.utils.data.dataloader import _Iteration as _SingleProcessDataLoaderIter
from nnkit.utils.data.fetch import _DatasetKind as _DatasetKind
from nnkit.utils.data.workers import WorkerIteration as _MultiProcessingDataLoaderIter

T_co = TypeVar("T_co", covariant=True)
_collate_fn_t = Callable[[list[Any]], Any]


class _BaseDataLoaderIter(ABC):  # noqa: B024
    """A class to ask whether something is a pass over a loader."""


_BaseDataLoaderIter.register(_SingleProcessDataLoaderIter)
_BaseDataLoaderIter.register(_MultiProcessingDataLoaderIter)
