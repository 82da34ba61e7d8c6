"""torch._export.wrappers: a mark of tensor classes, which export here does not need."""

from __future__ import annotations

from nnkit.compat.passing import unchanged

mark_subclass_constructor_exportable_experimental = unchanged
