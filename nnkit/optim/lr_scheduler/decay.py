"""Schedules that fall (or rise) once: steps, powers, lines, functions of the user's."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from nnkit.optim.lr_scheduler.scheduler import (
    LRScheduler,
    check,
    for_each_group,
    saved_functions,
    within,
)
from nnkit.optim.optimizer import Optimizer


class StepLR(LRScheduler):
    """The rate is multiplied by ``gamma`` every ``step_size`` epochs.

    Source: ``torch.optim.lr_scheduler.StepLR``.

    Example:
        >>> import nnkit
        >>> optimizer = nnkit.optim.SGD([nnkit.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = nnkit.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
        >>> for epoch in range(4):
        ...     optimizer.step()
        ...     scheduler.step()
        >>> optimizer.param_groups[0]["lr"]
        0.25
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        stays = self.last_epoch == 0 or self.last_epoch % self.step_size
        return self._rates() if stays else self._scaled(self.gamma)

    def _get_closed_form_lr(self) -> list[Any]:
        return [lr * self.gamma ** (self.last_epoch // self.step_size) for lr in self.base_lrs]


class MultiStepLR(LRScheduler):
    """The rate is multiplied by ``gamma`` at each of the epochs ``milestones``.

    Source: ``torch.optim.lr_scheduler.MultiStepLR``.

    Example:
        >>> import nnkit
        >>> optimizer = nnkit.optim.SGD([nnkit.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = nnkit.optim.lr_scheduler.MultiStepLR(optimizer, [1, 3], gamma=0.5)
        >>> for epoch in range(3):
        ...     optimizer.step()
        ...     scheduler.step()
        >>> scheduler.get_last_lr()
        [0.25]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        if self.last_epoch not in self.milestones:
            return self._rates()
        return self._scaled(self.gamma ** self.milestones[self.last_epoch])

    def _get_closed_form_lr(self) -> list[Any]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [lr * self.gamma**passed for lr in self.base_lrs]


class ExponentialLR(LRScheduler):
    """The rate is multiplied by ``gamma`` every epoch.

    Source: ``torch.optim.lr_scheduler.ExponentialLR``.

    Example:
        >>> import nnkit
        >>> optimizer = nnkit.optim.SGD([nnkit.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = nnkit.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        if self._is_initial:
            return self._rates()
        return self._scaled(self.gamma)

    def _get_closed_form_lr(self) -> list[Any]:
        return [lr * self.gamma**self.last_epoch for lr in self.base_lrs]


class ConstantLR(LRScheduler):
    """The rate is multiplied by ``factor`` until epoch ``total_iters``.

    Raises:
        ValueError: ``factor`` is not between 0 and 1.

    Source: ``torch.optim.lr_scheduler.ConstantLR``.

    Example:
        >>> import nnkit
        >>> optimizer = nnkit.optim.SGD([nnkit.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = nnkit.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=4)
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        check(within, "ConstantLR: factor", factor, "between 0 and 1")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        if self.last_epoch == 0:
            return self._scaled(self.factor)
        if self.last_epoch != self.total_iters:
            return self._rates()
        return self._scaled(1 / self.factor)

    def _get_closed_form_lr(self) -> list[Any]:
        factor = self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)
        return [lr * factor for lr in self.base_lrs]


class LinearLR(LRScheduler):
    """The factor goes from ``start_factor`` to ``end_factor`` in ``total_iters`` equal steps.

    Raises:
        ValueError: a factor is not between 0 and 1, or ``start_factor`` is 0.

    Source: ``torch.optim.lr_scheduler.LinearLR``.

    Example:
        >>> import nnkit
        >>> optimizer = nnkit.optim.SGD([nnkit.ones(1, requires_grad=True)], lr=1.0)
        >>> warmup = nnkit.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
        >>> optimizer.step()
        >>> warmup.step()
        >>> warmup.get_last_lr()
        [0.75]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        start = "above 0 and at most 1"
        check(lambda x: not (x > 1 or x <= 0), "LinearLR: start_factor", start_factor, start)
        check(within, "LinearLR: end_factor", end_factor, "between 0 and 1")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        if self.last_epoch == 0:
            return self._scaled(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        rise = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * rise
        return self._scaled(1.0 + rise / before)

    def _get_closed_form_lr(self) -> list[Any]:
        way = min(self.total_iters, self.last_epoch) / self.total_iters
        factor = self.start_factor + (self.end_factor - self.start_factor) * way
        return [lr * factor for lr in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The factor is ``(1 - epoch / total_iters) ** power``, and 0 after that.

    Source: ``torch.optim.lr_scheduler.PolynomialLR``.

    Example:
        >>> import nnkit
        >>> optimizer = nnkit.optim.SGD([nnkit.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = nnkit.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4, power=2)
        >>> for epoch in range(2):
        ...     optimizer.step()
        ...     scheduler.step()
        >>> scheduler.get_last_lr()
        [0.25]
    """

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        epoch, total = self.last_epoch, self.total_iters
        if self._is_initial or epoch > total:
            return self._rates()
        return self._scaled(((1.0 - epoch / total) / (1.0 - (epoch - 1) / total)) ** self.power)

    def _get_closed_form_lr(self) -> list[Any]:
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [lr * left**self.power for lr in self.base_lrs]


class _OfFunctions(LRScheduler):
    """Schedules by one function of the epoch, or one for each group."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        self.lr_lambdas = for_each_group("lr_lambda", lr_lambda, optimizer)
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(
                    f"{type(self).__name__}: lr_lambda must be a function, or a list of them, "
                    f"got {function!r}"
                )
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """The state of the scheduler; of the functions only what objects hold as attributes."""
        state = super().state_dict()
        del state["lr_lambdas"]
        return state | {"lr_lambdas": saved_functions(self.lr_lambdas)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the state; the functions stay, and objects among them get their attributes."""
        if not isinstance(state_dict, Mapping):
            got = type(state_dict).__name__
            raise TypeError(f"load_state_dict: state_dict must be a dict, got {got}")
        for function, attributes in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if attributes is not None:
                function.__dict__.update(attributes)
        rest = {k: v for k, v in state_dict.items() if k != "lr_lambdas"}
        super().load_state_dict(rest)


class LambdaLR(_OfFunctions):
    """The rate of an epoch is the first one times ``lr_lambda(epoch)``.

    Args:
        optimizer: its groups are scheduled.
        lr_lambda: a function, or a list of one for each group.
        last_epoch: the epoch to go on from.

    Raises:
        TypeError: what is given is no function.
        ValueError: there are more or fewer functions than groups.

    Source: ``torch.optim.lr_scheduler.LambdaLR``.

    Example:
        >>> import nnkit
        >>> optimizer = nnkit.optim.SGD([nnkit.ones(1, requires_grad=True)], lr=1.0)
        >>> warmup = nnkit.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: (epoch + 1) / 4)
        >>> warmup.get_last_lr()
        [0.25]
    """

    def get_lr(self) -> list[Any]:
        pairs = zip(self.base_lrs, self.lr_lambdas, strict=True)
        return [lr * function(self.last_epoch) for lr, function in pairs]


class MultiplicativeLR(_OfFunctions):
    """The rate is multiplied by ``lr_lambda(epoch)`` every epoch. Arguments as of `LambdaLR`.

    Source: ``torch.optim.lr_scheduler.MultiplicativeLR``.

    Example:
        >>> import nnkit
        >>> optimizer = nnkit.optim.SGD([nnkit.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = nnkit.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def get_lr(self) -> list[Any]:
        if self._is_initial:
            return self._rates()
        pairs = zip(self.optimizer.param_groups, self.lr_lambdas, strict=True)
        return [group["lr"] * function(self.last_epoch) for group, function in pairs]
