"""torch.ops: nnkit's functions by the names of torch's operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nnkit


class OpOverloadPacket:
    """An operator: it is called as the function of that name is, whatever the overload."""

    def __init__(self, name: str, function: Callable) -> None:
        self.__name__, self._function = name, function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name.startswith("_"):
            raise AttributeError(name)
        return self  # an overload, such as ``aten.add.Tensor``


class _OpNamespace:
    """The operators of a library; of PyTorch's own, ``aten``, those that nnkit has."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name.startswith("__"):
            raise AttributeError(name)
        function = None
        if self.name == "aten":
            places = (nnkit, nnkit.nn.functional, nnkit.Tensor)
            function = next((f for p in places if (f := getattr(p, name, None))), None)
        if function is None:
            raise AttributeError(
                f"'_OpNamespace' '{self.name}' object has no attribute '{name}': nnkit has no "
                "operator of that name"
            )
        return OpOverloadPacket(f"{self.name}::{name}", function)


class _Ops:
    """``torch.ops``: a namespace for each library."""

    def __getattr__(self, name: str) -> _OpNamespace:
        if name.startswith("__"):
            raise AttributeError(name)
        return _OpNamespace(name)

    def load_library(self, path: Any) -> None:
        """Refuse a library of compiled operators.

        Raises:
            OSError: always: it was compiled for torch.
        """
        raise OSError(f"torch.ops.load_library: {path} is compiled for torch, not for nnkit")

    load_library_ = load_library


ops = _Ops()
OpOverload = OpOverloadPacket
