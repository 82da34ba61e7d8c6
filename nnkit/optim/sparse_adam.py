"""SparseAdam: Adam that moves only the rows which a sparse gradient names."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from nnkit.autograd import Tensor, no_grad
from nnkit.optim.hyperparameters import check_learning_rate, check_range, member
from nnkit.optim.optimizer import Optimizer


class SparseAdam(Optimizer):
    """Adam for sparse gradients, such as those of ``nn.Embedding(..., sparse=True)``.

    With g the gradient of an element that was read, at step t (elements that were not read keep
    their means)::

        mean = beta1 * mean + (1 - beta1) * g
        square = beta2 * square + (1 - beta2) * g**2
        parameter -= lr * sqrt(1 - beta2**t) / (1 - beta1**t) * mean / (sqrt(square) + eps)

    Args:
        params: iterable of tensors, or of dicts (parameter groups).
        lr: the learning rate, above 0.
        betas: how slowly the means of the gradient and its square move.
        eps: added to the denominator.
        maximize: go up instead of down.

    Raises:
        ValueError: a number is out of range, ``params`` is empty, or a parameter is sparse itself
            or complex.
        RuntimeError: in ``step``, for a strided gradient.

    Source: Kingma and Ba 2014, "Adam: a method for stochastic optimization";
    ``torch.optim.SparseAdam``.

    Example:
        >>> import nnkit
        >>> table = nnkit.nn.Embedding.from_pretrained(nnkit.ones(3, 1), freeze=False, sparse=True)
        >>> optimizer = nnkit.optim.SparseAdam(table.parameters(), lr=0.1)
        >>> table(nnkit.tensor([2])).sum().backward()
        >>> optimizer.step()
        >>> table.weight.data[:, 0]
        tensor([1.0000, 1.0000, 0.9000])
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
        self._refuse("Sparse", lambda p: p.is_sparse, "requires dense parameter tensors")
        self._refuse("Complex", lambda p: p.is_complex(), "does not support complex parameters")

    def _refuse(self, kind: str, is_refused: Callable[[Tensor], bool], reason: str) -> None:
        """ValueError where parameters are of this kind, with their places in the groups."""
        places = [
            [index, number]
            for index, group in enumerate(self.param_groups)
            for number, p in enumerate(group["params"])
            if is_refused(p)
        ]
        if places:
            raise ValueError(f"{kind} params at indices {places}: SparseAdam {reason}")

    def update_group(self, group: dict, params: list[Tensor]) -> None:
        if params:
            raise RuntimeError(
                "SparseAdam does not support dense gradients, please consider Adam instead"
            )

    @no_grad()
    def update_sparse(self, group: dict, p: Tensor) -> None:
        (beta1, beta2), state = group["betas"], self.state[p]
        if not state:
            state.update(step=0, exp_avg=self.zeros_like(p), exp_avg_sq=self.zeros_like(p))
        state["step"] += 1
        grad: Any = p.grad.coalesce()
        values = -grad.values() if group["maximize"] else grad.values()
        if not values.numel():
            return
        means = []
        for name, new, beta in (("exp_avg", values, beta1), ("exp_avg_sq", values**2, beta2)):
            old = state[name].sparse_mask(grad).values()
            change = (new - old) * (1 - beta)
            state[name].add_(grad.like(change))
            means.append(change + old)
        mean, square = means
        correction = math.sqrt(1 - beta2 ** state["step"]) / (1 - beta1 ** state["step"])
        rate = group["lr"] * correction
        p.add_(grad.like(mean / (square.sqrt() + group["eps"]) * -rate))
