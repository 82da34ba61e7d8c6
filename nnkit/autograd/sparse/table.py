"""The functions that are defined for tensors of layout ``nnkit.sparse_coo``, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.autograd.sparse.coordinates import CoordinateTensor

FUNCTIONS = CoordinateTensor.functions = {}


def defines(*names: str) -> Callable:
    """Enter a function under its names."""

    def enter(function: Callable) -> Callable:
        FUNCTIONS.update(dict.fromkeys(names, function))
        return function

    return enter


def refuse(error: type[Exception], text: str, *names: str) -> None:
    """Define functions that raise, as torch's do."""

    def refusal(*args: Any, **kwargs: Any) -> Any:
        raise error(text)

    defines(*names)(refusal)
