"""Stochastic gradient descent, with momentum, Nesterov's momentum and weight decay."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor, no_grad
from nnkit.backend.program.outside import live
from nnkit.optim.hyperparameters import (
    check_fused,
    check_learning_rate,
    check_range,
    not_negative,
    required_numbers,
)
from nnkit.optim.optimizer import Optimizer
from nnkit.optim.update import fn, penalized, update


@update(
    scalars="lr momentum dampening weight_decay",
    flags="has_momentum has_decay nesterov maximize first",
)
def sgd(
    param: Any, grad: Any, momentum_buffer: Any, lr: Any, momentum: Any, dampening: Any,
    weight_decay: Any, has_momentum: bool, has_decay: bool, nesterov: bool, maximize: bool,
    first: bool,
) -> dict:  # fmt: skip
    """The new parameter and momentum buffer; the first buffer is the gradient itself."""
    if maximize:
        grad = -grad
    if has_decay:
        grad = penalized(grad, param, weight_decay)
    if not has_momentum:
        return {"param": param - grad * fn.rounded(lr)}
    buffer = grad
    if not first:
        new = grad * fn.rounded(1 - dampening)
        buffer = fn.rounded(fn.rounded(momentum_buffer * momentum) + new)
    direction = fn.rounded(grad + buffer * fn.rounded(momentum)) if nesterov else buffer
    return {"momentum_buffer": buffer, "param": param - direction * fn.rounded(lr)}


class SGD(Optimizer):
    """Stochastic gradient descent.

    With g the gradient (plus ``weight_decay`` times the parameter)::

        buffer = momentum * buffer + (1 - dampening) * g        (at first: buffer = g)
        parameter -= lr * buffer          (nesterov: lr * (g + momentum * buffer))

    Args:
        params: iterable of tensors, of (name, tensor) pairs, or of dicts (parameter groups).
        lr: the learning rate.
        momentum, dampening, weight_decay: as in the formula.
        nesterov: use Nesterov's momentum; needs ``momentum > 0`` and ``dampening == 0``.
        maximize: go up instead of down.
        foreach, fused: accepted; one call always updates a whole group.
        differentiable: record the update itself.

    Raises:
        ValueError: a number is out of range, or ``params`` is empty.

    Source: Sutskever et al. 2013, "On the importance of initialization and momentum";
    ``torch.optim.SGD``.

    Example:
        >>> import nnkit
        >>> w = nnkit.tensor([1.0], requires_grad=True)
        >>> optimizer = nnkit.optim.SGD([w], lr=0.1)
        >>> (w * 3).sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([0.7000], requires_grad=True)
    """

    formula = sgd
    inline = True
    state_names = ("momentum_buffer",)

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_learning_rate(lr, not_negative)
        check_range("momentum value", momentum, not_negative)
        check_range("weight_decay value", weight_decay, not_negative)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
            "nesterov": nesterov, "maximize": maximize, "foreach": foreach,
            "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    def update_group(self, group: dict, params: list[Tensor]) -> None:
        momentum, decay = group["momentum"], group["weight_decay"]
        numbers = live(required_numbers, group, "lr", "momentum", "dampening", "weight_decay")
        flags = (momentum != 0, decay != 0, group["nesterov"], group["maximize"])
        if not momentum:
            self.apply(group, params, {}, numbers, (*flags, False))
            return
        fresh: list[Tensor] = []
        known: list[Tensor] = []
        buffers: list[Tensor] = []
        for p in params:
            buffer = self.state[p].get("momentum_buffer")
            if buffer is None:
                self.state[p].pop("momentum_buffer", None)
                fresh.append(p)
            else:
                known.append(p)
                buffers.append(buffer)
        if known:
            self.apply(group, known, {"momentum_buffer": buffers}, numbers, (*flags, False))
        if fresh:
            states = self.gather(fresh, self.state_names)
            self.apply(group, fresh, states, numbers, (*flags, True))

    @no_grad()
    def update_sparse(self, group: dict, p: Tensor) -> None:
        grad: Any = -p.grad if group["maximize"] else p.grad
        if group["weight_decay"]:
            raise RuntimeError(
                "SGD: weight_decay is not compatible with sparse gradients: it would make them "
                "dense"
            )
        momentum = group["momentum"]
        if momentum:
            buffer: Any = self.state[p].get("momentum_buffer")
            if buffer is None:
                buffer = grad.clone()
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            self.state[p]["momentum_buffer"] = buffer
            grad = grad + buffer * momentum if group["nesterov"] else buffer
        p.add_(grad, alpha=-group["lr"])
