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
    numbers: tuple[Any, ...],
    flags: tuple,
) -> None:
    """Write the formula's new values into the parameters and states, with their history.

    Of ``numbers``, those that gradients flow into are Tensors without dimensions.
    """
    trace, targets = update.variant(tuple(map(bool, flags)))
    for i, p in enumerate(params):
        values: dict[str, Any] = {
            name: number.to(p.device, p.dtype) if isinstance(number, Tensor) else number
            for name, number in zip(update.scalars, numbers, strict=True)
        }
        places = {name: tensors[i] for name, tensors in states.items()}
        places["param"] = p
        for counter in update.counters:
            places[counter].add_(1)
            values[counter] = places[counter].item()
        values |= {k: t.clone() for k, t in places.items() if k not in update.counters}
        values["grad"] = p.grad
        for target, result in zip(targets, interpret(trace, values, LIFTED), strict=True):
            places[target].copy_(result)
