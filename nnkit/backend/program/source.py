"""Functions that are printed: their sources, made into code once."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import CodeType
from typing import Any


@lru_cache(maxsize=64)
def code_of(source: str, file: str) -> CodeType:
    """The code of a source. Runs of one step print the same ones, with other values in scope."""
    return compile(source, file, "exec")


def defined(name: str, source: str, file: str, scope: dict[str, Any]) -> Callable[..., Any]:
    """The function ``name`` that a source defines, over the values in ``scope``."""
    exec(code_of(source, file), scope)
    function = scope[name]
    function.source = source
    return function
