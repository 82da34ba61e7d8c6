"""torch._library: the declaration of a program's operators."""

from __future__ import annotations

from nnkit.compat.names._library.infer_schema import infer_schema as infer_schema
