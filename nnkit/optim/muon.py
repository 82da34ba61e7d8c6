"""Muon: momentum for matrices, made orthogonal before it is applied."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from nnkit.autograd import Tensor, enable_grad, no_grad
from nnkit.autograd.ops.creation.factories import zeros_like
from nnkit.autograd.ops.linalg.products import addmm
from nnkit.optim.hyperparameters import check_learning_rate, check_range, number
from nnkit.optim.optimizer import Optimizer

MOST_STEPS = 100


class Muon(Optimizer):
    """Muon: ``B = momentum * B + (1 - momentum) * grad``; the parameter moves against the matrix
    with B's singular vectors and singular values near 1.

    That matrix is found without a decomposition, by a few steps of a polynomial of odd powers
    (Newton and Schulz) in bfloat16.

    Args:
        params: matrices; vectors and embeddings are better given to AdamW.
        lr: the learning rate.
        weight_decay: by how much a parameter shrinks each step, times ``lr``.
        momentum: the share of the last steps in B.
        nesterov: mix the gradient with B once more.
        ns_coefficients: a, b, c of the polynomial ``a x + b x**3 + c x**5``.
        eps: the least norm that B is divided by.
        ns_steps: how often the polynomial is applied, below 100.
        adjust_lr_fn: how the step of an (A, B) matrix grows with its shape: "original" (or None)
            by ``max(1, A / B) ** 0.5``, "match_rms_adamw" by ``0.2 * max(A, B) ** 0.5``.

    Raises:
        ValueError: a number is out of range, or a parameter is no matrix.
        RuntimeError: in ``step``, for a complex parameter.

    Source: Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural networks";
    ``torch.optim.Muon``.

    Example:
        >>> import nnkit
        >>> w = nnkit.zeros(2, 2, requires_grad=True)
        >>> optimizer = nnkit.optim.Muon([w], lr=0.1)
        >>> (w * nnkit.tensor([[3.0, 0.0], [0.0, 1.0]])).sum().backward()
        >>> optimizer.step()
        >>> bool(w[0, 0] < -0.06) and bool(w[1, 1] < -0.06)
        True
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_learning_rate(lr)
        check_range("momentum", momentum)
        check_range("weight_decay", weight_decay)
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Muon: adjust_lr_fn {adjust_lr_fn!r} is not supported")
        defaults = {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }  # fmt: skip
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                if p.ndim != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters, which are matrices, got {list(p.shape)}"
                    )

    @no_grad()
    def step(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, closure: Callable[[], Any] | None = None
    ) -> Any:
        """Update the parameters that have a gradient; returns what ``closure`` does."""
        loss = None if closure is None else enable_grad()(closure)()
        for group in self.param_groups:
            lr, momentum = number("lr", group["lr"]), group["momentum"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                if p.grad.is_sparse:
                    raise RuntimeError("Muon does not support sparse gradients")
                if p.is_complex():
                    raise RuntimeError("Muon does not support complex parameters")
                state = self.state[p]
                if "momentum_buffer" not in state:
                    state["momentum_buffer"] = zeros_like(p.grad)
                buffer = state["momentum_buffer"].lerp_(p.grad, 1 - momentum)
                direction = p.grad.lerp(buffer, momentum) if group["nesterov"] else buffer
                direction = orthogonalized(
                    direction, group["ns_coefficients"], group["ns_steps"], group["eps"]
                )
                p.mul_(1 - lr * group["weight_decay"])
                p.add_(direction, alpha=-lr * _growth(group["adjust_lr_fn"], *p.shape))
        return loss


def orthogonalized(
    matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float
) -> Tensor:
    """The matrix with singular values near 1, in bfloat16.

    Raises:
        ValueError: there are 100 steps or more, or not three coefficients.
    """
    if steps >= MOST_STEPS:
        raise ValueError(f"Muon: ns_steps must be less than {MOST_STEPS}, got {steps}")
    if len(coefficients) != 3:
        raise ValueError(f"Muon: ns_coefficients must be three, got {len(coefficients)}")
    a, b, c = coefficients
    is_tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.bfloat16()
    x = x.mT if is_tall else x
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.mT
        x = addmm(x, addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.mT if is_tall else x


def _growth(rule: str | None, rows: int, columns: int) -> float:
    if rule == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))
