"""Modules whose first values are somebody else's."""

from __future__ import annotations

import inspect
from typing import Any, TypeVar

from nnkit.nn.modules.module import Module

Made = TypeVar("Made", bound=Module)


def skip_init(module_cls: type[Made], *args: Any, **kwargs: Any) -> Made:
    """A module whose parameters and buffers nobody has filled, for those who will.

    Args:
        module_cls: a class of modules whose constructor takes ``device``.
        args, kwargs: what it is called with; ``device`` is where the memory shall be.

    Raises:
        RuntimeError: ``module_cls`` is no class of modules, or takes no ``device``.

    Example:
        >>> import nnkit
        >>> nnkit.nn.utils.skip_init(nnkit.nn.Linear, 5, 1).weight.shape
        nnkit.Size([1, 5])
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"skip_init(): expected a class of modules, got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("skip_init(): the module's constructor must take a device")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, **kwargs, device="meta").to_empty(device=device)
