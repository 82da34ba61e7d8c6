"""torch._custom_ops: the old name of torch.library."""

from __future__ import annotations

from nnkit.compat.names.library import impl_abstract

__all__ = ["impl_abstract"]
