"""The ops by name, and the algebra on Tensors that they form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

OPS: dict[str, Callable] = {}  # name -> the function on Tensors


class Lifted:
    """The primitives of a backend as functions of Tensors. `nnkit.autograd.op.lifted` looks them
    up."""

    _find: Any  # set by `nnkit.autograd.op.lifted`, which imports this module

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        function = self._find(name)
        setattr(self, name, function)
        return function


LIFTED = Lifted()
