"""The graph of the data pipes that a pipe reads."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection
from types import FunctionType, ModuleType
from typing import Any

from nnkit.autograd import Tensor
from nnkit.backend.warning import warn
from nnkit.utils.data.datapipes.datapipe import DataPipe

__all__ = ["traverse", "traverse_dps"]

DataPipeGraph = dict[int, tuple[DataPipe, "DataPipeGraph"]]


def traverse_dps(datapipe: DataPipe) -> DataPipeGraph:
    """The pipes that a pipe has in its attributes and in their containers, and theirs in turn.

    Returns:
        A dictionary from the ``id`` of the pipe to a tuple of it and the dictionary of those that
        it has.

    Raises:
        RuntimeError: it is no data pipe.

    Example:
        >>> from nnkit.utils.data.datapipes.iter import IterableWrapper
        >>> from nnkit.utils.data.graph import traverse_dps
        >>> ((pipe, sources),) = traverse_dps(IterableWrapper("ab").map(str.upper)).values()
        >>> pipe, [source for source, _ in sources.values()]
        (MapperIterDataPipe, [IterableWrapperIterDataPipe])
    """
    return _graph(datapipe, _in_containers, frozenset())


def traverse(datapipe: DataPipe, only_datapipe: bool | None = None) -> DataPipeGraph:
    """The older `traverse_dps`, which without ``only_datapipe`` looks into all objects."""
    warn("`traverse` is deprecated: use `traverse_dps`", FutureWarning)
    return _graph(datapipe, _in_containers if only_datapipe else lambda value: True, frozenset())


def _in_containers(value: Any) -> bool:
    return isinstance(value, DataPipe | Collection)


def _graph(pipe: Any, looked_into: Callable[[Any], bool], above: frozenset[int]) -> DataPipeGraph:
    if not isinstance(pipe, DataPipe):
        raise RuntimeError(f"Expected `IterDataPipe` or `MapDataPipe`, but {type(pipe)} is found")
    if id(pipe) in above:
        return {}
    above |= {id(pipe)}
    sources: DataPipeGraph = {}
    for source in _Search(pipe, looked_into).found:
        sources.update(_graph(source, looked_into, above))
    return {id(pipe): (pipe, sources)}


class _Search(pickle.Pickler):
    """A pickler that keeps nothing of what it writes, but finds the pipes that it comes to."""

    def __init__(self, pipe: Any, looked_into: Callable[[Any], bool]) -> None:
        super().__init__(self, pickle.HIGHEST_PROTOCOL)
        self.found: list[DataPipe] = []
        state = pipe.__getstate__()
        for value in state.values() if isinstance(state, dict) else state:
            if looked_into(value):
                self.dump(value)

    def write(self, data: Any) -> None:
        """The file that it writes to."""

    def persistent_id(self, obj: Any) -> int | None:
        if not isinstance(obj, DataPipe):
            return None
        self.found.append(obj)
        return id(obj)

    def reducer_override(self, obj: Any) -> Any:
        """How an object is taken apart; what cannot be is left out."""
        if obj is _nothing:
            return NotImplemented
        if isinstance(obj, type | FunctionType | ModuleType | Tensor):
            return _nothing, ()
        try:
            return obj.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
        except Exception:
            return _nothing, ()


def _nothing() -> None:
    """What stands for an object that holds no pipes."""
