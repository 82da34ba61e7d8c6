"""torch._dynamo._trace_wrapped_higher_order_op: what masks of libraries are computed within."""

from __future__ import annotations

from nnkit.compat.passing import Inert

TransformGetItemToIndex = Inert
