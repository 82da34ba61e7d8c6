"""Adamax: Adam with the largest gradient in place of the mean square."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor
from nnkit.optim.adam import check_moments
from nnkit.optim.hyperparameters import numbers_of_pair, required_numbers
from nnkit.optim.optimizer import Optimizer
from nnkit.optim.update import fn, moving_mean, penalized, update


@update(scalars="lr beta1 beta2 eps weight_decay", flags="maximize has_decay", counters="step")
def adamax(
    param: Any, grad: Any, exp_avg: Any, exp_inf: Any, step: Any,
    lr: Any, beta1: Any, beta2: Any, eps: Any, weight_decay: Any, maximize: bool, has_decay: bool,
) -> dict:  # fmt: skip
    """The new parameter, mean and largest gradient."""
    if maximize:
        grad = -grad
    if has_decay:
        grad = penalized(grad, param, weight_decay)
    mean = moving_mean(exp_avg, grad, beta1)
    largest = fn.maximum(fn.rounded(exp_inf * beta2), fn.rounded(fn.abs(grad) + fn.rounded(eps)))
    return {
        "exp_avg": mean,
        "exp_inf": largest,
        "param": param - mean * (lr / (1 - beta1**step)) / largest,
    }


class Adamax(Optimizer):
    """Adamax.

    With g the gradient (plus ``weight_decay`` times the parameter) at step t::

        m = beta1 * m + (1 - beta1) * g
        u = max(beta2 * u, abs(g) + eps)
        parameter -= lr / (1 - beta1**t) * m / u

    Args:
        params: iterable of tensors, of (name, tensor) pairs, or of dicts (parameter groups).
        lr: the learning rate.
        betas: the decay rates of the mean and of the largest gradient.
        eps: keeps the quotient finite.
        weight_decay: L2 penalty, added to the gradient.
        maximize: go up instead of down.
        foreach, capturable: accepted; one call always updates a whole group.
        differentiable: record the update itself.

    Raises:
        ValueError: a number is out of range, or ``params`` is empty.

    Source: Kingma and Ba 2014, "Adam: a method for stochastic optimization";
    ``torch.optim.Adamax``.

    Example:
        >>> import nnkit
        >>> w = nnkit.tensor([1.0], requires_grad=True)
        >>> optimizer = nnkit.optim.Adamax([w], lr=0.1)
        >>> (w * 3).sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([0.9000], requires_grad=True)
    """

    formula = adamax
    state_names = ("exp_avg", "exp_inf")

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_moments(lr, betas, eps, weight_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def update_group(self, group: dict, params: list[Tensor]) -> None:
        states = self.gather(params, self.state_names, counter="step")
        lr, eps, decay = required_numbers(group, "lr", "eps", "weight_decay")
        beta1, beta2 = numbers_of_pair(group, "betas")
        numbers = (lr, beta1, beta2, eps, decay)
        self.apply(group, params, states, numbers, (group["maximize"], decay != 0))
