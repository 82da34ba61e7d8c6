"""How far two results of one dtype may differ: the only place that says so."""

from __future__ import annotations

import numpy as np

from tests.harness.row import OpRow

# (rtol, atol). Half precision is computed in float32 and rounded once, so a unit in the last
# place of the result (2**-10, 2**-7) is the most that two correct implementations differ by.
TOLERANCES = {
    "float64": (1e-11, 1e-12),
    "float32": (5e-6, 1e-6),
    "float16": (2**-10, 1e-6),
    "bfloat16": (2**-7, 1e-6),
    "complex128": (1e-11, 1e-12),
    "complex64": (5e-6, 1e-6),
}


def assert_close(
    actual: np.ndarray, expected: np.ndarray, dtype: str, what: str, row: OpRow | None = None
) -> None:
    """Same shape, and values within the dtype's tolerance; NaN equals NaN, integers are exact."""
    assert actual.shape == expected.shape, (
        f"{what}: shape {actual.shape}, expected {expected.shape}"
    )
    if actual.dtype.kind == "U":  # a name
        np.testing.assert_array_equal(actual, expected, err_msg=what)
        return
    own = row.tolerance if row is not None else {}
    rtol, atol = own.get(dtype) or TOLERANCES.get(dtype, (0.0, 0.0))
    np.testing.assert_allclose(actual, expected, rtol, atol, equal_nan=True, err_msg=what)
