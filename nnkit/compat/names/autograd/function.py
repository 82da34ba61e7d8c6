"""torch.autograd.function: the classes around `Function`."""

from __future__ import annotations

from nnkit.autograd.function import Function, FunctionContext, FunctionNode

FunctionMeta = type(Function)
FunctionCtx = _ContextMethodMixin = FunctionContext
BackwardCFunction = FunctionNode


class InplaceFunction(Function):
    """The old base class of Functions that write to their inputs."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace
