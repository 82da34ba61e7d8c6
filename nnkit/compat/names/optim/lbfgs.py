"""torch.optim.lbfgs: its line search, for the optimizers of libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit import Tensor
from nnkit.optim.line_search import CURVATURE, DECREASE, Point, cubic_minimum, strong_wolfe


def _cubic_interpolate(
    x1: Any, f1: Any, g1: Any, x2: Any, f2: Any, g2: Any, bounds: tuple | None = None
) -> Any:
    """The minimum, within the bounds, of the cubic through two points and their slopes."""
    return cubic_minimum(Point(x1, f1, None, g1), Point(x2, f2, None, g2), bounds)


def _strong_wolfe(
    obj_func: Callable, x: Any, t: Any, d: Tensor, f: Any, g: Tensor, gtd: Any,
    c1: float = 1e-4, c2: float = 0.9, tolerance_change: float = 1e-9, max_ls: int = 25,
) -> tuple[Any, Tensor, Any, int]:  # fmt: skip
    """The loss, the gradient and the step length that a search from ``x`` along ``d`` accepts, and
    how often ``obj_func(x, t, d)`` was called."""
    if (c1, c2) != (DECREASE, CURVATURE):
        raise NotImplementedError("_strong_wolfe: nnkit has the conditions 1e-4 and 0.9 alone")

    def at(t: Any) -> Point:
        loss, gradient = obj_func(x, t, d)
        return Point(t, loss, gradient, gradient.dot(d))

    start, longest = Point(0, f, g, gtd), d.abs().max()
    found, evaluations = strong_wolfe(at, start, t, longest, tolerance_change, max_ls)
    return found.loss, found.gradient, found.t, evaluations
