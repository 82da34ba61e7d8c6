"""torch._dynamo._trace_wrapped_higher_order_op: the context in which libraries compute masks."""

from __future__ import annotations

from nnkit.compat.passing import Inert

TransformGetItemToIndex = Inert
