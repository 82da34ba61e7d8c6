"""An optimizer's step as part of a graph: the same formula, evaluated with Tensor operations."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.op.registry import LIFTED
from nnkit.backend.formula import Update, interpret


def apply_differentiable(
    update: Update,
    params: list[Tensor],
    states: dict[str, list[Tensor]],
    numbers: tuple[float, ...],
    flags: tuple,
) -> None:
    """Write the formula's new values into the parameters and states, with their history."""
    trace, targets = update.variant(flags)
    for i, p in enumerate(params):
        values: dict[str, Any] = dict(zip(update.scalars, numbers, strict=True))
        places = {name: tensors[i] for name, tensors in states.items()}
        places["param"] = p
        for counter in update.counters:
            places[counter].add_(1)
            values[counter] = places[counter].item()
        values |= {k: t.clone() for k, t in places.items() if k not in update.counters}
        values["grad"] = p.grad
        for target, result in zip(targets, interpret(trace, values, LIFTED), strict=True):
            places[target].copy_(result)
