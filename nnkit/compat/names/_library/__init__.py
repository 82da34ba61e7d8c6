"""torch._library: how operators of a program's own are declared."""

from __future__ import annotations

from nnkit.compat.names._library.infer_schema import infer_schema as infer_schema
