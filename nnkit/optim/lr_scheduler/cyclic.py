"""Schedules that go down and up: half waves of a cosine, and triangles."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from nnkit.backend.program.outside import outside
from nnkit.optim.lr_scheduler.scheduler import (
    LRScheduler,
    check,
    for_each_group,
    is_positive_integer,
    saved_functions,
    set_value,
)
from nnkit.optim.optimizer import Optimizer


class CosineAnnealingLR(LRScheduler):
    """The rate falls from the first one to ``eta_min`` in ``T_max`` epochs, along a cosine.

    ``eta_min + (lr - eta_min) * (1 + cos(pi * epoch / T_max)) / 2``; then it rises again.

    Source: Loshchilov and Hutter 2016, "SGDR: stochastic gradient descent with warm restarts";
    ``torch.optim.lr_scheduler.CosineAnnealingLR``.

    Example:
        >>> import nnkit
        >>> optimizer = nnkit.optim.SGD([nnkit.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = nnkit.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        epoch, low = self.last_epoch, self.eta_min
        groups = self.optimizer.param_groups
        if self._is_initial:
            return self._rates()
        if self._step_count == 1 and epoch > 0:
            return self._get_closed_form_lr()
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # the last rate was eta_min
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            pairs = zip(self.base_lrs, groups, strict=True)
            return [group["lr"] + (lr - low) * rise for lr, group in pairs]
        before = 1 + math.cos(math.pi * (epoch - 1) / self.T_max)
        ratio = (1 + math.cos(math.pi * epoch / self.T_max)) / before
        return [ratio * (group["lr"] - low) + low for group in groups]

    def _get_closed_form_lr(self) -> list[Any]:
        wave = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (lr - self.eta_min) * wave for lr in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half waves of a cosine, each ``T_mult`` times as long as the one before, the first ``T_0``.

    Raises:
        ValueError: ``T_0`` or ``T_mult`` is no positive integer, or ``eta_min`` no number.

    Source: Loshchilov and Hutter 2016, "SGDR: stochastic gradient descent with warm restarts";
    ``torch.optim.lr_scheduler.CosineAnnealingWarmRestarts``.

    Example:
        >>> import nnkit
        >>> optimizer = nnkit.optim.SGD([nnkit.ones(1, requires_grad=True)], lr=1.0)
        >>> restarts = nnkit.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
        >>> for epoch in range(3):
        ...     optimizer.step()
        ...     restarts.step()
        >>> restarts.get_last_lr()
        [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        for name, value in (("T_0", T_0), ("T_mult", T_mult)):
            what = f"CosineAnnealingWarmRestarts: {name}"
            check(is_positive_integer, what, value, "a positive integer")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(
                f"CosineAnnealingWarmRestarts: eta_min must be a float or int, got {eta_min!r}"
            )
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        wave = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (lr - self.eta_min) * wave for lr in self.base_lrs]

    @outside
    def step(self, epoch: float | None = None) -> None:
        """Go to the next epoch, or to ``epoch``, which may be a fraction (after each batch)."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ValueError(f"CosineAnnealingWarmRestarts: epoch must be at least 0, got {epoch}")
        elif epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**n
        self.last_epoch = math.floor(epoch)
        self._set_to(self.get_lr)


def momentum_groups(optimizer: Optimizer, name: str) -> bool:
    """Whether a momentum is the first of ``betas``; ValueError if the optimizer has none."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError(
            f"{name}: cycle_momentum needs an optimizer with momentum or betas, "
            f"got {type(optimizer).__name__}"
        )
    return "betas" in optimizer.defaults


def set_momentum(group: dict[str, Any], momentum: float, use_beta1: bool) -> None:
    """Write the momentum of a group, as ``momentum`` or as the first of its ``betas``."""
    if use_beta1:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


class CyclicLR(LRScheduler):
    """The rate goes from ``base_lr`` up to ``max_lr`` and back, in straight lines.

    Args:
        optimizer: its groups are scheduled.
        base_lr, max_lr: the ends, numbers or lists of one for each group.
        step_size_up, step_size_down: batches on the way up and down (the same if None).
        mode: "triangular", "triangular2" (half the height each cycle) or "exp_range" (the height
            times ``gamma**step``).
        gamma: as in ``mode``.
        scale_fn, scale_mode: instead of ``mode``: the height's factor, as a function of the
            "cycle" or of the "iterations".
        cycle_momentum: let the momentum go the other way, from ``max_momentum`` to
            ``base_momentum``.
        base_momentum, max_momentum: its ends.
        last_epoch: the batch to go on from.

    Raises:
        ValueError: ``mode`` is unknown, or the optimizer has no momentum to cycle.

    Source: Smith 2015, "Cyclical learning rates for training neural networks";
    ``torch.optim.lr_scheduler.CyclicLR``.

    Example:
        >>> import nnkit
        >>> optimizer = nnkit.optim.SGD([nnkit.ones(1, requires_grad=True)], momentum=0.9)
        >>> scheduler = nnkit.optim.lr_scheduler.CyclicLR(optimizer, 0.5, 1.0, step_size_up=2)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.75]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        base_lrs = for_each_group("base_lr", base_lr, optimizer)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups, strict=True):
                set_value(group, "lr", lr)
        self.max_lrs = for_each_group("max_lr", max_lr, optimizer)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError(
                "CyclicLR: without scale_fn, mode must be triangular, triangular2 or exp_range, "
                f"got {mode!r}"
            )
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self._init_scale_fn()
        if scale_fn is None:
            scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.scale_mode = scale_mode
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = momentum_groups(optimizer, "CyclicLR")
            self.base_momentums = for_each_group("base_momentum", base_momentum, optimizer)
            self.max_momentums = for_each_group("max_momentum", max_momentum, optimizer)
            if last_epoch == -1:
                for group, high, low in zip(
                    optimizer.param_groups, self.max_momentums, self.base_momentums, strict=True
                ):
                    set_momentum(group, high, self.use_beta1)
                    group["max_momentum"], group["base_momentum"] = high, low
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The factor of the height in cycle (or iteration) ``x``."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        return self._scale_fn_ref(x)

    @staticmethod
    def _triangular_scale_fn(x: float) -> float:
        return 1.0

    @staticmethod
    def _triangular2_scale_fn(x: float) -> float:
        return 1 / 2.0 ** (x - 1)

    @staticmethod
    def _exp_range_scale_fn(gamma: float, x: float) -> float:
        return gamma**x

    def _init_scale_fn(self) -> None:
        if self._scale_fn_custom is None:
            found = getattr(self, f"_{self.mode}_scale_fn")
            self._scale_fn_ref = partial(found, self.gamma) if self.mode == "exp_range" else found

    def get_lr(self) -> list[Any]:
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        ratio = self.step_ratio
        height = x / ratio if x <= ratio else (x - 1) / (ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(
                self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True
            ):
                set_momentum(group, high - (high - low) * height * scale, self.use_beta1)
        pairs = zip(self.base_lrs, self.max_lrs, strict=True)
        return [low + (high - low) * height * scale for low, high in pairs]

    def state_dict(self) -> dict[str, Any]:
        """The state of the scheduler; of a scale_fn only what an object holds as attributes."""
        state = super().state_dict()
        state.pop("_scale_fn_ref", None)
        custom = state.pop("_scale_fn_custom")
        state["_scale_fn_custom"] = None if custom is None else saved_functions([custom])[0]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the state; the scale_fn stays, and an object gets its attributes."""
        state = dict(state_dict)
        attributes = state.pop("_scale_fn_custom", None)
        super().load_state_dict(state)
        if attributes is not None and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(attributes)
        self._init_scale_fn()
