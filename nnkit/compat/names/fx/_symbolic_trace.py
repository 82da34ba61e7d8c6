"""torch.fx._symbolic_trace: what libraries ask and say about programs that are traced."""

from __future__ import annotations

from nnkit.fx.tracer import PHBase, PHWithMeta, _assert_is_none, is_fx_tracing

__all__ = [
    "PHBase", "PHWithMeta", "_assert_is_none", "is_fx_symbolic_tracing", "is_fx_tracing",
]  # fmt: skip

is_fx_symbolic_tracing = is_fx_tracing
