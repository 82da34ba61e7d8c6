"""Adafactor: the mean square of a matrix's gradient is kept by rows and by columns alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.autograd import Tensor, enable_grad, no_grad
from nnkit.autograd.ops.creation.factories import zeros, zeros_like
from nnkit.autograd.surface.limits import finfo
from nnkit.optim.hyperparameters import check_learning_rate, check_range, number
from nnkit.optim.optimizer import Optimizer
from nnkit.optim.state import dtype_of_numbers


class Adafactor(Optimizer):
    """Adafactor: steps relative to a parameter's size, divided by a root mean square gradient of
    which, for more than one dimension, only the means of rows and columns are kept.

    Args:
        params: iterable of tensors, of (name, tensor) pairs, or of dicts (parameter groups).
        lr: the largest relative step; it falls with the root of the number of steps.
        beta2_decay: the power of the number of steps that is the newest gradient's share.
        eps: the least root mean square of a gradient, by default the dtype's precision, and the
            least size of a parameter.
        d: a larger root mean square of the update is clipped to this.
        weight_decay: by how much a parameter shrinks each step, times ``lr``.
        foreach: accepted.
        maximize: go up instead of down.

    Raises:
        ValueError: a number is out of range, or ``params`` is empty.
        RuntimeError: in ``step``, for a complex parameter.

    Source: Shazeer and Stern 2018, "Adafactor: Adaptive learning rates with sublinear memory
    cost"; ``torch.optim.Adafactor``.

    Example:
        >>> import nnkit
        >>> w = nnkit.ones(2, 2, requires_grad=True)
        >>> optimizer = nnkit.optim.Adafactor([w], lr=0.1)
        >>> (w * 3).sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([[0.9000, 0.9000],
                [0.9000, 0.9000]])
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_learning_rate(lr)
        check_range("beta2_decay", beta2_decay, lambda value: value <= 0)
        if eps[0] is not None:
            check_range("epsilon1", eps[0])
        check_range("epsilon2", eps[1])
        check_range("clipping threshold d", d, lambda value: value >= 1)
        check_range("weight_decay", weight_decay)
        defaults = {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d,
            "weight_decay": weight_decay, "foreach": foreach, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._bring_up_to_date()

    @no_grad()
    def step(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, closure: Callable[[], Any] | None = None
    ) -> Any:
        """Update the parameters that have a gradient; returns what ``closure`` does."""
        loss = None if closure is None else enable_grad()(closure)()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                if p.grad.is_sparse:
                    raise RuntimeError("Adafactor does not support sparse gradients")
                if p.is_complex():
                    raise RuntimeError("Adafactor does not support complex parameters")
                if not self.state[p]:
                    self.state[p].update(_fresh(p.grad))
                self._update(p, -p.grad if group["maximize"] else p.grad, group)
        return loss

    def _update(self, p: Tensor, grad: Tensor, group: dict) -> None:
        state, lr = self.state[p], number("lr", group["lr"])
        state["step"] += 1
        step = state["step"].item()
        least, least_size = group["eps"]
        least = finfo(p.dtype).eps if least is None else least
        newest = step ** group["beta2_decay"]
        size = p.norm(2).item() / p.numel() ** 0.5
        rate = max(least_size, size) * min(lr, 1 / step**0.5)
        if group["weight_decay"] != 0:
            p.mul_(1 - lr * group["weight_decay"])
        update = _mean_square(state, grad, newest, least).clamp_(min=least * least).rsqrt_()
        update.mul_(grad)
        length = update.norm(2).item() / (update.numel() ** 0.5 * group["d"])
        p.add_(update, alpha=-rate / max(1.0, length))


def _fresh(grad: Tensor) -> dict[str, Tensor]:
    state = {"step": zeros((), dtype=dtype_of_numbers())}
    if grad.ndim < 2:
        return {**state, "variance": zeros_like(grad)}
    *most, rows, columns = grad.shape
    state["row_var"] = grad.new_zeros((*most, rows, 1))
    state["col_var"] = grad.new_zeros((*most, 1, columns))
    return state


def _mean_square(state: dict[str, Tensor], grad: Tensor, newest: float, least: float) -> Tensor:
    """The running mean square of the gradient, after the newest."""
    if grad.ndim < 2:
        return state["variance"].lerp_(grad * grad, newest).clone()
    for name, dim in (("row_var", -1), ("col_var", -2)):
        mean = grad.norm(2, dim=dim, keepdim=True).square_().div_(grad.shape[dim])
        state[name].lerp_(mean, newest)
    rows = state["row_var"]
    return (rows @ state["col_var"]).div_(rows.mean(dim=-2, keepdim=True).clamp_(min=least))
