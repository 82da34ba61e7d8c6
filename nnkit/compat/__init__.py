"""torch without torch: programs and libraries written for torch run on nnkit unchanged.

    import nnkit.compat

    nnkit.compat.install()
    import timm  # what it imports from torch is nnkit's

    python -m nnkit.compat SCRIPT ARGUMENTS
    python -m nnkit.compat -m MODULE ARGUMENTS
    python -m nnkit.compat check PATH        what a program asks for and nnkit lacks
    python -m nnkit.compat activate          a package `torch` in this environment; `deactivate`

The modules lie as torch's do (`layout.txt`), and each name in them is nnkit's own. What stands in
`nnkit/compat/names` is there under torch's name alone: it passes through or raises, and says once
that it does nothing.
"""

from __future__ import annotations

from nnkit.compat.install import install as install
from nnkit.compat.install import uninstall as uninstall

__all__ = ["install", "uninstall"]
