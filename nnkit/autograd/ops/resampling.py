"""Resampling: another size of the spatial axes."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.arguments.spatial import gradient_in_format
from nnkit.autograd.op.rule import rule


def _name(operands: Any, statics: Any) -> str:
    """torch has a function for each kind and number of axes."""
    size, _, mode, _ = statics
    kind = mode.removesuffix("-antialias")
    word, smooth = kind.title().replace("-", ""), "" if kind == mode else "Aa"
    return f"Upsample{word}{len(size)}D{smooth}Backward0"


resample = rule(
    "resample",
    node=_name,
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
