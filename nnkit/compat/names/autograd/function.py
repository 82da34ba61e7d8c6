"""torch.autograd.function: the names of what a `Function` hands to its methods."""

from __future__ import annotations

from nnkit.autograd.function import Function, FunctionNode

FunctionCtx = BackwardCFunction = _ContextMethodMixin = FunctionNode


class InplaceFunction(Function):
    """The old base of Functions that write their input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace
