"""The CPU backend's build: its BLAS, its compiled kernels, and where these come from."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from nnkit.backend.cpu import native


def blas() -> str:
    """The name and version of the BLAS that NumPy multiplies matrices with."""
    found = np.show_config(mode="dicts").get("Build Dependencies", {}).get("blas", {})
    return f"{found.get('name', 'unknown')} {found.get('version', '')}".strip()


def kernels() -> str:
    """The kernels in use, in words."""
    if native.MODULE is None:
        text = f"NumPy {np.__version__} alone; compiled kernels: {native.STATUS}"
        other = _compiled_copy() if native.STATUS.startswith("not compiled") else None
        return f"{text}; or leave this folder: the copy in {other} is compiled" if other else text
    return f"compiled for {native.STATUS}, {native.MODULE.threads()} threads"


def _compiled_copy() -> str | None:
    """The place of another copy of nnkit, with an extension: a checkout hides the installed one."""
    here = Path(native.__file__).parent
    inside = here.relative_to(here.parents[3])
    for folder in sys.path:
        other = Path(folder or ".").resolve() / inside
        if other != here and (any(other.glob("_*.so")) or any(other.glob("_*.pyd"))):
            return str(other.parents[3])
    return None
