"""Padding with the array's own elements: reflected, repeated at the edge, or wrapped around."""

from __future__ import annotations

from typing import Any

from nnkit.backend.cpu.padding import Widths, _along, _borders
from nnkit.backend.cuda.creation import copy, copy_
from nnkit.backend.cuda.differences import contiguous, empty, widened


def pad_mode(x: Any, widths: Widths, mode: str) -> Any:
    """Surround ``x`` by (before, after) elements of itself along each axis."""
    padded = tuple(n + before + after for n, (before, after) in zip(x.shape, widths))
    inner = tuple(slice(before, before + n) for n, (before, _) in zip(x.shape, widths))
    out = empty(padded, x.dtype, x)
    copy_(out[inner], x)
    for axis, (n, (before, after)) in enumerate(zip(x.shape, widths)):
        # Each axis copies whole lines of those before it, borders included: so come the corners.
        view = out[(*(slice(None) for _ in range(axis + 1)), *inner[axis + 1 :])]
        for border, source in _borders(n, before, after, mode):
            copy_(view[_along(axis, border)], view[_along(axis, source)])
    return out


@widened
def pad_mode_adjoint(g: Any, widths: Widths, mode: str) -> Any:
    """Add the borders of ``g`` to the elements that `pad_mode` copied them from; cut them off."""
    from nnkit.backend.cuda import BACKEND as B

    total = copy(contiguous(g))
    for axis in range(g.ndim - 1, -1, -1):
        before, after = widths[axis]
        n = g.shape[axis] - before - after
        for border, source in _borders(n, before, after, mode):
            part = total[_along(axis, border)]
            if mode == "replicate":
                part = B.sum(part, axis, True)
            B.add_(total[_along(axis, source)], part)
        total = total[_along(axis, slice(before, before + n))]
    return contiguous(total)
