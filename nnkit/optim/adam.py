"""Adam and AdamW: steps scaled by running moments of the gradient."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor
from nnkit.backend.program.outside import live
from nnkit.optim.hyperparameters import (
    check_fused,
    check_learning_rate,
    check_range,
    member,
    numbers_of_pair,
    required_numbers,
)
from nnkit.optim.optimizer import Optimizer
from nnkit.optim.update import fn, moving_square, penalized, shrunk, update


@update(
    scalars="lr beta1 beta2 eps weight_decay",
    flags="amsgrad maximize has_decay decoupled",
    counters="step",
)
def adam(
    param: Any, grad: Any, exp_avg: Any, exp_avg_sq: Any, max_exp_avg_sq: Any, step: Any,
    lr: Any, beta1: Any, beta2: Any, eps: Any, weight_decay: Any,
    amsgrad: bool, maximize: bool, has_decay: bool, decoupled: bool,
) -> dict:  # fmt: skip
    """The new parameter and moments after ``step`` steps."""
    if maximize:
        grad = -grad
    if has_decay and decoupled:
        param = shrunk(param, lr, weight_decay)
    elif has_decay:
        grad = penalized(grad, param, weight_decay)
    exp_avg = fn.rounded(exp_avg * beta1 + grad * (1 - beta1))
    exp_avg_sq = moving_square(exp_avg_sq, grad, beta2)
    new = {"exp_avg": exp_avg, "exp_avg_sq": exp_avg_sq}
    second = exp_avg_sq
    if amsgrad:
        second = new["max_exp_avg_sq"] = fn.maximum(max_exp_avg_sq, exp_avg_sq)
    correction1 = 1 - beta1**step
    correction2 = 1 - beta2**step
    root = fn.rounded(fn.rounded(fn.sqrt(second)) / fn.sqrt(correction2))
    denominator = fn.rounded(root + fn.rounded(eps))
    new["param"] = param - exp_avg * (lr / correction1) / denominator
    return new


BETA = (float, Tensor)


def check_moments(lr: Any, betas: Any, eps: float, weight_decay: float) -> None:
    """ValueError for a number out of range, of those that Adam and its kin have in common."""
    check_learning_rate(lr)
    check_range("epsilon value", eps)
    check_betas(betas)
    check_range("weight_decay value", weight_decay)


def check_betas(betas: Any) -> None:
    """ValueError for a decay rate that is not in [0, 1)."""
    for i in (0, 1):
        beta = member("betas", betas, i)
        check_range(f"beta parameter at index {i}", beta, lambda beta: 0 <= beta < 1)


class Adam(Optimizer):
    """Adam: adaptive moment estimation.

    With g the gradient (plus ``weight_decay`` times the parameter) at step t::

        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2                 (amsgrad: the largest v so far)
        parameter -= lr * m / (1 - beta1**t) / (sqrt(v / (1 - beta2**t)) + eps)

    Args:
        params: iterable of tensors, of (name, tensor) pairs, or of dicts (parameter groups).
        lr: the learning rate.
        betas: the decay rates of the two moments.
        eps: keeps the quotient finite.
        weight_decay: L2 penalty, added to the gradient; with ``decoupled_weight_decay`` the
            parameter shrinks by ``lr * weight_decay`` instead.
        amsgrad: divide by the largest second moment so far.
        maximize: go up instead of down.
        foreach, fused, capturable: accepted; one call always updates a whole group.
        differentiable: record the update itself.

    Raises:
        ValueError: a number is out of range, only one of ``betas`` is a tensor, ``lr`` is one
            together with ``foreach``, or ``params`` is empty.

    Source: Kingma and Ba 2014, "Adam: a method for stochastic optimization"; amsgrad: Reddi et
    al. 2018; ``torch.optim.Adam``.

    Example:
        >>> import nnkit
        >>> w = nnkit.tensor([1.0], requires_grad=True)
        >>> optimizer = nnkit.optim.Adam([w], lr=0.1)
        >>> (w * 3).sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([0.9000], requires_grad=True)
    """

    formula = adam
    inline = True
    state_names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: Any = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ValueError(
                "lr as a Tensor is not supported for capturable=False and foreach=True"
            )
        check_moments(lr, betas, eps, weight_decay)
        if not any(isinstance(betas[0], kind) and isinstance(betas[1], kind) for kind in BETA):
            raise ValueError(f"betas must be either both floats or both Tensors, got {betas}")
        if isinstance(betas[0], Tensor):
            if foreach and not capturable:
                raise ValueError(
                    "betas[0] as a Tensor is not supported for capturable=False and foreach=True"
                )
            for beta in betas[:2]:
                if beta.numel() != 1:
                    raise ValueError(f"Tensor betas must be 1-element, got {list(beta.shape)}")
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "amsgrad": amsgrad, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable, "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }  # fmt: skip
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    def update_group(self, group: dict, params: list[Tensor]) -> None:
        numbers = live(_numbers, group)
        amsgrad = group["amsgrad"]
        names = self.state_names if amsgrad else self.state_names[:2]
        states = self.gather(params, names, counter="step")
        flags = (amsgrad, group["maximize"], numbers[-1] != 0, group["decoupled_weight_decay"])
        self.apply(group, params, states, numbers, flags)


def _numbers(group: dict) -> tuple[float, ...]:
    """The numbers of the formula, as a group has them."""
    lr, eps, decay = required_numbers(group, "lr", "eps", "weight_decay")
    beta1, beta2 = numbers_of_pair(group, "betas")
    return lr, beta1, beta2, eps, decay


class AdamW(Adam):
    """Adam with decoupled weight decay: the parameter shrinks by ``lr * weight_decay`` a step.

    The arguments are those of `Adam`, with ``weight_decay=0.01`` by default.

    Source: Loshchilov and Hutter 2017, "Decoupled weight decay regularization";
    ``torch.optim.AdamW``.

    Example:
        >>> import nnkit
        >>> w = nnkit.tensor([1.0], requires_grad=True)
        >>> nnkit.optim.AdamW([w]).defaults["weight_decay"]
        0.01
    """

    inline = True

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: Any = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize,
            capturable=capturable, differentiable=differentiable, fused=fused,
            decoupled_weight_decay=True,
        )  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:  # checkpoints of torch before 2.7 do not say so
            group["decoupled_weight_decay"] = True
