"""Steps counted on the host, for updates whose numbers are no formula of the step alone."""

from __future__ import annotations

from nnkit.autograd import Tensor
from nnkit.autograd.tensor import wrap
from nnkit.backend.dtype import float32
from nnkit.optim.optimizer import Optimizer


def state_number(p: Tensor, value: float) -> Tensor:
    """A state tensor that holds one number, for parameter ``p``."""
    return wrap(p._device.backend.full((), value, float32.array), p._device)


def count_steps(optimizer: Optimizer, params: list[Tensor]) -> dict[int, list[Tensor]]:
    """Raise ``step`` of each parameter by one; the parameters by their new count."""
    counted: dict[int, list[Tensor]] = {}
    for p in params:
        state = optimizer.state[p]
        if "step" not in state:
            state["step"] = state_number(p, 0.0)
        state["step"].add_(1)
        counted.setdefault(int(state["step"].item()), []).append(p)
    return counted
