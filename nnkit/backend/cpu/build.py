"""What the CPU backend was built with."""

from __future__ import annotations

import numpy as np

from nnkit.backend.cpu import native


def blas() -> str:
    """The name and version of the BLAS that NumPy multiplies matrices with."""
    found = np.show_config(mode="dicts").get("Build Dependencies", {}).get("blas", {})
    return f"{found.get('name', 'unknown')} {found.get('version', '')}".strip()


def kernels() -> str:
    """Which kernels run."""
    if native.MODULE is None:
        return f"NumPy {np.__version__} alone; compiled kernels: {native.STATUS}"
    return f"compiled for {native.STATUS}, {native.MODULE.threads()} threads"
