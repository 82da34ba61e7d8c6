"""Factors of matrices on the CPU: what only a backend can be given."""

from __future__ import annotations

import numpy as np
import pytest

from nnkit.backend.device import cpu


@pytest.mark.parametrize("pivots", [(1, 2, -3), (-2, -3, 3)])
def test_half_a_block_is_refused(pivots: tuple[int, ...]) -> None:
    """LAPACK, and so torch, reads what lies beside it."""
    with pytest.raises(RuntimeError, match="in pairs"):
        cpu.backend.ldl_solve(np.eye(3), np.array(pivots, np.int32), np.ones((3, 1)), False)
