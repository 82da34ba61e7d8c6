"""torch.autograd.function: the names of what a `Function` hands to its methods."""

from __future__ import annotations

from nnkit.autograd.function import FunctionNode

FunctionCtx = BackwardCFunction = _ContextMethodMixin = FunctionNode
