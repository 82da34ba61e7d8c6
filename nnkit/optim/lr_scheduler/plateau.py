"""`ReduceLROnPlateau`: a smaller rate when a metric gets no better."""

from __future__ import annotations

import math
from typing import Any

from nnkit.backend.program.outside import outside
from nnkit.optim.lr_scheduler.scheduler import (
    LRScheduler,
    check,
    checked_optimizer,
    for_each_group,
    set_value,
)
from nnkit.optim.optimizer import Optimizer


class ReduceLROnPlateau(LRScheduler):
    """The rate is multiplied by ``factor`` when a metric was no better for ``patience`` epochs.

    Args:
        optimizer: its groups are scheduled.
        mode: whether a better metric is smaller ("min") or larger ("max").
        factor: below 1.
        patience: epochs without improvement that are let pass.
        threshold: how much better is better, as a share of the best ("rel") or by itself ("abs").
        threshold_mode: "rel" or "abs".
        cooldown: epochs after a reduction in which none is counted.
        min_lr: the smallest rate, a number or a list of one for each group.
        eps: a smaller change of the rate is not made.

    Raises:
        ValueError: an argument is out of range.

    Source: ``torch.optim.lr_scheduler.ReduceLROnPlateau``.

    Example:
        >>> import nnkit
        >>> optimizer = nnkit.optim.SGD([nnkit.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = nnkit.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
        >>> for loss in (0.5, 0.5):
        ...     optimizer.step()
        ...     scheduler.step(loss)
        >>> scheduler.get_last_lr()
        [0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | list[float] = 0,
        eps: float = 1e-8,
    ) -> None:
        check(lambda x: not x >= 1, "ReduceLROnPlateau: factor", factor, "below 1")
        self.factor = factor
        self.optimizer = checked_optimizer(optimizer)
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = for_each_group("min_lr", min_lr, optimizer)
        for name, value, known in (
            ("mode", mode, ("min", "max")),
            ("threshold_mode", threshold_mode, ("rel", "abs")),
        ):
            if not isinstance(value, str) or value not in known:
                kind = ValueError if isinstance(value, str) else TypeError
                raise kind(
                    f"ReduceLROnPlateau: {name} must be {known[0]} or {known[1]}, got {value!r}"
                )
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = self._rates()
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    @outside
    def step(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, metrics: Any, epoch: int | None = None
    ) -> None:
        """Count an epoch that ended with ``metrics``, a number or a tensor of one element."""
        current = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = self._rates()

    def _reduce_lr(self) -> None:
        added = len(self.optimizer.param_groups) - len(self.min_lrs)
        if added and self.default_min_lr is None:
            raise RuntimeError(
                f"ReduceLROnPlateau: {added} param groups were added since, and min_lr, a list, "
                "says nothing of them: append theirs to min_lrs"
            )
        self.min_lrs += [self.default_min_lr] * added
        for group, low in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, low)
            if old - new > self.eps:
                set_value(group, "lr", new)

    @property
    def in_cooldown(self) -> bool:
        """Whether a reduction is so recent that no epoch counts as bad."""
        return self.cooldown_counter > 0

    def _is_better(self, value: float, best: float) -> bool:
        sign = -1 if self.mode == "min" else 1
        if self.threshold_mode == "rel":
            return sign * value > sign * best * (1 + sign * self.threshold)
        return sign * value > sign * (best + sign * self.threshold)
