"""What a DataLoader sets in the data pipe that it reads: the seed of a pass, and its share."""

from __future__ import annotations

import sys
from typing import Any

from nnkit.autograd.ops.exchange.interchange import tensor
from nnkit.autograd.surface.generator import Generator
from nnkit.utils.data.datapipes.datapipe import DataPipe, IterDataPipe
from nnkit.utils.data.fetch import draw_seed
from nnkit.utils.data.graph_settings import apply_random_seed, apply_sharding


def seed_of_pass(loader: Any) -> int | None:
    """The number that the seeds of all random pipes follow from, in all workers and ranks.

    None where the dataset is no stream of data pipes.
    """
    if not isinstance(loader.dataset, IterDataPipe):
        return None
    seed = draw_seed(loader.generator)
    distributed = _process_group()
    if distributed is not None:
        shared = tensor(seed)
        distributed.broadcast(shared, src=0)
        seed = int(shared.item())
    return seed


def seed_pipe(dataset: Any, seed: int | None) -> None:
    """Give the random pipes of a dataset their seeds."""
    if seed is not None:
        apply_random_seed(dataset, Generator().manual_seed(seed))


def share_pipe(dataset: Any, rank: int, ranks: int, worker: int = 0, workers: int = 1) -> None:
    """Give the sharding pipes of a dataset the share of one worker of one rank."""
    if isinstance(dataset, DataPipe):
        apply_sharding(dataset, ranks * workers, worker * ranks + rank)


def rank_among() -> tuple[int, int]:
    """The rank of this process, and how many there are."""
    distributed = _process_group()
    return (0, 1) if distributed is None else (distributed.get_rank(), distributed.get_world_size())


def _process_group() -> Any:
    """The module of the process group, if there is one."""
    distributed = sys.modules.get("nnkit.distributed")
    return distributed if distributed is not None and distributed.is_initialized() else None
