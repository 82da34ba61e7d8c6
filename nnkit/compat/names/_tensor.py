"""torch._tensor: the function that pickles of tensors with attributes call."""

from __future__ import annotations

from nnkit.torch_rebuild import _rebuild_from_type as _rebuild_from_type_v2

__all__ = ["_rebuild_from_type_v2"]
