"""The named tuples that functions with several results return, as ``torch.return_types``."""

from __future__ import annotations

from nnkit.autograd.surface import return_types as _types


def __getattr__(name: str) -> type:
    return getattr(_types, name)


def __dir__() -> list[str]:
    return sorted(kind.__name__ for kind in _types.ReturnType.__subclasses__())
