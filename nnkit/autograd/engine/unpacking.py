"""Unpacking: checks the saved values of a node and hands them to its rules."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.compiled import bind_unpack
from nnkit.autograd.engine import node as node_module
from nnkit.autograd.engine.node import Node, OutputEdge, SavedOutput
from nnkit.autograd.engine.saved import ACTIVE, PackedValue
from nnkit.autograd.grad_mode import enable_grad
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.autograd.views.counters import InferenceWrites
from nnkit.backend.lazy import plain

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you "
    "call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward "
    "through the graph a second time or if you need to access saved tensors after calling "
    "backward."
)


def _unpack_array(node: Node, value: Any) -> Any:
    """The array of a saved value; RuntimeError if it was written after it was saved."""
    saved, version = value
    if version is None:
        return plain(saved.tensor()._array) if type(saved) is PackedValue else saved
    _check_current(node, saved, version)
    return saved._array


unpack_array = bind_unpack(node_module, SavedOutput, ACTIVE, _unpack_array)


def unpack_tensor(node: Node, value: Any) -> Any:
    """A saved value as a Tensor with its history."""
    saved, version = value
    if version is None or isinstance(saved, Tensor):
        if version is not None:
            _check_current(node, saved, version)
        if type(saved) is not PackedValue:
            return saved
        kept = saved.tensor()
        if saved.index is None and saved.edge is None and kept._device is node.device:
            if not kept._requires_grad:
                return kept
        out = wrap(plain(kept._array), node.device)
        if saved.index is None:
            if isinstance(saved.edge, Tensor):  # a leaf that requires grad
                with enable_grad():
                    out._edge = saved.edge.view_as(saved.edge)._edge
            else:
                out._edge = saved.edge
            out._requires_grad = saved.edge is not None
            return out
    else:
        out = wrap(plain(unpack_array(node, value)), node.device)
        out._writes = saved._writes
    out._requires_grad = True
    if saved.first is not None:
        if node.outputs is None:
            node.outputs = [(saved.first.shape, saved.first.dtype)]
        node.outputs += [None] * (saved.index + 1 - len(node.outputs))
    out._edge = node if node.outputs is None else OutputEdge(node, saved.index)
    return out


def _check_current(node: Node, saved: Any, version: int) -> None:
    """RuntimeError if a saved tensor was written, or detached in place, after it was saved."""
    writes = saved._writes
    if writes.__class__ is not InferenceWrites and writes[0] != version:
        raise RuntimeError(_modified(node, saved, version))
    hooks = saved._hooks if isinstance(saved, Tensor) else None
    if hooks is not None and hooks.detached > node.order and not node.runs_user_code:
        raise RuntimeError(
            "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_(): "
            f"{node.operation} saved it, of shape {list(saved._array.shape)}. Use detach() instead"
        )


def _modified(node: Node, saved: Any, version: int) -> str:
    writer = saved._writes[1] or "an in-place operation"
    return (
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: {node.operation} saved a {saved._array.dtype} tensor of shape "
        f"{list(saved._array.shape)} at version {version}, and {writer} wrote it since: it is at "
        f"version {saved._writes[0]}; expected version {version} instead. Hint: enable anomaly "
        "detection to find the operation, with nnkit.autograd.set_detect_anomaly(True)."
    )
