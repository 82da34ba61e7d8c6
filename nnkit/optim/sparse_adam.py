"""SparseAdam: Adam for sparse gradients, of which nnkit makes none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.autograd import enable_grad, no_grad
from nnkit.optim.hyperparameters import check_learning_rate, check_range, member
from nnkit.optim.optimizer import Optimizer


class SparseAdam(Optimizer):
    """Adam that touches only the rows a sparse gradient names.

    All gradients are dense here, and for a dense one its step raises, as torch's does: such
    parameters are for `Adam`. It is there for programs that name it.

    Args:
        params: iterable of tensors, or of dicts (parameter groups).
        lr: the learning rate, above 0.
        betas: how slowly the means of the gradient and its square move.
        eps: added to the denominator.
        maximize: go up instead of down.

    Raises:
        ValueError: a number is out of range, or ``params`` is empty.
        RuntimeError: in ``step``, for a dense gradient.

    Source: ``torch.optim.SparseAdam``.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_learning_rate(lr, lambda value: value > 0)
        check_range("epsilon value", eps, lambda value: value > 0)
        for index in (0, 1):
            beta = member("betas", betas, index)
            check_range(f"beta parameter at index {index}", beta, lambda value: 0 <= value < 1)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})

    @no_grad()
    def step(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, closure: Callable[[], Any] | None = None
    ) -> Any:
        """Raise if a parameter has a gradient; returns what ``closure`` does."""
        loss = None if closure is None else enable_grad()(closure)()
        for group in self.param_groups:
            if any(p.grad is not None for p in group["params"]):
                raise RuntimeError(
                    "SparseAdam does not support dense gradients, please consider Adam instead"
                )
        return loss
