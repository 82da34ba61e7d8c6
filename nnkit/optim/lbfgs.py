"""L-BFGS: quasi-Newton steps from the last changes of parameters and gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.autograd import Tensor, enable_grad, no_grad
from nnkit.autograd.ops.creation.factories import zeros_like
from nnkit.autograd.ops.shape.joining import cat
from nnkit.autograd.ops.shape.strided import view_as_real
from nnkit.optim.hyperparameters import check_learning_rate
from nnkit.optim.line_search import Point, strong_wolfe
from nnkit.optim.optimizer import Optimizer

LEAST_CURVATURE = 1e-10  # a smaller product of both changes would spoil the Hessian's estimate


# The state that a step leaves for the next one.
KEPT = ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss")


class LBFGS(Optimizer):
    """L-BFGS: each call of ``step(closure)`` makes up to ``max_iter`` quasi-Newton steps.

    Args:
        params: iterable of tensors; one group.
        lr: the step length, or the first one that a line search tries.
        max_iter: iterations a step.
        max_eval: evaluations of the closure a step; ``max_iter * 5 // 4`` if None.
        tolerance_grad: stop when no element of the gradient is larger.
        tolerance_change: stop when neither the loss nor a parameter changes more.
        history_size: how many changes are kept, each two vectors as large as all parameters.
        line_search_fn: None or "strong_wolfe".

    Raises:
        ValueError: there are several groups, or ``lr`` is negative.
        RuntimeError: in ``step``, for an unknown ``line_search_fn``.

    Source: Liu and Nocedal 1989, "On the limited memory BFGS method for large scale
    optimization"; ``torch.optim.LBFGS``.

    Example:
        >>> import nnkit
        >>> w = nnkit.tensor([3.0, -2.0], requires_grad=True)
        >>> optimizer = nnkit.optim.LBFGS([w], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = ((w - nnkit.tensor([1.0, 2.0])) ** 2).sum()
        ...     loss.backward()
        ...     return loss
        >>> optimizer.step(closure)
        tensor(20., grad_fn=<SumBackward0>)
        >>> w.detach().round(decimals=3)
        tensor([1., 2.])
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_learning_rate(lr)
        if max_eval is None:
            max_eval = max_iter * 5 // 4
        defaults = {
            "lr": lr, "max_iter": max_iter, "max_eval": max_eval, "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change, "history_size": history_size,
            "line_search_fn": line_search_fn,
        }  # fmt: skip
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    @no_grad()
    def step(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, closure: Callable[[], Any]
    ) -> Any:
        """Minimise until a tolerance or a limit is reached; returns the first loss."""
        group = self.param_groups[0]
        evaluate = enable_grad()(closure)
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        is_new = "d" not in state
        first = evaluate()
        loss, evaluations = float(first), 1
        state["func_evals"] += 1
        gradient = self._gradient()
        if _largest(gradient) <= group["tolerance_grad"]:
            return first
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self._direction(state, gradient, group["history_size"])
            state["prev_flat_grad"], state["prev_loss"] = gradient, loss
            t = group["lr"]
            if state["n_iter"] == 1:
                t = min(1.0, gradient.abs().sum().reciprocal().item()) * t
            state["t"] = t
            slope = gradient.dot(direction)
            if slope > -group["tolerance_change"]:
                break
            counted = 0
            if group["line_search_fn"] is not None:
                start = Point(0, loss, gradient, slope)
                left = group["max_eval"] - evaluations
                found, counted = self._search(evaluate, start, direction, float(t), left)
                _, loss, gradient, _ = found
                state["t"] = t = found.t
                self._move(t, direction)
            else:
                self._move(t, direction)
                if iteration != group["max_iter"]:  # nobody would use the last gradient
                    loss, counted = float(evaluate()), 1
                    gradient = self._gradient()
            evaluations += counted
            state["func_evals"] += counted
            if (
                evaluations >= group["max_eval"]
                or _largest(gradient) <= group["tolerance_grad"]
                or _largest(direction * t) <= group["tolerance_change"]
                or abs(loss - state["prev_loss"]) < group["tolerance_change"]
            ):
                break
        if is_new:  # in torch's order
            for name in KEPT:
                state[name] = state.pop(name)
        return first

    def _direction(self, state: dict, gradient: Tensor, history: int) -> Tensor:
        """The quasi-Newton direction, by the two-loop recursion."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1, d=-gradient)
            return state["d"]
        gradients, steps, inverses = state["old_dirs"], state["old_stps"], state["ro"]
        change, step = gradient - state["prev_flat_grad"], state["d"] * state["t"]
        curvature = change.dot(step)
        if curvature.item() > LEAST_CURVATURE:
            if len(gradients) == history:
                for values in (gradients, steps, inverses):
                    values.pop(0)
            gradients.append(change)
            steps.append(step)
            inverses.append(1.0 / curvature)
            state["H_diag"] = curvature / change.dot(change)
        direction = -gradient
        weights = state.setdefault("al", [None] * history)
        kept = list(enumerate(zip(gradients, steps, inverses, strict=True)))
        for i, (change, step, inverse) in reversed(kept):
            weights[i] = step.dot(direction) * inverse
            direction = direction - change * weights[i]
        direction = direction * state["H_diag"]
        for i, (change, step, inverse) in kept:
            direction = direction + step * (weights[i] - change.dot(direction) * inverse)
        state["d"] = direction
        return direction

    def _search(
        self, evaluate: Callable, start: Point, direction: Tensor, t: float, most: int
    ) -> tuple[Point, int]:
        group = self.param_groups[0]
        if group["line_search_fn"] != "strong_wolfe":
            raise RuntimeError(
                "LBFGS: line_search_fn must be None or 'strong_wolfe', got "
                f"{group['line_search_fn']!r}"
            )
        kept = [p.clone() for p in self._params]

        def restore() -> None:
            for p, value in zip(self._params, kept, strict=True):
                p.copy_(value)

        def at(t: float) -> Point:
            self._move(t, direction)
            loss = float(evaluate())
            gradient = self._gradient()
            restore()
            return Point(t, loss, gradient, gradient.dot(direction))

        longest = _largest(direction)
        return strong_wolfe(at, start, t, longest, group["tolerance_change"], most)

    def _gradient(self) -> Tensor:
        """All gradients in one real vector; zeros where there is none."""
        grads = [zeros_like(p) if p.grad is None else p.grad for p in self._params]
        dense = [g.to_dense() if g.is_sparse else g for g in grads]
        return cat([_real(g).reshape(-1) for g in dense], 0)

    def _move(self, t: Any, direction: Tensor) -> None:
        """Add ``t * direction`` to the parameters."""
        start = 0
        for p in map(_real, self._params):
            p.add_(direction[start : start + p.numel()].view_as(p), alpha=float(t))
            start += p.numel()


def _real(tensor: Tensor) -> Tensor:
    """The tensor itself, or its real and imaginary parts as a view of it."""
    return view_as_real(tensor) if tensor.is_complex() else tensor


def _largest(vector: Tensor) -> float:
    return vector.abs().max().item()
