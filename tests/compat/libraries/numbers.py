"""What is compared of a network: its loss and its gradients."""

from __future__ import annotations

from typing import Any


def gradients(module: Any) -> list[float]:
    """The number of parameters that got a gradient, and its norm."""
    found = [p.grad for p in module.parameters() if p.grad is not None]
    return [len(found), float(sum((g.double() ** 2).sum() for g in found) ** 0.5)]


def step(module: Any, *inputs: Any, **named: Any) -> list[float]:
    """Loss and gradients of the mean square of what the module returns."""
    out = module(*inputs, **named)
    while not hasattr(out, "backward"):
        out = next(iter(out.values())) if hasattr(out, "values") else out[0]
    loss = out.float().square().mean()
    loss.backward()
    return [float(loss.detach()), *gradients(module)]
