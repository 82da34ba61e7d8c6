"""Adagrad: steps divided by the root of the sum of all squared gradients."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor, no_grad
from nnkit.autograd.tensor import wrap
from nnkit.optim.counted import state_number
from nnkit.optim.hyperparameters import (
    check_fused,
    check_learning_rate,
    check_range,
    required_numbers,
)
from nnkit.optim.optimizer import Optimizer
from nnkit.optim.update import fn, penalized, update


@update(scalars="lr lr_decay weight_decay eps", flags="maximize has_decay", counters="step")
def adagrad(
    param: Any, grad: Any, sum: Any, step: Any, lr: Any, lr_decay: Any, weight_decay: Any, eps: Any,
    maximize: bool, has_decay: bool,
) -> dict:  # fmt: skip
    """The new parameter and sum of squares."""
    if maximize:
        grad = -grad
    if has_decay:
        grad = penalized(grad, param, weight_decay)
    total = fn.rounded(sum + grad * grad)
    rate = lr / (1 + (step - 1) * lr_decay)
    deviation = fn.rounded(fn.rounded(fn.sqrt(total)) + fn.rounded(eps))
    return {"sum": total, "param": param - grad * rate / deviation}


class Adagrad(Optimizer):
    """Adagrad.

    With g the gradient (plus ``weight_decay`` times the parameter) at step t::

        sum += g**2
        parameter -= lr / (1 + (t - 1) * lr_decay) * g / (sqrt(sum) + eps)

    Args:
        params: iterable of tensors, of (name, tensor) pairs, or of dicts (parameter groups).
        lr: the learning rate.
        lr_decay: as in the formula.
        weight_decay: L2 penalty, added to the gradient.
        initial_accumulator_value: what the sum starts from.
        eps: keeps the quotient finite.
        maximize: go up instead of down.
        foreach, fused: accepted; one call always updates a whole group.
        differentiable: record the update itself.

    Raises:
        ValueError: a number is out of range, or ``params`` is empty.

    Source: Duchi, Hazan and Singer 2011, "Adaptive subgradient methods for online learning and
    stochastic optimization"; ``torch.optim.Adagrad``.

    Example:
        >>> import nnkit
        >>> w = nnkit.tensor([1.0], requires_grad=True)
        >>> optimizer = nnkit.optim.Adagrad([w], lr=0.1)
        >>> (w * 3).sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([0.9000], requires_grad=True)
    """

    formula = adagrad
    state_names = ("sum",)

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_learning_rate(lr)
        check_range("lr_decay value", lr_decay)
        check_range("weight_decay value", weight_decay)
        start = initial_accumulator_value
        check_range("initial_accumulator_value value", start)
        check_range("epsilon value", eps)
        defaults = {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": start, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)
        for group in self.param_groups:
            for p in group["params"]:
                self._start(p, group["initial_accumulator_value"])

    def _start(self, p: Tensor, value: float) -> None:
        data = p._device.backend.zeros_like(p._array)
        start = complex(value, value) if p.is_complex() else value
        p._device.backend.fill_(data, start)
        self.state[p] = {
            "step": state_number(p, 0.0, self.defaults["fused"]),
            "sum": wrap(data, p._device),
        }

    def share_memory(self) -> None:
        """Move the state into memory that child processes share."""
        for state in self.state.values():
            state["sum"].share_memory_()

    def update_group(self, group: dict, params: list[Tensor]) -> None:
        for p in params:
            if p not in self.state:  # of a group that was added later
                self._start(p, group["initial_accumulator_value"])
        states = self.gather(params, self.state_names, counter="step")
        numbers = required_numbers(group, "lr", "lr_decay", "weight_decay", "eps")
        self.apply(group, params, states, numbers, (group["maximize"], group["weight_decay"] != 0))

    @no_grad()
    def update_sparse(self, group: dict, p: Tensor) -> None:
        if group["weight_decay"]:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        if p not in self.state:
            self._start(p, group["initial_accumulator_value"])
        state, grad = self.state[p], p.grad.coalesce()
        state["step"] += 1
        rate = group["lr"] / (1 + (state["step"].item() - 1) * group["lr_decay"])
        values = -grad.values() if group["maximize"] else grad.values()
        state["sum"].add_(grad.like(values * values))
        root = state["sum"].sparse_mask(grad).values().sqrt() + group["eps"]
        p.add_(grad.like(values / root), alpha=-rate)
