"""Images and volumes read at the places of a grid."""

from __future__ import annotations

from nnkit.autograd.op.rule import rule

grid_sample_3d, grid_sample_2d = [
    rule(
        "grid_sample",
        node=f"GridSampler{axes}DBackward0",
        also={"x": ("x",)},
        x=lambda B, g, grid, x_shape, mode, padding, aligned: B.grid_sample_grad_input(
            g, grid, x_shape, mode, padding, aligned
        ),
        grid=lambda B, g, x, grid, mode, padding, aligned: B.grid_sample_grad_grid(
            g, x, grid, mode, padding, aligned
        ),
    )
    for axes in (3, 2)
]
