"""Averages of a model's weights, and what belongs to them: ``torch.optim.swa_utils``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from typing import Any

from nnkit.autograd import Tensor, no_grad
from nnkit.autograd.arguments.annotations import is_number
from nnkit.autograd.ops.exchange.interchange import tensor
from nnkit.backend.dtype import int64
from nnkit.backend.program.outside import outside
from nnkit.nn.modules.batchnorm import _BatchNorm
from nnkit.nn.modules.module import Module
from nnkit.optim.lr_scheduler import LRScheduler
from nnkit.optim.lr_scheduler.scheduler import check, for_each_group, within
from nnkit.optim.optimizer import Optimizer

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def _check_decay(decay: float) -> None:
    check(within, "the decay of an average", decay, "between 0 and 1")


def _pairs(means: Any, values: Any) -> Iterator[tuple[Tensor, Tensor]]:
    """The tensors of two lists, in pairs; at least one pair."""
    for each in (means, values):
        if not isinstance(each, (list, tuple)) or not all(isinstance(t, Tensor) for t in each):
            raise TypeError("the averages and the values must be lists of Tensors")
    if not means:
        raise IndexError("there must be at least one average, got an empty list")
    if len(means) != len(values):
        raise RuntimeError(
            f"Tensor lists must have the same number of tensors, got {len(means)} and {len(values)}"
        )
    return zip(means, values)


def get_ema_avg_fn(decay: float = 0.999) -> Callable:
    """An exponential average: ``decay * average + (1 - decay) * value``.

    Example:
        >>> import nnkit
        >>> average = nnkit.optim.swa_utils.get_ema_avg_fn(0.5)
        >>> average(nnkit.tensor(1.0), nnkit.tensor(3.0), 1)
        tensor(2.)
    """
    _check_decay(decay)

    @no_grad()
    def average(mean: Tensor, value: Tensor, number: Any) -> Tensor:
        return decay * mean + (1 - decay) * value

    return average


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable:
    """As `get_ema_avg_fn`, for lists of tensors, in place.

    Example:
        >>> import nnkit
        >>> means = [nnkit.tensor(1.0)]
        >>> nnkit.optim.swa_utils.get_ema_multi_avg_fn(0.5)(means, [nnkit.tensor(3.0)], 1)
        >>> means
        [tensor(2.)]
    """
    _check_decay(decay)

    @no_grad()
    def average(means: list[Tensor], values: list[Tensor], number: Any) -> None:
        for mean, value in _pairs(means, values):
            if mean.is_floating_point() or mean.is_complex():
                mean.lerp_(value, 1 - decay)
            else:
                mean.copy_(mean * decay + value * (1 - decay))

    return average


def get_swa_avg_fn() -> Callable:
    """The mean of all values so far.

    Example:
        >>> import nnkit
        >>> average = nnkit.optim.swa_utils.get_swa_avg_fn()
        >>> average(nnkit.tensor(1.0), nnkit.tensor(4.0), 2)
        tensor(2.)
    """

    @no_grad()
    def average(mean: Tensor, value: Tensor, number: Any) -> Tensor:
        return mean + (value - mean) / (number + 1)

    return average


def get_swa_multi_avg_fn() -> Callable:
    """As `get_swa_avg_fn`, for lists of tensors, in place.

    Example:
        >>> import nnkit
        >>> means = [nnkit.tensor(1.0)]
        >>> nnkit.optim.swa_utils.get_swa_multi_avg_fn()(means, [nnkit.tensor(4.0)], 2)
        >>> means
        [tensor(2.)]
    """

    @no_grad()
    def average(means: list[Tensor], values: list[Tensor], number: Any) -> None:
        if isinstance(number, Tensor) and number.ndim:
            raise TypeError(
                "the number of averaged models must be a number, got a Tensor of shape "
                f"{list(number.shape)}"
            )
        for mean, value in _pairs(means, values):
            if mean.is_floating_point() or mean.is_complex():
                mean.lerp_(value, float(1 / (number + 1)))
            else:
                mean.add_((value - mean) // (number + 1))

    return average


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of what the model's were.

    Args:
        model: its parameters are averaged by `update_parameters`.
        device: where the averages are kept.
        avg_fn: from the average, the new value and the number of those before to the new average;
            the mean of all if neither function is given.
        multi_avg_fn: the same for lists of tensors, in place.
        use_buffers: whether buffers are averaged too; otherwise they are copied.

    Raises:
        AssertionError: both functions are given.

    Source: Izmailov et al. 2018, "Averaging weights leads to wider optima and better
    generalization"; ``torch.optim.swa_utils.AveragedModel``.

    Example:
        >>> import nnkit
        >>> model = nnkit.nn.Linear(1, 1)
        >>> average = nnkit.optim.swa_utils.AveragedModel(model)
        >>> for value in (1.0, 3.0):
        ...     nnkit.nn.init.constant_(model.weight, value).sum().item()
        ...     average.update_parameters(model)
        1.0
        3.0
        >>> average.module.weight.item()
        2.0
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable | None = None,
        multi_avg_fn: Callable | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("AveragedModel: only one of avg_fn and multi_avg_fn can be given")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    @outside
    def update_parameters(self, model: Module) -> None:
        """Take the model's parameters into the averages."""

        def averaged(of: Module) -> list[Tensor]:
            return [*of.parameters(), *(of.buffers() if self.use_buffers else ())]

        pairs = [  # of as many as both have, as in torch
            (mean, value.detach().to(mean.device))
            for mean, value in zip(averaged(self.module), averaged(model))
        ]
        with no_grad():
            if self.n_averaged.item() == 0:
                for mean, value in pairs:
                    mean.copy_(value)
            elif self.multi_avg_fn is not None:
                means, values = zip(*pairs) if pairs else ((), ())
                self.multi_avg_fn([m.detach() for m in means], list(values), self.n_averaged)
            else:
                average = self.avg_fn or get_swa_avg_fn()
                for mean, value in pairs:
                    mean.copy_(average(mean.detach(), value, self.n_averaged.to(mean.device)))
            if not self.use_buffers:
                for mean, value in zip(self.module.buffers(), model.buffers(), strict=True):
                    mean.copy_(value.detach().to(mean.device))
            self.n_averaged.add_(1)


@no_grad()
def update_bn(loader: Iterable, model: Module, device: Any = None) -> None:
    """Compute the running statistics of a model's batch norms anew, by one pass over the data.

    Args:
        loader: gives batches, or lists whose first element is the batch.
        model: its batch norms are updated; it runs in training mode and is then as it was.
        device: where the batches are moved first.

    Example:
        >>> import nnkit
        >>> model = nnkit.nn.BatchNorm1d(1)
        >>> nnkit.optim.swa_utils.update_bn([nnkit.tensor([[1.0], [3.0]])], model)
        >>> model.running_mean
        tensor([2.])
    """
    norms = {m: m.momentum for m in model.modules() if isinstance(m, _BatchNorm)}
    if not norms:
        return
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # the mean of all batches
    was_training = model.training
    model.train()
    for batch in loader:
        inputs = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(inputs if device is None else inputs.to(device))
    for norm, momentum in norms.items():
        norm.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """The rate goes from where it is to ``swa_lr`` in some epochs, and stays there.

    Args:
        optimizer: its groups are scheduled.
        swa_lr: the last rate, a number or a list of one for each group.
        anneal_epochs: how many epochs it takes; 0 goes there at once.
        anneal_strategy: "cos" or "linear".
        last_epoch: the epoch to go on from.

    Raises:
        ValueError: the strategy is unknown, or the number of epochs negative.

    Source: ``torch.optim.swa_utils.SWALR``.

    Example:
        >>> import nnkit
        >>> optimizer = nnkit.optim.SGD([nnkit.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = nnkit.optim.swa_utils.SWALR(optimizer, 0.5, 2, "linear")
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.75]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        rates = for_each_group("swa_lr", swa_lr, optimizer)
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            if not (is_number(rate) or hasattr(rate, "__float__")):
                got = type(rate).__name__
                raise TypeError(f"SWALR(): argument 'swa_lr' must be float, not {got}")
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"SWALR: anneal_strategy must be cos or linear, got {anneal_strategy!r}"
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"SWALR: anneal_epochs must be at least 0, got {anneal_epochs}")
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _way(self, step: float) -> float:
        """The share of the way that is done after ``step`` epochs."""
        done = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return done if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * done)) / 2

    def get_lr(self) -> list[Any]:
        # torch counts from the number of calls, so that the first rate stays for one epoch.
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before = self._way(max(0, step - 1))
        now = self._way(step)
        rates = []
        for group in self.optimizer.param_groups:
            last = group["swa_lr"]
            first = last if before == 1 else (group["lr"] - before * last) / (1 - before)
            rates.append(last * now + first * (1 - now))
        return rates
