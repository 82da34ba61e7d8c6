"""The sampler that gives each of several processes its share of a dataset."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sized

from nnkit.autograd.ops.random.factories import randperm
from nnkit.autograd.surface.generator import Generator
from nnkit.utils.data.sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """The indices of one of ``num_replicas`` processes: every ``num_replicas``-th, from ``rank``.

    Args:
        dataset: what has the length.
        num_replicas: how many processes there are; those of the process group by default.
        rank: which of them this is, from 0; that in the group by default.
        shuffle: whether each epoch visits the dataset in another order, the same for all ranks.
        seed: of the order; the same in all processes.
        drop_last: whether what does not divide evenly is left out; otherwise the first indices
            come twice, so that all processes have equally many.

    `set_epoch` must be called before each epoch, or every epoch has the same order.

    Raises:
        ValueError: ``rank`` is not one of the processes; or ``num_replicas`` or ``rank`` is not
            given, and there is no process group.

    Example:
        >>> from nnkit.utils.data import DistributedSampler
        >>> [list(DistributedSampler("abcde", 2, rank, shuffle=False)) for rank in (0, 1)]
        [[0, 2, 4], [1, 3, 0]]
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            from nnkit.distributed import get_rank, get_world_size

            num_replicas = get_world_size() if num_replicas is None else num_replicas
            rank = get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(
                f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]"
            )
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        self.shuffle = shuffle
        self.seed = seed
        size = len(dataset)
        self.num_samples = max(
            0, size // num_replicas if drop_last else math.ceil(size / num_replicas)
        )
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        size = len(self.dataset)
        if self.shuffle:
            generator = Generator().manual_seed(self.seed + self.epoch)
            indices = randperm(size, generator=generator).tolist()
        else:
            indices = list(range(size))
        if indices and not self.drop_last:
            indices = indices * math.ceil(self.total_size / size)
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Tell the epoch, on which the order depends."""
        self.epoch = epoch
