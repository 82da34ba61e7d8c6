"""torch.nn: names that are only names."""

from __future__ import annotations

from typing import Any

from nnkit.backend.warning import warn
from nnkit.nn import Module


class Container(Module):
    """A module with others under the names of its arguments; every Module holds others by now."""

    def __init__(self, **modules: Module) -> None:
        warn("nn.Container is deprecated: subclass nn.Module instead", FutureWarning)
        super().__init__()
        for name, module in modules.items():
            self.add_module(name, module)


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The keyword arguments of a module that functions like `empty` take: those given themselves,
    and those in ``factory_kwargs``.

    Raises:
        TypeError: there are others, or one is given twice.
    """
    given = dict(kwargs or {})
    inner = dict(given.pop("factory_kwargs", {}))
    strange = given.keys() - {"device", "dtype", "memory_format"}
    if strange or given.keys() & inner.keys():
        what = f"unexpected kwargs {strange}" if strange else "kwargs given twice"
        raise TypeError(f"factory_kwargs(): {what}, got {kwargs}")
    return inner | given
