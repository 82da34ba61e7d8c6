"""Declares an optimizer's update: one formula, from which every backend prints its kernel."""

from __future__ import annotations

from collections.abc import Callable

from nnkit.backend.algebra import register_update
from nnkit.backend.formula import Update, fn

__all__ = ["fn", "update"]


def update(
    *, scalars: str, flags: str = "", counters: str = ""
) -> Callable[[Callable[..., dict]], Update]:
    """Decorate the function that gives the new values of a parameter and its state.

    Args:
        scalars: names of the parameters that are numbers, such as ``"lr momentum"``.
        flags: names of those whose value decides the shape of the formula.
        counters: names of the arrays that count steps.
    """

    def declare(body: Callable[..., dict]) -> Update:
        formula = Update(body.__name__, body, scalars.split(), flags.split(), counters.split())
        register_update(formula)
        return formula

    return declare
