"""torch.testing: what torch keeps for old programs."""

from __future__ import annotations

from typing import Any

import nnkit
from nnkit.backend.warning import warn
from nnkit.compat.names.testing._file_check import FileCheck as FileCheck
from nnkit.testing import assert_close

_TOLERANCES = {
    nnkit.float16: (1e-3, 1e-3),
    nnkit.float32: (1e-4, 1e-5),
    nnkit.float64: (1e-5, 1e-8),
}


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Fail unless ``|actual - expected| <= atol + rtol * |expected|`` everywhere.

    As `assert_close`, but tensors may differ in dtype, and the tolerances are wider.
    """
    warn(
        "torch.testing.assert_allclose() is deprecated: use torch.testing.assert_close()",
        FutureWarning,
    )
    actual = actual if isinstance(actual, nnkit.Tensor) else nnkit.tensor(actual)
    if not isinstance(expected, nnkit.Tensor):
        expected = nnkit.tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        defaults = [_TOLERANCES.get(t.dtype, (0.0, 0.0)) for t in (actual, expected)]
        rtol, atol = (max(pair) for pair in zip(*defaults))
    assert_close(
        actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False,
        msg=msg or None,
    )  # fmt: skip
