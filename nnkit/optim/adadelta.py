"""Adadelta: steps of the size of the last ones, whatever the scale of the gradient."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor
from nnkit.optim.hyperparameters import check_learning_rate, check_range, required_numbers
from nnkit.optim.optimizer import Optimizer
from nnkit.optim.update import fn, moving_square, penalized, update


@update(scalars="lr rho eps weight_decay", flags="maximize has_decay", counters="step")
def adadelta(
    param: Any, grad: Any, square_avg: Any, acc_delta: Any, step: Any,
    lr: Any, rho: Any, eps: Any, weight_decay: Any, maximize: bool, has_decay: bool,
) -> dict:  # fmt: skip
    """The new parameter and averages."""
    if maximize:
        grad = -grad
    if has_decay:
        grad = penalized(grad, param, weight_decay)
    square = moving_square(square_avg, grad, rho)
    last, deviation = (
        fn.rounded(fn.sqrt(fn.rounded(v + fn.rounded(eps)))) for v in (acc_delta, square)
    )
    delta = fn.rounded(fn.rounded(last / deviation) * grad)
    return {
        "square_avg": square,
        "acc_delta": moving_square(acc_delta, delta, rho),
        "param": param - delta * fn.rounded(lr),
    }


class Adadelta(Optimizer):
    """Adadelta.

    With g the gradient (plus ``weight_decay`` times the parameter)::

        v = rho * v + (1 - rho) * g**2
        d = sqrt(u + eps) / sqrt(v + eps) * g
        u = rho * u + (1 - rho) * d**2
        parameter -= lr * d

    Args:
        params: iterable of tensors, of (name, tensor) pairs, or of dicts (parameter groups).
        lr: the learning rate.
        rho: the decay rate of both averages.
        eps: as in the formula.
        weight_decay: L2 penalty, added to the gradient.
        maximize: go up instead of down.
        foreach, capturable: accepted; one call always updates a whole group.
        differentiable: record the update itself.

    Raises:
        ValueError: a number is out of range, or ``params`` is empty.

    Source: Zeiler 2012, "ADADELTA: an adaptive learning rate method"; ``torch.optim.Adadelta``.

    Example:
        >>> import nnkit
        >>> w = nnkit.tensor([1.0], requires_grad=True)
        >>> optimizer = nnkit.optim.Adadelta([w], lr=10.0)
        >>> (w * 3).sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([0.9684], requires_grad=True)
    """

    formula = adadelta
    state_names = ("square_avg", "acc_delta")

    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        check_range("rho value", rho, lambda rho: 0 <= rho <= 1)
        check_range("epsilon value", eps)
        check_range("weight_decay value", weight_decay)
        defaults = {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def update_group(self, group: dict, params: list[Tensor]) -> None:
        states = self.gather(params, self.state_names, counter="step")
        numbers = required_numbers(group, "lr", "rho", "eps", "weight_decay")
        self.apply(group, params, states, numbers, (group["maximize"], group["weight_decay"] != 0))
