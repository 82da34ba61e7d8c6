"""The training step that all workloads run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Step = Callable[[], Any]
Workload = Callable[..., Step]  # of the framework's module and, where it is not "cpu", a device


def training_step(
    fw: Any, model: Any, optimizer: Any, x: Any, y: Any, *, flatten: bool = False
) -> Step:
    """Forward, cross entropy, backward, update; ``flatten`` for logits of one class a token."""
    if flatten:
        y = y.reshape(-1)

    def step() -> Any:
        optimizer.zero_grad()
        logits = model(x)
        if flatten:
            logits = logits.view(-1, logits.shape[-1])
        loss = fw.nn.functional.cross_entropy(logits, y)
        loss.backward()
        optimizer.step()
        return loss

    return step
