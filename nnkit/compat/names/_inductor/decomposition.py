"""torch._inductor.decomposition: a registry of decompositions, without effect."""

from __future__ import annotations

from typing import Any

from nnkit.compat.passing import unchanged


def register_decomposition(ops: Any) -> Any:
    """A decorator that changes nothing."""
    return unchanged
