"""torch.autograd.function: the names of what a `Function` hands to its methods."""

from __future__ import annotations

from nnkit.autograd.function import Function, FunctionContext

FunctionCtx = BackwardCFunction = _ContextMethodMixin = FunctionContext


class InplaceFunction(Function):
    """The old base of Functions that write their input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace
