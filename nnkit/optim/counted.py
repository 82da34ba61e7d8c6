"""Steps counted on the host, for updates whose numbers are no formula of the step alone."""

from __future__ import annotations

from nnkit.autograd import Tensor
from nnkit.autograd.tensor import wrap
from nnkit.optim.optimizer import Optimizer, wrong_state
from nnkit.optim.state import NUMBERS, dtype_of_numbers


def state_number(p: Tensor, value: float, is_fused: bool | None = None) -> Tensor:
    """A state tensor that holds one number, for parameter ``p``."""
    dtype = dtype_of_numbers(is_fused)
    return wrap(p._device.backend.full((), value, dtype.array), p._device)


def number_of_state(optimizer: Optimizer, p: Tensor, name: str, start: float) -> Tensor:
    """A state tensor of one number, made on first use."""
    state = optimizer.state[p]
    if name not in state:
        state[name] = state_number(p, start)
    return state[name]


def check_state(optimizer: Optimizer, p: Tensor) -> None:
    """RuntimeError for a state entry of another shape than it must have; TypeError for others."""
    for name, value in optimizer.state[p].items():
        if name not in NUMBERS and name not in optimizer.state_names:
            continue  # one of the user's own
        if not isinstance(value, Tensor):
            raise wrong_state(optimizer, name, value)
        data, is_number = value._array, name in NUMBERS
        if (
            (data.size != 1 or data.dtype.kind == "c")
            if is_number
            else data.shape != p._array.shape
        ):
            expected = "one real number" if is_number else f"shape {list(p.shape)}"
            raise RuntimeError(
                f"{type(optimizer).__name__}: state {name!r} must have {expected}, got shape "
                f"{list(value.shape)} and dtype {value.dtype}"
            )


def count_steps(optimizer: Optimizer, params: list[Tensor]) -> dict[int, list[Tensor]]:
    """Raise ``step`` of each parameter by one; the parameters by their new count."""
    for p in params:  # before anything is written
        check_state(optimizer, p)
    counted: dict[int, list[Tensor]] = {}
    for p in params:
        step = number_of_state(optimizer, p, "step", 0.0).add_(1)
        counted.setdefault(int(step.item()), []).append(p)
    return counted
