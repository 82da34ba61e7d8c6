"""The ops by name, and the algebra that they make on Tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

OPS: dict[str, Callable] = {}  # name -> the function on Tensors


class Lifted:
    """The names of a backend, on Tensors; `nnkit.autograd.op.lifted` says how each is found."""

    _find: Any  # the method that `nnkit.autograd.op.lifted` gives it

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        function = self._find(name)
        setattr(self, name, function)
        return function


LIFTED = Lifted()
