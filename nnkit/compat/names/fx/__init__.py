"""torch.fx: classes to be named and derived from; nnkit does not trace programs yet."""

from __future__ import annotations

from typing import Any

from nnkit.compat.passing import unchanged
from nnkit.nn import Module

wrap = unchanged


class _Untraced:
    """A part of a traced program.

    Raises:
        NotImplementedError: one is to be made.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"torch.fx.{type(self).__name__}: nnkit does not trace programs")


class Graph(_Untraced):
    """The operations of a traced program."""


class Node(_Untraced):
    """An operation of a traced program."""


class Proxy(_Untraced):
    """What stands for a value while a program is traced."""


class Tracer(_Untraced):
    """What traces programs."""


class Interpreter(_Untraced):
    """What runs traced programs."""


class Transformer(Interpreter):
    """What makes one traced program of another."""


class GraphModule(_Untraced, Module):
    """A module that runs a traced program."""


def symbolic_trace(root: Any, concrete_args: Any = None) -> Any:
    """Refuse: programs are not traced yet.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError("torch.fx.symbolic_trace: nnkit does not trace programs")
