"""torch._C._functions and torch._C._autograd: classes of nodes, and access to saved tensors."""

from __future__ import annotations

import itertools
import weakref
from types import SimpleNamespace
from typing import Any

from nnkit.autograd import Function, Tensor
from nnkit.autograd.engine.node import RUNNING, AccumulateGrad, Node, NotImplementedBackward
from nnkit.autograd.engine.saved import STACK
from nnkit.autograd.engine.saved_attributes import SavedTensor
from nnkit.autograd.gradcheck import UndefinedGradBackward
from nnkit.autograd.graph import saved_tensors_hooks
from nnkit.autograd.views.replay import CopySlices

_passes = itertools.count()


class Error(Function):
    """A function that returns its inputs, and whose backward fails."""

    @staticmethod
    def forward(ctx: Any, message: str, *inputs: Tensor) -> Any:
        ctx.message = message
        first, *others = inputs
        return inputs if others else first

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        raise RuntimeError(ctx.message)


class UndefinedGrad:
    """A function whose backward returns no gradients."""

    def __call__(self, *inputs: Tensor) -> Any:
        return UndefinedGradBackward.apply(*inputs)


class DelayedError:
    """A function whose backward fails with a message."""

    def __init__(self, message: str, num_inputs: int) -> None:
        self.message = message

    def __call__(self, *inputs: Tensor) -> Any:
        return Error.apply(self.message, *inputs)


class _WeakTensorRef:
    """A reference to a tensor that does not keep it."""

    def __init__(self, tensor: Tensor) -> None:
        self._reference = weakref.ref(tensor)

    def expired(self) -> bool:
        """Whether the tensor is gone."""
        return self._reference() is None


def _current_graph_task_id() -> int:
    """The number of the backward pass that runs in this thread; -1 where none does."""
    running = RUNNING.started
    if running is None:
        return -1
    if not hasattr(running, "number"):
        running.number = next(_passes)
    return running.number


def _will_engine_execute_node(node: Any) -> bool:
    """Whether the running backward pass computes the gradient of a node."""
    if not isinstance(node, Node | AccumulateGrad):
        raise RuntimeError(f"_will_engine_execute_node expects an grad_fn, got {type(node)}")
    running = RUNNING.started
    if running is None:
        raise RuntimeError("_will_engine_execute_node is to be called during the backward pass")
    return running.executes(node.variable if isinstance(node, AccumulateGrad) else node)


def _unsafe_set_version_counter(tensors: tuple, versions: tuple) -> None:
    """Set the version counters of tensors."""
    for tensor, version in zip(tensors, versions, strict=True):
        if version < 0:
            raise RuntimeError(f"Cannot set a version_counter to a value below 0: {version}")
        tensor._writes[0] = version


def _top_saved_tensors_default_hooks(ignore_is_tracing: bool) -> Any:
    return STACK.pairs[-1] if STACK.pairs else None


_functions = SimpleNamespace(
    AccumulateGrad=AccumulateGrad, CopySlices=CopySlices, DelayedError=DelayedError,
    Error=Error._node_type, NotImplemented=NotImplementedBackward, UndefinedGrad=UndefinedGrad,
    UndefinedGradBackward=UndefinedGradBackward._node_type,
)  # fmt: skip
_autograd = SimpleNamespace(
    SavedTensor=SavedTensor,
    _push_saved_tensors_default_hooks=lambda *hooks: saved_tensors_hooks(*hooks).__enter__(),
    _saved_tensors_hooks_get_disabled_error_message=lambda: STACK.refusal,
    _saved_tensors_hooks_is_enabled=lambda: STACK.refusal is None,
    _top_saved_tensors_default_hooks=_top_saved_tensors_default_hooks,
    _unsafe_set_version_counter=_unsafe_set_version_counter,
)
