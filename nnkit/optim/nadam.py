"""NAdam: Adam with Nesterov's momentum."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor
from nnkit.optim.adam import check_moments
from nnkit.optim.counted import count_steps, number_of_state
from nnkit.optim.hyperparameters import (
    check_range,
    is_followed,
    number,
    numbers_of_pair,
    required_numbers,
)
from nnkit.optim.optimizer import Optimizer
from nnkit.optim.update import fn, moving_mean, moving_square, penalized, shrunk, update


@update(
    scalars="lr beta1 beta2 eps weight_decay grad_rate mean_rate correction",
    flags="maximize has_decay decoupled",
)
def nadam(
    param: Any, grad: Any, exp_avg: Any, exp_avg_sq: Any, lr: Any, beta1: Any, beta2: Any, eps: Any,
    weight_decay: Any, grad_rate: Any, mean_rate: Any, correction: Any,
    maximize: bool, has_decay: bool, decoupled: bool,
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
    denominator = fn.rounded(fn.rounded(fn.sqrt(fn.rounded(square / correction))) + fn.rounded(eps))
    param = fn.rounded(param - grad * grad_rate / denominator)
    return {
        "exp_avg": mean,
        "exp_avg_sq": square,
        "param": param - mean * mean_rate / denominator,
    }


class NAdam(Optimizer):
    """NAdam.

    With g the gradient (plus ``weight_decay`` times the parameter) at step t, m and v as in Adam,
    mu(t) = beta1 * (1 - 0.96**(t * momentum_decay) / 2) and M(t) the product of mu(1) ... mu(t)::

        m' = mu(t + 1) * m / (1 - M(t + 1)) + (1 - mu(t)) * g / (1 - M(t))
        parameter -= lr * m' / (sqrt(v / (1 - beta2**t)) + eps)

    Args:
        params: iterable of tensors, of (name, tensor) pairs, or of dicts (parameter groups).
        lr: the learning rate.
        betas: the decay rates of the two moments.
        eps: keeps the quotient finite.
        weight_decay: L2 penalty, added to the gradient; with ``decoupled_weight_decay`` the
            parameter shrinks by ``lr * weight_decay`` instead.
        momentum_decay: as in the formula.
        maximize: go up instead of down.
        foreach, capturable: accepted; one call updates all parameters with as many steps.
        differentiable: record the update itself.

    Raises:
        ValueError: a number is out of range, or ``params`` is empty.

    Source: Dozat 2016, "Incorporating Nesterov momentum into Adam"; ``torch.optim.NAdam``.

    Example:
        >>> import nnkit
        >>> w = nnkit.tensor([1.0], requires_grad=True)
        >>> optimizer = nnkit.optim.NAdam([w], lr=0.1)
        >>> (w * 3).sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([0.8944], requires_grad=True)
    """

    formula = nadam
    state_names = ("exp_avg", "exp_avg_sq")

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_moments(lr, betas, eps, weight_decay)
        check_range("momentum_decay value", momentum_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "momentum_decay": momentum_decay, "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def update_group(self, group: dict, params: list[Tensor]) -> None:
        lr, eps, decay = required_numbers(group, "lr", "eps", "weight_decay")
        beta1, beta2 = numbers_of_pair(group, "betas")
        flags = (group["maximize"], decay != 0, group["decoupled_weight_decay"])
        momentum_decay = number("momentum_decay", group["momentum_decay"])
        for step, counted in count_steps(self, params).items():
            mu, following = (
                beta1 * (1 - 0.5 * 0.96 ** (t * momentum_decay)) for t in (step, step + 1)
            )
            for product, some in self._by_product(group, counted, mu).items():
                grad_rate = lr * (1 - mu) / (1 - product)
                mean_rate = lr * following / (1 - product * following)
                numbers = (lr, beta1, beta2, eps, decay, grad_rate, mean_rate, 1 - beta2**step)
                self.apply(group, some, self.gather(some, self.state_names), numbers, flags)

    def _by_product(self, group: dict, params: list[Tensor], mu: Any) -> dict[Any, list[Tensor]]:
        """Multiply ``mu_product`` of each parameter by ``mu``; the parameters by their product."""
        found: dict[Any, list[Tensor]] = {}
        for p in params:
            product = number_of_state(self, p, "mu_product", 1.0).mul_(mu)
            # The next step writes into the state, which this one's graph must not see.
            key = product.clone() if is_followed(group, product) else product.item()
            found.setdefault(key, []).append(p)
        return found
