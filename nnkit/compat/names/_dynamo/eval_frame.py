"""torch._dynamo.eval_frame: the class of compiled modules."""

from __future__ import annotations

from nnkit.compat.names._dynamo import OptimizedModule as OptimizedModule
