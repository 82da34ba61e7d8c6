"""Rprop: step sizes that grow while the gradient keeps its sign, and shrink when it turns."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.tensor import wrap
from nnkit.optim.hyperparameters import (
    check_learning_rate,
    check_range,
    member,
    number,
    numbers_of_pair,
)
from nnkit.optim.optimizer import Optimizer
from nnkit.optim.update import fn, update


@update(scalars="shrink grow smallest largest", flags="maximize", counters="step")
def rprop(
    param: Any, grad: Any, prev: Any, step_size: Any, step: Any,
    shrink: Any, grow: Any, smallest: Any, largest: Any, maximize: bool,
) -> dict:  # fmt: skip
    """The new parameter, last gradient and step sizes."""
    if maximize:
        grad = -grad
    same = fn.rounded(grad * prev)
    size = fn.where(same < 0, fn.rounded(step_size * fn.rounded(shrink)), step_size)
    size = fn.where(same > 0, fn.rounded(step_size * fn.rounded(grow)), size)
    size = fn.minimum(fn.maximum(size, smallest), largest)
    grad = fn.where(same < 0, 0.0, grad)
    return {"prev": grad, "step_size": size, "param": param - fn.sign(grad) * size}


def _are_etas(etas: Any) -> Any:
    less = member("eta values", etas, 0)
    return 0 < less < 1 and 1 < member("eta values", etas, 1)


class Rprop(Optimizer):
    """Rprop: the sign of the gradient gives the direction, each element has a step size.

    A step size is multiplied by ``etas[1]`` where the gradient has the sign of the last one, and
    by ``etas[0]`` where it has turned; there the element stays for one step.

    Args:
        params: iterable of tensors, of (name, tensor) pairs, or of dicts (parameter groups).
        lr: the first step size.
        etas: the factors for shrinking and for growing.
        step_sizes: the smallest and the largest step size.
        maximize: go up instead of down.
        foreach, capturable: accepted; one call always updates a whole group.
        differentiable: record the update itself.

    Raises:
        ValueError: a number is out of range, or ``params`` is empty.

    Source: Riedmiller and Braun 1993, "A direct adaptive method for faster backpropagation
    learning: the RPROP algorithm"; ``torch.optim.Rprop``.

    Example:
        >>> import nnkit
        >>> w = nnkit.tensor([1.0], requires_grad=True)
        >>> optimizer = nnkit.optim.Rprop([w], lr=0.1)
        >>> (w * 3).sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([0.9000], requires_grad=True)
    """

    formula = rprop
    state_names = ("prev", "step_size")

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        check_range("eta values", etas, _are_etas)
        defaults = {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def update_group(self, group: dict, params: list[Tensor]) -> None:
        lr = number("lr", group["lr"])
        self.gather(params, ("prev",), counter="step")  # which come first, as in torch
        for p in params:
            if "step_size" not in self.state[p]:
                sizes = p._device.backend.zeros_like(p._array)
                p._device.backend.fill_(sizes, complex(lr, lr) if p.is_complex() else lr)
                self.state[p]["step_size"] = wrap(sizes, p._device)
        states = self.gather(params, self.state_names, counter="step")
        etas = numbers_of_pair(group, "etas")
        numbers = etas + numbers_of_pair(group, "step_sizes")
        self.apply(group, params, states, numbers, (group["maximize"],))
