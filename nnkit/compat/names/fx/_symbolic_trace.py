"""torch.fx._symbolic_trace: the parts of a tracer, for libraries with tracers of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

from nnkit.compat.foreign import stand_in
from nnkit.compat.names.fx._compatibility import compatibility
from nnkit.fx.proxy import Proxy
from nnkit.fx.tracer import (
    PHBase,
    PHWithMeta,
    Tracer,
    _assert_is_none,
    _Patches,
    _wrapped,
    is_fx_tracing,
)
from nnkit.nn import Module

__all__ = [
    "FunctionType", "PHBase", "PHWithMeta", "Proxy", "ScriptObject", "_assert_is_none",
    "compatibility", "functools", "is_fx_symbolic_tracing", "is_fx_tracing",
]  # fmt: skip

is_fx_symbolic_tracing = is_fx_tracing
ScriptObject = stand_in("torch.jit", "ScriptObject")
_orig_module_call = Module.__call__
_orig_module_getattr = Module.__getattr__


class _Patcher(_Patches):
    """A context manager that replaces methods and functions."""

    def __init__(self) -> None:
        super().__init__()
        self._visited: set[int] = set()

    def patch_method(
        self, cls: type, name: str, new_fn: Callable, deduplicate: bool = True
    ) -> None:
        """Replace a method of a class."""
        self.method(cls, name, new_fn)

    def visit_once(self, thing: Any) -> bool:
        """Whether it is the first time that this object is asked for."""
        seen = id(thing) in self._visited
        self._visited.add(id(thing))
        return not seen


def _autowrap_check(patcher: _Patcher, frame_dict: dict, function_ids: set[int]) -> None:
    """Make the calls of those functions operations under the names that a module has for them."""
    if patcher.visit_once(frame_dict):
        Tracer._wrap_names(patcher, frame_dict, function_ids)


def _patch_wrapped_functions(patcher: _Patcher) -> None:
    """Make calls of the functions given to `wrap` operations."""
    for names, name in _wrapped:
        patcher.function(names, name)
