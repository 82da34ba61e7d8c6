"""torch._export.wrappers: a mark of classes of tensors, which export here does not ask for."""

from __future__ import annotations

from nnkit.compat.passing import unchanged

mark_subclass_constructor_exportable_experimental = unchanged
