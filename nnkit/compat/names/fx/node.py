"""torch.fx.node: the names of functions and types, for printers of libraries."""

from __future__ import annotations

from nnkit.fx.node import OPERATIONS as _legal_ops
from nnkit.fx.node import qualified_name as _get_qualified_name
from nnkit.fx.node import type_name as _type_repr

__all__ = ["_get_qualified_name", "_legal_ops", "_type_repr"]
