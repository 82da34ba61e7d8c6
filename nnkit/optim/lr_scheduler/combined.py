"""Schedules made of schedules: one after the other, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from nnkit.backend.program.outside import outside
from nnkit.optim.lr_scheduler.plateau import ReduceLROnPlateau
from nnkit.optim.lr_scheduler.scheduler import LRScheduler, checked_optimizer, set_value
from nnkit.optim.optimizer import Optimizer


def _check(name: str, schedulers: Sequence[LRScheduler], optimizer: Optimizer) -> None:
    for i, scheduler in enumerate(schedulers):
        if not hasattr(scheduler, "optimizer"):
            raise TypeError(f"{name}: scheduler {i} has no optimizer, got {scheduler!r}")
        if isinstance(scheduler, ReduceLROnPlateau):
            raise ValueError(f"{name}: scheduler {i} is a ReduceLROnPlateau, which needs metrics")
        if scheduler.optimizer is not optimizer:
            raise ValueError(f"{name}: scheduler {i} belongs to another optimizer")


class _Combined(LRScheduler):
    """A scheduler that holds others as ``_schedulers``; their states are part of its own."""

    _schedulers: list[LRScheduler]

    def state_dict(self) -> dict[str, Any]:
        """The state of the scheduler with that of each scheduler in it."""
        state = {k: v for k, v in super().state_dict().items() if k != "_schedulers"}
        return state | {"_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the state of the scheduler and of each scheduler in it."""
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(state)


class SequentialLR(_Combined):
    """One schedule after the other; the next one begins at each of the epochs ``milestones``.

    Raises:
        ValueError: there is not one milestone fewer than schedulers, they belong to several
            optimizers, or one is a `ReduceLROnPlateau`.
        TypeError: one of them has no optimizer.

    Source: ``torch.optim.lr_scheduler.SequentialLR``.

    Example:
        >>> import nnkit
        >>> from nnkit.optim.lr_scheduler import ConstantLR, ExponentialLR, SequentialLR
        >>> optimizer = nnkit.optim.SGD([nnkit.ones(1, requires_grad=True)], lr=1.0)
        >>> parts = [ConstantLR(optimizer, 0.5, 2), ExponentialLR(optimizer, 0.5)]
        >>> scheduler = SequentialLR(optimizer, parts, milestones=[2])
        >>> for epoch in range(3):
        ...     optimizer.step()
        ...     scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: list[LRScheduler],
        milestones: list[int],
        last_epoch: int = -1,
    ) -> None:
        if not schedulers:
            raise ValueError("SequentialLR: schedulers must not be empty")
        _check("SequentialLR", schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "SequentialLR: there must be one milestone fewer than schedulers, got "
                f"{len(milestones)} for {len(schedulers)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = checked_optimizer(optimizer)
        # Each scheduler has made its first step when it was made; only that of epoch 0 counts.
        for group in optimizer.param_groups:
            set_value(group, "lr", group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Take back the steps that this scheduler's parts, or ``sched`` and its parts, have made.
        One that has parts keeps its own count, as in torch."""
        scheduler = self if sched is None else sched
        if hasattr(scheduler, "_schedulers"):
            for part in scheduler._schedulers:
                self.recursive_undo(part)
        elif hasattr(scheduler, "last_epoch"):
            scheduler.last_epoch -= 1

    @outside
    def step(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Go to the next epoch, with the scheduler whose turn it is."""
        self.last_epoch += 1
        turn = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[turn]
        if turn > 0 and self._milestones[turn - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Combined):
    """Several schedules at once: each changes the rates that the one before has left.

    Raises:
        ValueError: there is none, they belong to several optimizers, or one is a
            `ReduceLROnPlateau`.
        TypeError: one of them has no optimizer.

    Source: ``torch.optim.lr_scheduler.ChainedScheduler``.

    Example:
        >>> import nnkit
        >>> from nnkit.optim.lr_scheduler import ChainedScheduler, ConstantLR, ExponentialLR
        >>> optimizer = nnkit.optim.SGD([nnkit.ones(1, requires_grad=True)], lr=1.0)
        >>> parts = [ConstantLR(optimizer, 0.5, 4), ExponentialLR(optimizer, 0.5)]
        >>> scheduler = ChainedScheduler(parts, optimizer)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.25]
    """

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        if len(schedulers) < 1:
            raise ValueError("ChainedScheduler: schedulers must not be empty")
        optimizer = schedulers[0].optimizer if optimizer is None else optimizer
        _check("ChainedScheduler", schedulers, optimizer)
        self._schedulers = list(schedulers)
        self.optimizer = optimizer
        self._last_lr = self._rates()

    @outside
    def step(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Let each scheduler go to its next epoch."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._rates()
