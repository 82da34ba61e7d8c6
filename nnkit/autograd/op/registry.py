"""The ops by name, and the algebra on Tensors that they form."""

from __future__ import annotations

from collections.abc import Callable

from nnkit.backend.algebra import Algebra

OPS: dict[str, Callable] = {}  # name -> the function on Tensors


class Lifted(Algebra):
    """The primitives of a backend as functions of Tensors.

    `nnkit.autograd.op.lifted`, which imports this module, sets how they are found.
    """


LIFTED = Lifted()
