"""Ranks with different numbers of batches."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.ops.creation.factories import zeros
from nnkit.backend.dtype import int64
from nnkit.distributed import all_reduce


class Joining:
    """Who still has batches, as all ranks find out before each step.

    Args:
        model: the `DistributedDataParallel`.
        divides_by_all: whether gradients are divided by the number of all ranks.
        throws: whether the first rank without batches ends the loop of all.
    """

    def __init__(self, model: Any, divides_by_all: bool, throws: bool) -> None:
        self.model = model
        self.divides_by_all = divides_by_all
        self.throws = throws
        self.active = list(range(model.process_group.size()))

    def _exchange(self, is_active: bool) -> list[int]:
        """The ranks that still have batches."""
        group = self.model.process_group
        flags = zeros(group.size(), dtype=int64, device=self.model._parameters_to_send[0].device)
        flags[group.rank()] = int(is_active)
        all_reduce(flags, group=group)
        found = [rank for rank, flag in enumerate(flags.tolist()) if flag]
        if self.throws and 0 < len(found) < group.size():
            raise RuntimeError(
                "Detected at least one rank that exhausted inputs. Throwing across all ranks."
            )
        return found

    def tell_active(self) -> None:
        """Begin a step of this rank's own."""
        self.active = self._exchange(True)

    def accompany(self) -> None:
        """Take part in the others' steps until no rank has batches; then get their weights."""
        while found := self._exchange(False):
            self.active = found
            self.model._accompany()
        module = self.model.module
        self.model._broadcast([*module.parameters(), *self.model._buffers_to_send])
