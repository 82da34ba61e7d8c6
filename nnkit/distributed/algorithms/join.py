"""Ranks with different numbers of batches, as ``torch.distributed.algorithms.join``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from nnkit.autograd.ops.creation.factories import zeros
from nnkit.backend.dtype import int64
from nnkit.distributed.collectives import all_reduce
from nnkit.distributed.work import Work

__all__ = ["Join", "JoinHook", "Joinable"]


class JoinHook:
    """The steps of a rank without batches, in place of a `Joinable`'s own."""

    def main_hook(self) -> None:
        """Take part in one step of the ranks that still have batches."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called when no rank has batches; ``is_last_joiner`` where this was one of the last."""


class Joinable(ABC):
    """The base class of what calls collectives in each step, as a model or an optimizer does.

    Before those of a step it calls `Join.notify_join_context`.
    """

    _join: Join | None = None  # the context that it takes part in

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The hook of a `Join`, whose further arguments are given to each joinable."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """The device by which the ranks find out who has batches."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The ranks."""


class Join:
    """A block in which ranks may have different numbers of batches: who has no more takes part in
    the others' collectives until all have come to the end.

    Args:
        joinables: in the order in which they are used in a step.
        enable: do nothing of this if False.
        throw_on_early_termination: raise on all ranks when the first one has no more batches.
        kwargs: for the hooks; `DistributedDataParallel` knows ``divide_by_initial_world_size``.

    Raises:
        ValueError: there are no joinables, or their process groups differ.
        RuntimeError: with ``throw_on_early_termination``, when a rank has come to its end.

    Example:
        >>> import nnkit
        >>> from nnkit.distributed.algorithms.join import Join
        >>> nnkit.distributed.init_process_group()
        >>> model = nnkit.nn.parallel.DistributedDataParallel(nnkit.nn.Linear(2, 1))
        >>> zero = nnkit.distributed.optim.ZeroRedundancyOptimizer
        >>> optimizer = zero(model.parameters(), nnkit.optim.SGD, lr=0.1)
        >>> with Join([model, optimizer]):
        ...     for x in nnkit.ones(3, 1, 2):
        ...         optimizer.zero_grad()
        ...         model(x).sum().backward()
        ...         optimizer.step()
        >>> nnkit.distributed.destroy_process_group()
    """

    def __init__(
        self,
        joinables: Sequence[Joinable],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._joinables = list(joinables)
        self._hooks = [joinable.join_hook(**kwargs) for joinable in joinables]
        self._enable = enable
        self._throws = throw_on_early_termination
        self._group = joinables[0].join_process_group
        if any(joinable.join_process_group is not self._group for joinable in joinables):
            raise ValueError("Using join context manager with multiple process groups")
        #: The ranks of the group that had batches in the last step.
        self.active = list(range(self._group.size()))

    def __enter__(self) -> None:
        if self._enable:
            for joinable in self._joinables:
                joinable._join = self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        try:
            if self._enable and kind is None:
                self._accompany()
        finally:
            for joinable in self._joinables:
                joinable._join = None

    def _accompany(self) -> None:
        """Take part in the others' steps until no rank has batches."""
        is_last_joiner = True
        while (found := self._exchange(False))[0]:
            if self._throws:
                raise RuntimeError(f"Rank {self._group.rank()} exhausted all inputs.")
            is_last_joiner = False
            self.active = found[0]
            for hook in self._hooks:
                hook.main_hook()
        for hook in self._hooks:
            hook.post_hook(is_last_joiner)

    def _exchange(self, has_batch: bool) -> tuple[list[int], Work]:
        """The ranks that have a batch, and the work by which that became known."""
        group = self._group
        flags = zeros(group.size(), dtype=int64, device=self._joinables[0].join_device)
        flags[group.rank()] = int(has_batch)
        work: Any = all_reduce(flags, group=group, async_op=True)
        work.wait()
        return [rank for rank, flag in enumerate(flags.tolist()) if flag], work

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Work | None:
        """Tell the others that this rank begins a step; the first joinable of a context does so.

        Raises:
            RuntimeError: with ``throw_on_early_termination``, where another rank does not.
        """
        join = joinable._join
        if join is None or joinable is not join._joinables[0]:
            return None
        join.active, work = join._exchange(True)
        if join._throws and len(join.active) < join._group.size():
            raise RuntimeError(
                "Detected at least one rank that exhausted inputs. Throwing across all ranks."
            )
        return work
