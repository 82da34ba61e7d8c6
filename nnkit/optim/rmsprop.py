"""RMSprop: steps divided by a running root mean square of the gradient."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor
from nnkit.optim.hyperparameters import check_learning_rate, check_range, required_numbers
from nnkit.optim.optimizer import Optimizer
from nnkit.optim.update import fn, moving_mean, moving_square, penalized, update


@update(
    scalars="lr alpha eps weight_decay momentum",
    flags="has_momentum centered maximize has_decay",
    counters="step",
)
def rmsprop(
    param: Any, grad: Any, square_avg: Any, momentum_buffer: Any, grad_avg: Any, step: Any,
    lr: Any, alpha: Any, eps: Any, weight_decay: Any, momentum: Any,
    has_momentum: bool, centered: bool, maximize: bool, has_decay: bool,
) -> dict:  # fmt: skip
    """The new parameter and averages."""
    if maximize:
        grad = -grad
    if has_decay:
        grad = penalized(grad, param, weight_decay)
    square = moving_square(square_avg, grad, alpha)
    new = {"square_avg": square}
    if centered:
        mean = moving_mean(grad_avg, grad, alpha)
        new["grad_avg"] = mean
        square = fn.rounded(square - mean * mean)
    deviation = fn.rounded(fn.rounded(fn.sqrt(square)) + fn.rounded(eps))
    if not has_momentum:
        return {**new, "param": param - grad * lr / deviation}
    buffer = fn.rounded(fn.rounded(momentum_buffer * momentum) + grad / deviation)
    return {**new, "momentum_buffer": buffer, "param": param - buffer * fn.rounded(lr)}


class RMSprop(Optimizer):
    """RMSprop.

    With g the gradient (plus ``weight_decay`` times the parameter)::

        v = alpha * v + (1 - alpha) * g**2
        parameter -= lr * g / (sqrt(v) + eps)           (centered: v less the squared mean of g)

    Args:
        params: iterable of tensors, of (name, tensor) pairs, or of dicts (parameter groups).
        lr: the learning rate.
        alpha: the decay rate of the average.
        eps: keeps the quotient finite.
        weight_decay: L2 penalty, added to the gradient.
        momentum: share of the last step that is repeated.
        centered: divide by the standard deviation instead.
        maximize: go up instead of down.
        foreach, capturable: accepted; one call always updates a whole group.
        differentiable: record the update itself.

    Raises:
        ValueError: a number is out of range, or ``params`` is empty.

    Source: Hinton's lecture 6e "Neural networks for machine learning"; centered: Graves 2013;
    ``torch.optim.RMSprop``.

    Example:
        >>> import nnkit
        >>> w = nnkit.tensor([1.0], requires_grad=True)
        >>> optimizer = nnkit.optim.RMSprop([w], lr=0.01)
        >>> (w * 3).sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([0.9000], requires_grad=True)
    """

    formula = rmsprop
    state_names = ("square_avg", "momentum_buffer", "grad_avg")

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        check_range("epsilon value", eps)
        check_range("momentum value", momentum)
        check_range("weight_decay value", weight_decay)
        check_range("alpha value", alpha)
        defaults = {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("momentum", 0)

    def update_group(self, group: dict, params: list[Tensor]) -> None:
        momentum, centered = group["momentum"] > 0, group["centered"]
        used = (True, momentum, centered)
        names = [n for n, wanted in zip(self.state_names, used, strict=True) if wanted]
        states = self.gather(params, names, counter="step")
        numbers = required_numbers(group, "lr", "alpha", "eps", "weight_decay", "momentum")
        flags = (momentum, centered, group["maximize"], group["weight_decay"] != 0)
        self.apply(group, params, states, numbers, flags)
