"""`OneCycleLR`: up to a large rate, then down to a very small one."""

from __future__ import annotations

import math
from typing import Any

from nnkit.optim.lr_scheduler.cyclic import momentum_groups, set_momentum
from nnkit.optim.lr_scheduler.scheduler import (
    LRScheduler,
    check,
    checked_optimizer,
    for_each_group,
    is_positive_integer,
    within,
)
from nnkit.optim.optimizer import Optimizer


class OneCycleLR(LRScheduler):
    """One rise from ``max_lr / div_factor`` to ``max_lr``, then one long fall; step every batch.

    Args:
        optimizer: its groups are scheduled.
        max_lr: the highest rate, a number or a list of one for each group.
        total_steps: the number of batches; or ``epochs * steps_per_epoch``.
        epochs, steps_per_epoch: instead of ``total_steps``.
        pct_start: the share of the steps on which the rate rises.
        anneal_strategy: "cos" or "linear".
        cycle_momentum: let the momentum go the other way.
        base_momentum, max_momentum: its ends.
        div_factor: the first rate is ``max_lr / div_factor``.
        final_div_factor: the last rate is the first one divided by it.
        three_phase: fall as fast as the rise to the first rate, only then to the last one.
        last_epoch: the step to go on from.

    Raises:
        ValueError: there is no number of steps, an argument is out of range, the optimizer has no
            momentum to cycle, or `step` is called more than ``total_steps`` times.

    Source: Smith and Topin 2017, "Super-convergence: very fast training of neural networks using
    large learning rates"; ``torch.optim.lr_scheduler.OneCycleLR``.

    Example:
        >>> import nnkit
        >>> optimizer = nnkit.optim.SGD([nnkit.ones(1, requires_grad=True)], momentum=0.9)
        >>> scheduler = nnkit.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
        >>> for batch in range(2):
        ...     optimizer.step()
        ...     scheduler.step()
        >>> scheduler.get_last_lr()
        [1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        checked_optimizer(optimizer)
        self.total_steps = _steps(total_steps, epochs, steps_per_epoch)
        check(_is_share, "OneCycleLR: pct_start", pct_start, "a float between 0 and 1")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"OneCycleLR: anneal_strategy must be cos or linear, got {anneal_strategy!r}"
            )
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        self._anneal_func_type = anneal_strategy
        highest = for_each_group("max_lr", max_lr, optimizer)
        if last_epoch == -1:
            for group, high in zip(optimizer.param_groups, highest, strict=True):
                group["initial_lr"] = high / div_factor
                group["max_lr"] = high
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = momentum_groups(optimizer, "OneCycleLR")
            highs = for_each_group("max_momentum", max_momentum, optimizer)
            lows = for_each_group("base_momentum", base_momentum, optimizer)
            if last_epoch == -1:
                for group, high, low in zip(optimizer.param_groups, highs, lows, strict=True):
                    set_momentum(group, high, self.use_beta1)
                    group["max_momentum"], group["base_momentum"] = high, low
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"OneCycleLR: step was called {step} times, but total_steps is {self.total_steps}"
            )
        start, phase = 0.0, self._schedule_phases[-1]
        for candidate in self._schedule_phases:
            if step <= candidate["end_step"]:
                phase = candidate
                break
            start = candidate["end_step"]
        if phase is self._schedule_phases[-1]:
            start = self._schedule_phases[-2]["end_step"]
        way = (step - start) / (phase["end_step"] - start)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[phase["start_lr"]], group[phase["end_lr"]], way))
            if self.cycle_momentum:
                first, last = group[phase["start_momentum"]], group[phase["end_momentum"]]
                set_momentum(group, self._between(first, last, way), self.use_beta1)
        return rates

    def _between(self, first: float, last: float, way: float) -> float:
        if self._anneal_func_type == "linear":
            return (last - first) * way + first
        return last + (first - last) / 2.0 * (1 + math.cos(math.pi * way))


def _steps(total: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    if total is None:
        if epochs is None or steps_per_epoch is None:
            raise ValueError("OneCycleLR: give total_steps, or epochs and steps_per_epoch")
        for name, value in (("epochs", epochs), ("steps_per_epoch", steps_per_epoch)):
            if not isinstance(value, int) or value <= 0:
                raise ValueError(f"OneCycleLR: {name} must be a positive integer, got {value}")
        return epochs * steps_per_epoch
    check(is_positive_integer, "OneCycleLR: total_steps", total, "a positive integer")
    return total


def _is_share(value: Any) -> bool:
    return within(value) and isinstance(value, float)


def _phases(total: int, share: float, three: bool) -> list[dict[str, Any]]:
    """Each phase's last step, and the keys of the group at which it starts and ends."""
    rise = ("initial_lr", "max_lr", "max_momentum", "base_momentum")
    if three:
        rows = [
            (float(share * total) - 1, *rise),
            (float(2 * share * total) - 2, "max_lr", "initial_lr", *reversed(rise[2:])),
            (total - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
        ]
    else:
        rows = [
            (float(share * total) - 1, *rise),
            (total - 1, "max_lr", "min_lr", *reversed(rise[2:])),
        ]
    keys = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
    return [dict(zip(keys, row, strict=True)) for row in rows]
