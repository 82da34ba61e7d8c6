"""The hyperparameters of optimizers, checked: numbers, pairs and flags."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.grad_mode import MODE


def at_least_zero(value: Any) -> Any:
    """Whether a number is 0 or more; nan is not."""
    return value >= 0


def not_negative(value: Any) -> Any:
    """Whether a number is not below 0; nan is not."""
    return not value < 0


def check_range(what: str, value: Any, valid: Callable[[Any], Any] = at_least_zero) -> None:
    """ValueError for a hyperparameter that is out of its range, TypeError for one of no order."""
    try:
        is_valid = valid(value)
    except TypeError:
        raise TypeError(f"Invalid {what}: it must be a number, got {value!r}") from None
    if not is_valid:
        told = ", ".join(map(str, value)) if isinstance(value, (tuple, list)) else value
        raise ValueError(f"Invalid {what}: {told}")


def check_learning_rate(lr: Any, valid: Callable[[Any], Any] = at_least_zero) -> None:
    """ValueError for a negative learning rate, or a tensor of several."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError(f"Tensor lr must be 1-element, got shape {list(lr.shape)}")
    check_range("learning rate", lr, valid)


def member(what: str, values: Any, index: int) -> Any:
    """One of two numbers that belong together, such as ``betas``."""
    try:
        return values[index]
    except (TypeError, LookupError) as error:
        raise type(error)(f"optim: {what} must be two numbers, got {values!r}") from None


def check_fused(fused: Any, foreach: Any, differentiable: Any) -> None:
    """RuntimeError for choices of an implementation that torch does not have."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def number(name: str, value: Any) -> float:
    """A hyperparameter as a float (a learning rate may be a tensor).

    Raises:
        RuntimeError: it is complex, or (but for the learning rate) a tensor of several numbers.
        TypeError: it is no number.
    """
    if not isinstance(value, str):
        try:
            return float(value)
        except (TypeError, ValueError):
            if isinstance(value, complex) or (isinstance(value, Tensor) and name != "lr"):
                raise RuntimeError(f"{name} must be one real number, got {value}") from None
    raise TypeError(f"{name} must be a number, got {value!r}")


def is_followed(group: dict, value: Any) -> bool:
    """Whether gradients flow into a number that a step uses."""
    return (
        group.get("differentiable") is True
        and isinstance(value, Tensor)
        and value.requires_grad
        and MODE.enabled
    )


def number_of_group(group: dict, name: str, value: Any) -> Any:
    """A hyperparameter as a float, but for one that gradients flow into; what `number` raises."""
    return value.reshape(()) if is_followed(group, value) else number(name, value)


def numbers_of_pair(group: dict, name: str) -> tuple[float, float]:
    """Two hyperparameters that belong together, each as `number_of_group` gives it."""
    values = group[name]
    try:
        first, second = values
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name} must be two numbers, got {values!r}") from None
    return number_of_group(group, name, first), number_of_group(group, name, second)


def required_numbers(group: dict, *names: str) -> tuple[float, ...]:
    """The named hyperparameters of a group, each as `number_of_group` gives it."""
    if not group.get("differentiable"):
        try:
            return tuple(map(float, map(group.__getitem__, names)))
        except (TypeError, ValueError):
            pass
    return tuple([number_of_group(group, name, group[name]) for name in names])
