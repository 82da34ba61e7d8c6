"""torch.utils.flop_counter: the operations of products, counted at the door."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from nnkit.backend.device import cpu
from nnkit.backend.door import Counter, standing

_PRODUCTS = ("mm", "matmul", "bmm", "addmm", "linear", "conv", "attention")


class FlopCounterMode:
    """A block whose products and convolutions are counted, with the adding of biases.

    Args:
        mods, depth, display, custom_mapping: without effect; nothing is printed.
    """

    def __init__(
        self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: Any = None
    ) -> None:
        self._stack = ExitStack()
        self._counter: Any = None

    def __enter__(self) -> FlopCounterMode:
        self._counter = self._stack.enter_context(standing(Counter, cpu))
        return self

    def __exit__(self, *exception: Any) -> None:
        self._stack.close()

    def get_flop_counts(self) -> dict[str, dict[str, int]]:
        """The operations of each primitive, under ``Global``."""
        found = {} if self._counter is None else self._counter.flops
        return {"Global": {n: int(v) for n, v in found.items() if n.startswith(_PRODUCTS)}}

    def get_total_flops(self) -> int:
        """The operations of all primitives together."""
        return sum(self.get_flop_counts()["Global"].values())
