"""Settings for all data pipes of a graph: random orders, their seeds, and shares."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from nnkit.backend.warning import warn
from nnkit.utils.data.datapipes.datapipe import DataPipe
from nnkit.utils.data.datapipes.iter.combinatorics import RandomOrder
from nnkit.utils.data.datapipes.iter.sharding import SHARDING_PRIORITIES, _ShardingIterDataPipe
from nnkit.utils.data.fetch import draw_seed
from nnkit.utils.data.graph import DataPipeGraph, traverse_dps

__all__ = [
    "apply_random_seed",
    "apply_sharding",
    "apply_shuffle_seed",
    "apply_shuffle_settings",
    "get_all_graph_pipes",
]


def get_all_graph_pipes(graph: DataPipeGraph) -> list[DataPipe]:
    """The pipes of a graph, each once."""

    def walk(graph: DataPipeGraph) -> Iterator[DataPipe]:
        for pipe, sources in graph.values():
            yield pipe
            yield from walk(sources)

    return list({id(pipe): pipe for pipe in walk(graph)}.values())


def apply_sharding(
    datapipe: DataPipe,
    num_of_instances: int,
    instance_id: int,
    sharding_group: SHARDING_PRIORITIES = SHARDING_PRIORITIES.DEFAULT,
) -> DataPipe:
    """Give each pipe that has ``apply_sharding`` the share of one of so many readers.

    Raises:
        RuntimeError: one of them reads another.
    """

    def walk(graph: DataPipeGraph, above: DataPipe | None) -> None:
        for pipe, sources in graph.values():
            share: Any = getattr(pipe, "apply_sharding", None)
            shared = above
            if isinstance(pipe, _ShardingIterDataPipe) or inspect.ismethod(share):
                if above is not None:
                    raise RuntimeError(
                        "Sharding twice on a single pipeline is likely unintended and will cause "
                        f"data loss: {above} reads {pipe}"
                    )
                grouped = "sharding_group" in inspect.signature(share).parameters
                group = {"sharding_group": sharding_group} if grouped else {}
                share(num_of_instances, instance_id, **group)
                shared = pipe
            walk(sources, shared)

    walk(traverse_dps(datapipe), None)
    return datapipe


def apply_shuffle_settings(datapipe: DataPipe, shuffle: bool | None = None) -> DataPipe:
    """Switch the random orders of a pipe and those that it reads on or off.

    Returns:
        The pipe, shuffled where it has none that can be switched on; None changes nothing.
    """
    if shuffle is None:
        return datapipe
    shufflers = [pipe for pipe in _pipes(datapipe) if _is_shuffle_datapipe(pipe)]
    if shuffle and not shufflers:
        warn(
            "`shuffle=True` was set, but the datapipe does not contain a `Shuffler`: one is added "
            "to the pipe returned; a DataLoader reads the pipe without it, as in torch"
        )
        datapipe = datapipe.shuffle()
        shufflers = [datapipe]
    for shuffler in shufflers:
        shuffler.set_shuffle(shuffle)
    return datapipe


def apply_random_seed(datapipe: DataPipe, rng: Any) -> DataPipe:
    """Give each pipe that has ``set_seed`` a seed from a generator."""
    for pipe in _pipes(datapipe):
        if inspect.ismethod(getattr(pipe, "set_seed", None)):
            pipe.set_seed(draw_seed(rng))
    return datapipe


def apply_shuffle_seed(datapipe: DataPipe, rng: Any) -> DataPipe:
    """The older name of `apply_random_seed`."""
    warn("`apply_shuffle_seed` is deprecated: use `apply_random_seed`", FutureWarning)
    return apply_random_seed(datapipe, rng)


def _pipes(datapipe: DataPipe) -> list[Any]:
    return get_all_graph_pipes(traverse_dps(datapipe))


def _is_shuffle_datapipe(pipe: Any) -> bool:
    named = (getattr(pipe, name, None) for name in ("set_shuffle", "set_seed"))
    return isinstance(pipe, RandomOrder) or all(map(inspect.ismethod, named))
