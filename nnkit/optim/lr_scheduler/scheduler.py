"""`LRScheduler`: counts steps and writes the learning rates that a subclass computes."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from nnkit.autograd import Tensor
from nnkit.backend.program.outside import outside
from nnkit.backend.warning import warn
from nnkit.optim.optimizer import Optimizer

EPOCH_DEPRECATION_WARNING = (
    "the epoch argument of a scheduler's step is deprecated: call step() once an epoch"
)
UNSAVED = ("optimizer", "_own_step")
SEE = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


def for_each_group(what: str, value: Any, optimizer: Optimizer) -> list[Any]:
    """``value`` for each param group, Tensors copied; a list must have one for each group.

    Raises:
        TypeError: ``optimizer`` is no Optimizer.
        ValueError: it has another number of them.
    """
    groups = len(checked_optimizer(optimizer).param_groups)
    if not isinstance(value, (list, tuple)):
        value = [value] * groups
    if len(value) != groups:
        raise ValueError(
            f"{what} must have the same length as optimizer.param_groups. {what} has {len(value)} "
            f"values, param_groups has {groups}."
        )
    return [own_value(v) for v in value]


def check(valid: Callable[[Any], Any], what: str, value: Any, expected: str) -> None:
    """ValueError for an argument that is not as expected, TypeError for one that has no order."""
    message = f"{what} must be {expected}, got {value!r}"
    try:
        is_valid = valid(value)
    except TypeError:
        raise TypeError(message) from None
    if not is_valid:
        raise ValueError(message)


def within(value: Any) -> bool:
    """Whether a number is between 0 and 1; nan counts, as in torch."""
    return not (value < 0 or value > 1)


def is_positive_integer(value: Any) -> bool:
    return value >= 1 and isinstance(value, int)


def set_value(group: dict[str, Any], name: str, value: Any) -> None:
    """Write a hyperparameter; one that is a Tensor is filled, since others may hold it."""
    if isinstance(group[name], Tensor):
        group[name].fill_(value)
    else:
        group[name] = value


def own_value(value: Any) -> Any:
    """``value``, copied if it is a Tensor."""
    return value.clone() if isinstance(value, Tensor) else value


class LRScheduler:
    """Base class: ``step`` counts an epoch and sets ``lr`` of each param group to ``get_lr()``.

    A subclass gives ``get_lr``, which computes the rates of epoch ``last_epoch`` from those that
    stand in the groups, so that schedules can be chained; and, where there is one, the closed
    form from ``base_lrs`` as ``_get_closed_form_lr``, which ``step(epoch)`` uses.

    Args:
        optimizer: its groups get an ``initial_lr`` when they have none.
        last_epoch: the epoch to go on from; -1 starts afresh.

    Raises:
        TypeError: ``optimizer`` is no Optimizer.
        KeyError: to go on, a group must have its ``initial_lr``.

    Example:
        >>> import nnkit
        >>> class Halved(nnkit.optim.lr_scheduler.LRScheduler):
        ...     def get_lr(self):
        ...         return [lr * 0.5**self.last_epoch for lr in self.base_lrs]
        >>> optimizer = nnkit.optim.SGD([nnkit.ones(1, requires_grad=True)], lr=0.1)
        >>> scheduler = Halved(optimizer)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.05]
    """

    _get_lr_called_within_step = False
    _is_initial = False
    _step_count = 0
    _own_step: Any = None
    _last_lr: list[Any]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = checked_optimizer(optimizer)
        if last_epoch == -1:
            for group in optimizer.param_groups:
                group.setdefault("initial_lr", own_value(group["lr"]))
        else:
            for i, group in enumerate(optimizer.param_groups):
                if "initial_lr" not in group:
                    raise KeyError(
                        f"{type(self).__name__}(): param group {i} has no 'initial_lr', from which "
                        f"last_epoch={last_epoch} goes on: load the optimizer's state_dict before "
                        "making the scheduler, or leave last_epoch at -1 to start afresh"
                    )
        self.base_lrs = [own_value(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._own_step = vars(optimizer).get("step")
        self._initial_step()

    def _initial_step(self) -> None:
        # The attributes of torch's state_dict, which it loads.
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer, as a dict."""
        return {k: v for k, v in self.__dict__.items() if k not in UNSAVED}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what another scheduler's `state_dict` gave."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The learning rates that were set last, one a group."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The learning rates of epoch ``last_epoch``, one a group; given by a subclass."""
        raise NotImplementedError(f"{type(self).__name__} defines no get_lr")

    @outside
    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch (or to ``epoch``, which is deprecated) and set the rates."""
        if self._step_count == 1:
            self._check_order()
        self._step_count += 1
        if epoch is not None:
            warn(EPOCH_DEPRECATION_WARNING)
        self._update_lr(epoch)

    def _check_order(self) -> None:
        """Warn if the optimizer has made no step, or if nobody knows."""
        step = vars(self.optimizer).get("step")
        # A function made by functools.wraps keeps the mark of the wrapped one, as in torch.
        if step is not self._own_step and not hasattr(step, "__wrapped__"):
            said = "Seems like `optimizer.step()` has been overridden after the scheduler was made."
        elif not getattr(self.optimizer, "_opt_called", False):
            said = "Detected call of `lr_scheduler.step()` before `optimizer.step()`."
        else:
            return
        warn(
            f"{said} Call `optimizer.step()` before `lr_scheduler.step()`, or the first learning "
            f"rate is skipped. {SEE}"
        )

    def _update_lr(self, epoch: int | None = None) -> None:
        if epoch is None:
            self.last_epoch += 1
            self._set_to(self.get_lr)
        else:
            self.last_epoch = epoch
            self._set_to(getattr(self, "_get_closed_form_lr", self.get_lr))

    def _set_to(self, rates: Callable[[], list[Any]]) -> None:
        self._get_lr_called_within_step = True
        try:
            found = rates()
        finally:
            self._get_lr_called_within_step = False
        for group, rate in zip(self.optimizer.param_groups, found, strict=True):
            set_value(group, "lr", rate)
        self._last_lr = [own_value(group["lr"]) for group in self.optimizer.param_groups]

    def _rates(self) -> list[Any]:
        """The rates that stand in the groups."""
        return [own_value(group["lr"]) for group in self.optimizer.param_groups]

    def _scaled(self, factor: float) -> list[Any]:
        return [group["lr"] * factor for group in self.optimizer.param_groups]


def checked_optimizer(optimizer: Any) -> Optimizer:
    """``optimizer``; TypeError if it is none."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
    return optimizer


def saved_functions(functions: list[Any]) -> list[dict[str, Any] | None]:
    """User functions in a state_dict: an object's attributes, None for a plain function."""
    return [None if isinstance(f, FunctionType) else dict(vars(f)) for f in functions]
