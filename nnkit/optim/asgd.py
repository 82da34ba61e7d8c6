"""ASGD: stochastic gradient descent that averages the parameters of its last steps."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor
from nnkit.optim.counted import count_steps, number_of_state, state_number
from nnkit.optim.hyperparameters import (
    check_learning_rate,
    check_range,
    number,
    required_numbers,
)
from nnkit.optim.optimizer import Optimizer
from nnkit.optim.update import fn, penalized, update


@update(scalars="eta shrink mu weight_decay", flags="averages maximize has_decay")
def asgd(
    param: Any, grad: Any, ax: Any, eta: Any, shrink: Any, mu: Any, weight_decay: Any,
    averages: bool, maximize: bool, has_decay: bool,
) -> dict:  # fmt: skip
    """The new parameter and average."""
    if maximize:
        grad = -grad
    if has_decay:
        grad = penalized(grad, param, weight_decay)
    param = fn.rounded(fn.rounded(param * shrink) - grad * fn.rounded(eta))
    average = ax + fn.rounded(fn.rounded(param - ax) * mu) if averages else param
    return {"param": param, "ax": average}


class ASGD(Optimizer):
    """Averaged stochastic gradient descent; ``state[p]["ax"]`` is the average.

    With g the gradient (plus ``weight_decay`` times the parameter) at step t::

        parameter = (1 - lambd * eta) * parameter - eta * g
        ax += (parameter - ax) * mu
        eta = lr / (1 + lambd * lr * t)**alpha;  mu = 1 / max(1, t - t0)      (for the next step)

    Args:
        params: iterable of tensors, of (name, tensor) pairs, or of dicts (parameter groups).
        lr: the learning rate.
        lambd: the decay.
        alpha: the power by which the rate falls.
        t0: the step from which on is averaged.
        weight_decay: L2 penalty, added to the gradient.
        maximize: go up instead of down.
        foreach, capturable: accepted; one call updates all parameters with as many steps.
        differentiable: record the update itself.

    Raises:
        ValueError: a number is out of range, or ``params`` is empty.

    Source: Polyak and Juditsky 1992, "Acceleration of stochastic approximation by averaging";
    ``torch.optim.ASGD``.

    Example:
        >>> import nnkit
        >>> w = nnkit.tensor([1.0], requires_grad=True)
        >>> optimizer = nnkit.optim.ASGD([w], lr=0.1)
        >>> (w * 3).sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([0.7000], requires_grad=True)
    """

    formula = asgd
    state_names = ("ax",)

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        check_range("weight_decay value", weight_decay)
        defaults = {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay,
            "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
            "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def update_group(self, group: dict, params: list[Tensor]) -> None:
        # The numbers that make the state are no part of a graph, as in torch.
        lr, lambd, alpha, t0 = (number(n, group[n]) for n in ("lr", "lambd", "alpha", "t0"))
        (decay,) = required_numbers(group, "weight_decay")
        for step, counted in count_steps(self, params).items():
            for (eta, mu), some in self._by_rates(counted, lr).items():
                flags = (mu != 1, group["maximize"], decay != 0)
                numbers = (eta, 1 - lambd * eta, mu, decay)
                self.apply(group, some, self.gather(some, self.state_names), numbers, flags)
            for p in counted:
                # In float32, whatever a loaded state is kept in.
                eta = state_number(p, lr / (1 + lambd * lr * step) ** alpha)
                self.state[p]["eta"].copy_(eta)
                self.state[p]["mu"].copy_(state_number(p, 1 / max(1, step - t0)))

    def _by_rates(self, params: list[Tensor], lr: float) -> dict[tuple, list[Tensor]]:
        """The parameters by the ``eta`` and ``mu`` that their last step has left."""
        found: dict[tuple, list[Tensor]] = {}
        for p in params:
            eta = number_of_state(self, p, "eta", lr)
            mu = number_of_state(self, p, "mu", 1.0)
            found.setdefault((eta.item(), mu.item()), []).append(p)
        return found
