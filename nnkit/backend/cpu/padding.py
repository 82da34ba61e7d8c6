"""Padding with the array's own elements: reflected, repeated at the edge, or wrapped around."""

from __future__ import annotations

import numpy as np

from nnkit.backend.dtype import HALF

Array = np.ndarray
Widths = tuple[tuple[int, int], ...]


def _borders(n: int, before: int, after: int, mode: str) -> list[tuple[slice, slice]]:
    """For the two borders of an axis of ``n`` elements: where each is in the padded axis, and what
    of the padded axis it repeats."""
    end = before + n
    if mode == "replicate":
        sources = slice(before, before + 1), slice(end - 1, end)
    elif mode == "circular":
        sources = slice(end - before, end), slice(before, before + after)
    else:
        stop = end - 2 - after
        sources = (
            slice(2 * before, before, -1),
            slice(end - 2, stop if stop >= 0 else None, -1),
        )
    borders = (slice(0, before), slice(end, end + after))
    return [pair for pair, width in zip(zip(borders, sources), (before, after)) if width]


def _along(axis: int, where: slice) -> tuple[slice, ...]:
    return (slice(None),) * axis + (where,)


def pad_mode(x: Array, widths: Widths, mode: str) -> Array:
    """Surround ``x`` by (before, after) elements of itself along each axis.

    ``mode`` is "reflect" (the edge is not repeated), "replicate" or "circular".
    """
    padded = tuple(n + before + after for n, (before, after) in zip(x.shape, widths))
    inner = tuple(slice(before, before + n) for n, (before, _) in zip(x.shape, widths))
    out = np.empty(padded, x.dtype)
    out[inner] = x
    for axis, (n, (before, after)) in enumerate(zip(x.shape, widths)):
        # Each axis copies whole lines of those before it, borders included: so come the corners.
        lines = (*(slice(None) for _ in range(axis)), slice(None), *inner[axis + 1 :])
        view = out[lines]
        for border, source in _borders(n, before, after, mode):
            view[_along(axis, border)] = view[_along(axis, source)]
    return out


def pad_mode_adjoint(g: Array, widths: Widths, mode: str) -> Array:
    """Add the borders of ``g`` to the elements that `pad_mode` copied them from; cut them off."""
    total = g.astype(np.float32 if g.dtype in HALF else g.dtype, order="C")
    for axis in range(g.ndim - 1, -1, -1):
        before, after = widths[axis]
        n = g.shape[axis] - before - after
        for border, source in _borders(n, before, after, mode):
            part = total[_along(axis, border)]
            if mode == "replicate":
                part = part.sum(axis, keepdims=True)
            view = total[_along(axis, source)]
            np.add(view, part, out=view)
        total = total[_along(axis, slice(before, before + n))]
    return np.ascontiguousarray(total, g.dtype)
