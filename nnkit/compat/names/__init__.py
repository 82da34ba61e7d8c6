"""Names of torch that are only names here: what they give passes through, or raises.

A file here answers for the module of torch at the same place; its names come before nnkit's.
"""

from __future__ import annotations

from typing import Any

from nnkit.compat.names._ops import ops as ops
from nnkit.compat.names.torch_version import __version__ as __version__
from nnkit.compat.passing import say, unchanged


def compile(model: Any = None, **kwargs: Any) -> Any:
    """The function or module itself; a decorator without one."""
    say("torch.compile", "functions and modules run as they are written")
    return unchanged(model)


def _assert(condition: Any, message: str) -> None:
    """Raise AssertionError with the message unless the condition holds."""
    assert condition, message


def typename(obj: Any) -> str:
    """The name of an object's class with its module, ``torch.FloatTensor`` of a tensor."""
    import nnkit

    if isinstance(obj, nnkit.Tensor):
        return obj.type()
    kind = obj if hasattr(obj, "__qualname__") else type(obj)
    module = "" if kind.__module__ in (None, "builtins") else f"{kind.__module__}."
    return module + kind.__qualname__
