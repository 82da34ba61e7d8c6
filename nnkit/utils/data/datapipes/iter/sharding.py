"""The share of a stream that one of several readers gets."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any

from nnkit.utils.data.datapipes.datapipe import IterDataPipe, lengths_of
from nnkit.utils.data.datapipes.decorators import functional_datapipe


class SHARDING_PRIORITIES(enum.IntEnum):
    """The groups of readers, from the outermost."""

    DEFAULT = 1
    DISTRIBUTED = 2
    MULTIPROCESSING = 3


class _ShardingIterDataPipe(IterDataPipe[Any]):
    """The base of streams of which each reader gets a share."""

    def apply_sharding(
        self, num_of_instances: int, instance_id: int, sharding_group: SHARDING_PRIORITIES
    ) -> None:
        """Give the share of one of so many readers."""
        raise NotImplementedError


@functional_datapipe("sharding_filter")
class ShardingFilterIterDataPipe(_ShardingIterDataPipe):
    """Every n-th sample for one of n readers, such as the workers of a DataLoader.

    Args:
        source_datapipe: the source.
        sharding_group_filter: the only group of readers that share it; any group when not given.

    Example:
        >>> from nnkit.utils.data.datapipes.iter import IterableWrapper
        >>> share = IterableWrapper(range(7)).sharding_filter()
        >>> share.apply_sharding(3, 1)
        >>> list(share)
        [1, 4]
    """

    def __init__(self, source_datapipe: Any, sharding_group_filter: int | None = None) -> None:
        self.source_datapipe = source_datapipe
        self.sharding_group_filter = sharding_group_filter
        self.groups: dict[int, tuple[int, int]] = {}
        self.num_of_instances = 1
        self.instance_id = 0

    def apply_sharding(
        self,
        num_of_instances: int,
        instance_id: int,
        sharding_group: int = SHARDING_PRIORITIES.DEFAULT,
    ) -> None:
        """Give the share of one of so many readers; groups of readers divide each other's shares.

        Raises:
            ValueError: there are not so many.
            RuntimeError: the default group is among others.
        """
        if instance_id >= num_of_instances:
            raise ValueError(
                f"instance_id({instance_id}) should be smaller than "
                f"num_of_instances({num_of_instances})"
            )
        default = SHARDING_PRIORITIES.DEFAULT
        if any((group == default) != (sharding_group == default) for group in self.groups):
            raise RuntimeError("ShardingFilter cannot mix DEFAULT and non DEFAULT groups")
        self.groups[sharding_group] = num_of_instances, instance_id
        self.num_of_instances, self.instance_id = 1, 0
        for group, (readers, reader) in sorted(self.groups.items()):
            if self.sharding_group_filter in (None, group):
                self.num_of_instances *= readers
                self.instance_id = self.instance_id * readers + reader

    def __iter__(self) -> Iterator[Any]:
        for number, sample in enumerate(self.source_datapipe):
            if number % self.num_of_instances == self.instance_id:
                yield sample

    def __len__(self) -> int:
        whole = lengths_of(self, [self.source_datapipe])[0]
        return len(range(self.instance_id, whole, self.num_of_instances))
