"""RAdam: Adam that waits until the variance of its own rate is small."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor
from nnkit.optim.adam import check_moments
from nnkit.optim.counted import count_steps
from nnkit.optim.hyperparameters import numbers_of_pair, required_numbers
from nnkit.optim.optimizer import Optimizer
from nnkit.optim.update import fn, moving_mean, moving_square, penalized, shrunk, update


@update(
    scalars="lr beta1 beta2 eps weight_decay rate",
    flags="adapts maximize has_decay decoupled",
)
def radam(
    param: Any, grad: Any, exp_avg: Any, exp_avg_sq: Any,
    lr: Any, beta1: Any, beta2: Any, eps: Any, weight_decay: Any, rate: Any,
    adapts: bool, maximize: bool, has_decay: bool, decoupled: bool,
) -> dict:  # fmt: skip
    """The new parameter and moments."""
    if maximize:
        grad = -grad
    if has_decay and decoupled:
        param = shrunk(param, lr, weight_decay)
    elif has_decay:
        grad = penalized(grad, param, weight_decay)
    mean = moving_mean(exp_avg, grad, beta1)
    square = moving_square(exp_avg_sq, grad, beta2)
    direction = mean
    if adapts:
        direction = mean / fn.rounded(fn.rounded(fn.sqrt(square)) + fn.rounded(eps))
    return {"exp_avg": mean, "exp_avg_sq": square, "param": param - direction * rate}


class RAdam(Optimizer):
    """RAdam.

    With m and v as in Adam at step t, r = 2 / (1 - beta2) - 1 and
    r(t) = r - 2 * t * beta2**t / (1 - beta2**t)::

        r(t) > 5:    parameter -= lr * m / (1 - beta1**t) * c * sqrt(1 - beta2**t) / (sqrt(v) + eps)
                     c**2 = (r(t) - 4) * (r(t) - 2) * r / ((r - 4) * (r - 2) * r(t))
        otherwise:   parameter -= lr * m / (1 - beta1**t)

    Args:
        params: iterable of tensors, of (name, tensor) pairs, or of dicts (parameter groups).
        lr: the learning rate.
        betas: the decay rates of the two moments.
        eps: keeps the quotient finite.
        weight_decay: L2 penalty, added to the gradient; with ``decoupled_weight_decay`` the
            parameter shrinks by ``lr * weight_decay`` instead.
        maximize: go up instead of down.
        foreach, capturable: accepted; one call updates all parameters with as many steps.
        differentiable: record the update itself.

    Raises:
        ValueError: a number is out of range, or ``params`` is empty.

    Source: Liu et al. 2019, "On the variance of the adaptive learning rate and beyond";
    ``torch.optim.RAdam``.

    Example:
        >>> import nnkit
        >>> w = nnkit.tensor([1.0], requires_grad=True)
        >>> optimizer = nnkit.optim.RAdam([w], lr=0.1)
        >>> (w * 3).sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([0.7000], requires_grad=True)
    """

    formula = radam
    state_names = ("exp_avg", "exp_avg_sq")

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_moments(lr, betas, eps, weight_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def update_group(self, group: dict, params: list[Tensor]) -> None:
        lr, eps, decay = required_numbers(group, "lr", "eps", "weight_decay")
        beta1, beta2 = numbers_of_pair(group, "betas")
        longest = 2 / (1 - beta2) - 1
        for step, counted in count_steps(self, params).items():
            correction = 1 - beta2**step
            length = longest - 2 * step * beta2**step / correction
            rate = lr / (1 - beta1**step)
            adapts = length > 5
            if adapts:
                square = (length - 4) * (length - 2) * longest
                square /= (longest - 4) * (longest - 2) * length
                rate = rate * square**0.5 * correction**0.5
            flags = (adapts, group["maximize"], decay != 0, group["decoupled_weight_decay"])
            states = self.gather(counted, self.state_names)
            self.apply(group, counted, states, (lr, beta1, beta2, eps, decay, rate), flags)
