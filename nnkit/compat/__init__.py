"""torch without torch: programs and libraries written for torch run on nnkit unchanged.

    import nnkit.compat

    nnkit.compat.install()
    import timm  # what it imports from torch is nnkit's

    python -m nnkit.compat SCRIPT ARGUMENTS
    python -m nnkit.compat -m MODULE ARGUMENTS
    python -m nnkit.compat check PATH        what a program asks for and nnkit lacks
    python -m nnkit.compat activate          a package `torch` in this environment; `deactivate`

The modules are arranged as torch's are (`layout.txt`), and each name in them is nnkit's own.
`nnkit/compat/names` holds names that only torch has: they pass their arguments through, say once
that they do nothing, or raise.
"""

from __future__ import annotations

from nnkit.compat.install import install as install
from nnkit.compat.install import uninstall as uninstall

__all__ = ["install", "uninstall"]
