"""Declares an optimizer's update as a formula, from which each backend prints a kernel.

The functions at the end are parts that several updates have in common.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.backend.algebra import register_update
from nnkit.backend.formula import Update, fn

__all__ = ["fn", "moving_mean", "moving_square", "penalized", "shrunk", "update"]


def update(
    *, scalars: str, flags: str = "", counters: str = ""
) -> Callable[[Callable[..., dict]], Update]:
    """Decorate a function that returns the new values of a parameter and its state, by name.

    Args:
        scalars: the parameters that are numbers, such as ``"lr momentum"``.
        flags: the parameters whose values select a variant of the formula.
        counters: the arrays that count steps.
    """

    def declare(body: Callable[..., dict]) -> Update:
        formula = Update(body.__name__, body, scalars.split(), flags.split(), counters.split())
        register_update(formula)
        return formula

    return declare


def penalized(grad: Any, param: Any, weight_decay: Any) -> Any:
    """The gradient of the loss with the L2 penalty ``weight_decay / 2 * param**2``."""
    return fn.rounded(grad + param * fn.rounded(weight_decay))


def shrunk(param: Any, lr: Any, weight_decay: Any) -> Any:
    """The parameter after decoupled weight decay."""
    return fn.rounded(param * (1 - lr * weight_decay))


def moving_mean(mean: Any, x: Any, beta: Any) -> Any:
    """``beta * mean + (1 - beta) * x``"""
    return fn.rounded(mean + (x - mean) * (1 - beta))


def moving_square(square: Any, x: Any, beta: Any) -> Any:
    """``beta * square + (1 - beta) * x**2``"""
    return fn.rounded(fn.rounded(square * beta) + x * (1 - beta) * x)
