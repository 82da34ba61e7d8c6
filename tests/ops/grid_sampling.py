"""Rows of reading images at the places of a grid."""

from __future__ import annotations

from tests.harness.row import Maker, OpRow, Raises, Sample

F = "nn.functional."
DTYPES = ("float32", "float64")


def places(make: Maker) -> list[Sample]:
    x, grid = make(2, 2, 3, 4), make(2, 3, 2, 2)
    volume, grid3 = make(1, 2, 2, 3, 2), make(1, 2, 2, 1, 3)
    return [
        *(Sample(x, grid, mode, "zeros", False) for mode in ("bilinear", "bicubic", "nearest")),
        *(Sample(x, grid, "bilinear", pad, corners) for pad in ("border", "reflection")
          for corners in (False, True)),
        Sample(x, grid, "bicubic", "reflection", True),
        Sample(x, grid, "bicubic", "border", False),
        Sample(volume, grid3, "bilinear", "zeros", True),
        Sample(volume, grid3, "nearest", "border", False),
        Sample(volume, grid3, align_corners=False, padding_mode="reflection"),
    ]  # fmt: skip


def few(make: Maker) -> list[Sample]:
    return [
        Sample(make(0, 1, 2, 2), make(0, 1, 3, 2), align_corners=False),
        Sample(make(1, 0, 2, 2), make(1, 1, 3, 2), align_corners=False),
        Sample(make(1, 1, 2, 2), make(1, 0, 3, 2), align_corners=False),
        Sample(make(1, 1, 1, 1), make(1, 2, 3, 2), "bilinear", "reflection", True),
        Sample(make(1, 1, 1, 3), make(1, 2, 3, 2), "bicubic", "border", True),
    ]


def no_places(make: Maker) -> list[Raises]:
    x, grid = make(1, 2, 3, 4), make(1, 2, 2, 2)
    other = grid.astype("float32" if make.dtype == "float64" else "float64")
    return [
        Raises(ValueError, "mode", x, grid, "linear", align_corners=False),
        Raises(ValueError, "padding_mode", x, grid, "nearest", "ones", align_corners=False),
        Raises(RuntimeError, "dtype", x, other, align_corners=False),
        Raises(RuntimeError, "size 1 in last dimension", x[0, :1], grid, align_corners=False),
        Raises(RuntimeError, "4D input", x, grid[:, 0], align_corners=False),
        Raises(RuntimeError, "batch size", x, make(2, 2, 2, 2), align_corners=False),
        Raises(RuntimeError, "last dimension", x, make(1, 2, 2, 3), align_corners=False),
        Raises(RuntimeError, "non-empty", make(1, 2, 0, 4), grid, align_corners=False),
        Raises(RuntimeError, "4D input", make(1, 1, 2, 2, 2), make(1, 1, 1, 1, 3), "bicubic",
               align_corners=False),
        Raises(NotImplementedError, "int64", x.astype("int64"), grid.astype("int64"),
               align_corners=False),
        Raises(TypeError, "grid", x, None, align_corners=False),
    ]  # fmt: skip


def motions(make: Maker) -> list[Sample]:
    return [
        Sample(make(2, 2, 3), (2, 3, 3, 4), False),
        Sample(make(2, 2, 3), [2, 3, 3, 4], align_corners=True),
        Sample(make(1, 3, 4), (1, 1, 2, 3, 2), False),
        Sample(make(1, 3, 4), (1, 1, 2, 3, 2), True),
    ]


def no_motions(make: Maker) -> list[Raises]:
    theta = make(1, 2, 3)
    return [
        Raises(ValueError, "floating point", theta.astype("int64"), (1, 1, 2, 2), False),
        Raises(NotImplementedError, "size", theta, (1, 1, 2), False),
        Raises(ValueError, "affine matrices", theta, (1, 1, 2, 2, 2), False),
        Raises(ValueError, "affine matrices", make(1, 3, 4), (1, 1, 2, 2), False),
        Raises(ValueError, "affine matrices", theta[0], (1, 1, 2, 2), False),
        Raises(ValueError, "positive", theta, (1, 1, 0, 2), False),
        Raises(RuntimeError, "batch", theta, (2, 1, 2, 2), False),
    ]


ROWS = [
    OpRow(
        F + "grid_sample",
        places,
        dtypes=DTYPES,
        edges=few,
        errors=no_places,
        again="the grid's gradient is a constant 0 for the nearest samples, in torch by a history",
        tolerance={"float32": (5e-6, 1e-5)},
        reason="gradients of cubic weights are small differences of large sums",
    ),  # fmt: skip
    OpRow(
        F + "affine_grid",
        motions,
        dtypes=DTYPES,
        errors=no_motions,
        again="torch keeps no tensor for backward, nnkit the factors of a product",
    ),  # fmt: skip
]
