"""Padding with the array's own elements, read by an index along each axis."""

from __future__ import annotations

from nnkit.backend.dtype import int64


def _sources(B, n, before, after, mode):
    """The number, among ``n`` elements, of the one that each element of the padded axis repeats."""
    index = B.arange(-before, n + after, 1, int64.array)
    if mode == "circular":
        return B.remainder(index, n)
    if mode == "reflect":  # the edge is not repeated
        index = B.abs(index)
        return B.sub(n - 1, B.abs(B.sub(n - 1, index)))
    return B.clamp_between(index, 0, n - 1)


def pad_mode(B, x, widths, mode):
    """Surround ``x`` by (before, after) elements of itself along each axis.

    ``mode`` is "reflect", "replicate" or "circular".
    """
    for axis, (before, after) in enumerate(widths):
        if before or after:
            x = B.index_select(x, _sources(B, x.shape[axis], before, after, mode), axis)
    return B.contiguous(x)


def pad_mode_adjoint(B, g, widths, mode):
    """Add the borders of ``g`` to the elements that `pad_mode` copied them from; cut them off."""
    for axis, (before, after) in enumerate(widths):
        if before or after:
            n = g.shape[axis] - before - after
            shape = (*g.shape[:axis], n, *g.shape[axis + 1 :])
            sources = _sources(B, n, before, after, mode)
            g = B.index_select_adjoint(g, sources, axis, shape)
    return B.contiguous(g)
