"""What new operations are told of those that they are made from: `preserve_node_meta`.

While it is on, an operation that is added to a graph gets a copy of some entries of *the current
meta*: that of the operation which an `Interpreter` is running, with what `annotate` adds.

Source: ``torch.fx.traceback``.
"""

from __future__ import annotations

import copy
import functools
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from nnkit.fx.node import Node

__all__ = [
    "annotate", "annotate_fn", "format_stack", "get_current_meta", "has_preserved_node_meta",
    "preserve_node_meta", "reset_grad_fn_seq_nr", "set_current_meta", "set_grad_fn_seq_nr",
    "set_stack_trace",
]  # fmt: skip

_COPIED = (
    "nn_module_stack", "torch_fn", "source_fn_stack", "original_aten", "recompute", "ac_graph_id",
    "has_backward_hook", "from_node", "quantization_tag", "_numeric_debug_handle", "custom",
    "partitioner_tag",
)  # fmt: skip
_current: dict[str, Any] = {}
_preserves = False


def has_preserved_node_meta() -> bool:
    """Whether new operations get entries of the current meta."""
    return _preserves


def get_current_meta() -> dict[str, Any]:
    """The current meta."""
    return _current


@contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """A block in which new operations get entries of the current meta.

    Example:
        >>> import nnkit
        >>> from nnkit.fx import traceback
        >>> module = nnkit.fx.symbolic_trace(lambda x: x + 1)
        >>> module.graph.find_nodes(op="call_function")[0].meta["custom"] = {"seen": 1}
        >>> with traceback.preserve_node_meta():
        ...     again = nnkit.fx.Transformer(module).transform()
        >>> again.graph.find_nodes(op="call_function")[0].meta["custom"]
        {'seen': 1}
    """
    global _preserves, _current
    before = _preserves, _current.copy()
    _preserves = enable
    try:
        yield
    finally:
        _preserves, _current = before


@contextmanager
def set_current_meta(node: Node, pass_name: str = "") -> Iterator[None]:
    """A block in which the current meta is a copy of an operation's."""
    global _current
    before = _current
    if _preserves and node.meta:
        _current = node.meta.copy()
    try:
        yield
    finally:
        _current = before


@contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """A block in which the entry ``custom`` of the current meta has more entries."""
    before = _current.get("custom")
    _current["custom"] = {**(before or {}), **annotation_dict}
    try:
        yield
    finally:
        if before is None:
            del _current["custom"]
        else:
            _current["custom"] = before


def annotate_fn(annotation_dict: dict[str, Any]) -> Callable[[Callable], Callable]:
    """A decorator: what the function does is done in a block of `annotate`."""

    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with annotate(annotation_dict):
                return function(*args, **kwargs)

        return call

    return decorate


def set_stack_trace(stack: list[str]) -> None:
    """Let new operations have these lines as their place in the program; none, if there are none.

    Nothing is done outside of `preserve_node_meta`, nor by the other functions that set entries.
    """
    if _preserves:
        _current.pop("stack_trace", None)
        if stack:
            _current["stack_trace"] = "".join(stack)


def format_stack() -> list[str]:
    """The place in the program of new operations; outside of `preserve_node_meta` the caller's."""
    if _preserves:
        return [_current.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])


def set_grad_fn_seq_nr(seq_nr: int) -> None:
    """Enter the backward of a function by its number in the order of functions."""
    if _preserves:
        _current["grad_fn_seq_nr"] = [*_current.get("grad_fn_seq_nr", []), seq_nr]
        _current["in_grad_fn"] = _current.get("in_grad_fn", 0) + 1


def reset_grad_fn_seq_nr() -> None:
    """Leave the backward that was entered last."""
    if not _preserves:
        return
    level = _current.get("in_grad_fn", 0)
    if level <= 0:
        raise AssertionError(f"reset_grad_fn_seq_nr: no backward was entered, but {level}")
    if level == 1:
        del _current["in_grad_fn"], _current["grad_fn_seq_nr"]
    else:
        _current["in_grad_fn"] = level - 1
        _current["grad_fn_seq_nr"] = _current["grad_fn_seq_nr"][:-1]


def tell(node: Node) -> None:
    """Give a new operation the entries of the current meta that are copied."""
    if _current.get("stack_trace"):
        node.stack_trace = _current["stack_trace"]
    node.meta.update((key, copy.copy(_current[key])) for key in _COPIED if key in _current)
