"""torch.nn.modules.utils: numbers repeated for each axis."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any

from nnkit.nn.modules.utils import ntuple


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple]:
    def parse(x: Any) -> tuple:
        return ntuple(x, n)

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: tuple, n: int) -> tuple:
    return tuple(x for x in reversed(t) for _ in repeat(None, n))


def _list_with_default(out_size: Any, defaults: list[int]) -> list[int]:
    if not isinstance(out_size, Iterable):
        return [out_size] * len(defaults)
    sizes = list(out_size)
    if len(defaults) <= len(sizes):
        raise ValueError(f"Input dimension should be at least {len(sizes) + 1}")
    return [d if v is None else v for v, d in zip(sizes, defaults[-len(sizes) :])]
