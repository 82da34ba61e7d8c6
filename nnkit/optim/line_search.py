"""A step length that satisfies the strong Wolfe conditions.

Source: Nocedal and Wright, "Numerical optimization", algorithms 3.5 and 3.6, with the safeguards
of Schmidt's minFunc, as in ``torch.optim.LBFGS``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

DECREASE, CURVATURE = 1e-4, 0.9


class Point(NamedTuple):
    """A point on the line: how far along, the loss, its gradient, and the slope along the line.

    The slope stays a tensor, so that losses that differ by less than its precision count as equal.
    """

    t: Any
    loss: float
    gradient: Any
    slope: Any


def cubic_minimum(a: Point, b: Point, bounds: tuple | None = None) -> Any:
    """The minimum, within the bounds, of the cubic through two points and their slopes."""
    if a.t > b.t:
        a, b = b, a
    low, high = bounds or (a.t, b.t)
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    if square < 0:
        return (low + high) / 2
    d2 = square**0.5
    least = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    return min(max(least, low), high)


def strong_wolfe(
    at: Callable[[float], Point],
    start: Point,
    t: float,
    longest: float,
    tolerance: float,
    most: int,
) -> tuple[Point, int]:
    """The accepted point and the number of evaluations.

    Args:
        at: evaluates the loss at a distance along the line.
        start: the point at distance 0.
        t: the first distance to try.
        longest: the largest change of a parameter at distance 1.
        tolerance: a bracket in which every parameter changes less is not divided.
        most: how many points to try after the first.
    """

    def too_high(point: Point) -> bool:
        return point.loss > start.loss + DECREASE * point.t * start.slope

    def flat(point: Point) -> bool:
        return abs(point.slope) <= -CURVATURE * start.slope

    previous, point = start, at(t)
    evaluations, steps = 1, 0
    bracket: list[Point] = []
    while steps < most:  # go farther until a minimum lies behind
        if too_high(point) or (steps > 1 and point.loss >= previous.loss):
            bracket = [previous, point]
            break
        if flat(point):
            return point, evaluations
        if point.slope >= 0:
            bracket = [previous, point]
            break
        bounds = (point.t + 0.01 * (point.t - previous.t), point.t * 10)
        previous, point = point, at(cubic_minimum(previous, point, bounds))
        evaluations += 1
        steps += 1
    else:
        bracket = [start, point]
    low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
    stuck = False  # whether the last point was near an end of the bracket
    while steps < most:  # then divide the bracket
        first, last = sorted(p.t for p in bracket)
        if (last - first) * longest < tolerance:
            break
        t = cubic_minimum(*bracket)
        margin = 0.1 * (last - first)
        near = min(last - t, t - first) < margin
        if near and (stuck or t >= last or t <= first):
            t = last - margin if abs(t - last) < abs(t - first) else first + margin
            near = False
        stuck = near
        point = at(t)
        evaluations += 1
        steps += 1
        if too_high(point) or point.loss >= bracket[low].loss:
            bracket[high] = point
            low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
            continue
        done = flat(point)
        if not done and point.slope * (bracket[high].t - bracket[low].t) >= 0:
            bracket[high] = bracket[low]
        bracket[low] = point
        if done:
            break
    return bracket[low], evaluations
