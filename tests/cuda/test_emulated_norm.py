"""Normalization, emulated, against the CPU backend."""

from __future__ import annotations

import numpy as np
import pytest

from nnkit.backend.cpu import norm as cpu
from nnkit.backend.cuda import norm
from tests.cuda.compare import F2, F4, F8, assert_same
from tests.cuda.marks import needs_compiler

pytestmark = needs_compiler
# shape of x, of its parameters, axes: the views of layer, group and batch norm
VIEWS = {
    "layer": ((5, 33), (33,), (1,)),
    "layer wide": ((3, 700), (700,), (1,)),
    "layer long": ((2, 9000), (9000,), (1,)),
    "layer tall": ((200, 4), (4,), (1,)),
    "group": ((3, 2, 3, 5), (2, 3, 1), (2, 3)),
    "batch": ((4, 3, 6), (3, 1), (0, 2)),
}


@pytest.mark.parametrize(
    ("view", "centre"),
    [(view, centre) for view in VIEWS for centre in (True, False)
     if centre or view.startswith("layer")],  # RMS norm is over rows
)  # fmt: skip
def test_standardize(view, centre):
    shape, parameters, axes = VIEWS[view]
    rng = np.random.default_rng(0)
    for dtype in (F4, F8, F2) if view in ("layer", "batch") else (F4,):
        x, g = (rng.standard_normal(shape).astype(dtype) for _ in range(2))
        weight, bias = (rng.standard_normal(parameters).astype(dtype) for _ in range(2))
        for w, b in ((weight, bias), (None, None)):
            given = (x, w, b, axes, 1e-5, centre)
            assert_same(norm.standardize, cpu.standardize, *given)
            _, mean, variance = cpu.standardize(*given)
            given = (g, x, w, mean, variance, axes, 1e-5, centre)
            assert_same(norm.standardize_grad, cpu.standardize_grad, *given, tolerance=1e-4)


def test_update_running():
    rng = np.random.default_rng(0)
    mean, variance = rng.random((2, 5)).astype(F4)

    def updated(module):
        def run(running_mean, running_var, *arguments):
            arrays = running_mean.copy(), running_var.copy()
            module.update_running_(*arrays, *arguments)
            return arrays

        return run

    new = rng.random((2, 1, 5, 1)).astype(F4)
    given = (mean, variance, *new, 0.1, 1.25)
    assert_same(updated(norm), updated(cpu), *given)
