"""Resampling: another size of the spatial axes."""

from __future__ import annotations

from nnkit.autograd.arguments.spatial import gradient_in_format
from nnkit.autograd.op.rule import rule

resample = rule(
    "resample",
    node="UpsampleBackward0",
    x=lambda B, g, x_shape, scales, mode, aligned: gradient_in_format(
        B, B.resample_adjoint(g, x_shape, scales, mode, aligned), g
    ),
)
rule(
    "resample_adjoint",
    y=lambda B, g, y_shape, scales, mode, aligned: B.resample(
        g, y_shape[2:], scales, mode, aligned
    ),
)
