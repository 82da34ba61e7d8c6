"""The roofline: what a workload needs, against what the machine can do.

A step needs so many floating-point operations and so many bytes (`nnkit.backend.cost`). The
machine's ceilings are measured in the same run: a large product of matrices and a large copy. A
step cannot take less than the sum over its calls of the longer of the two times, as long as its
arrays do not fit into the caches; where they do, bytes come faster than from the copy.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import nnkit
from benchmarks.timing import FRAMEWORKS, alternate, has
from nnkit.backend.door import Counter, standing

SIDE = 1536  # of the product's matrices
ELEMENTS = 1 << 25  # of the copied array: 128 MiB, more than any cache


@dataclass
class Ceilings:
    """The best of the frameworks that are installed, a second."""

    flops: float
    bytes: float

    def __str__(self) -> str:
        return f"GEMM {self.flops / 1e9:.0f} GFLOP/s, copy {self.bytes / 1e9:.1f} GB/s"


@dataclass
class Need:
    """What one step needs."""

    flops: int
    bytes: int
    calls: list[tuple[int, int]]

    def least_seconds(self, ceilings: Ceilings) -> float:
        return sum(max(f / ceilings.flops, b / ceilings.bytes) for f, b in self.calls)


def measure(patience: float = 0.0, device: str = "cpu") -> Ceilings:
    """Measure a product and a copy in each framework."""
    contestants: dict[str, Callable[[], Any]] = {}
    for name in FRAMEWORKS:
        if has(name):
            fw = importlib.import_module(name)
            contestants[f"{name} product"] = _product(fw, device)
            contestants[f"{name} copy"] = _copy(fw, device)
    turns = alternate(contestants, 5, 0.1, patience)
    best = {k: min(v) for k, v in turns.seconds.items()}
    product = min(v for k, v in best.items() if k.endswith("product"))
    copy = min(v for k, v in best.items() if k.endswith("copy"))
    return Ceilings(2 * SIDE**3 / product, 2 * 4 * ELEMENTS / copy)


def _product(fw: Any, device: str) -> Callable[[], Any]:
    x, y = (fw.randn(SIDE, SIDE).to(device) for _ in range(2))
    return lambda: x @ y


def _copy(fw: Any, device: str) -> Callable[[], Any]:
    x, y = (fw.zeros(ELEMENTS, device=device) for _ in range(2))
    return lambda: y.copy_(x)


class Needs(Counter):
    """A counter that keeps every call by itself."""

    def __init__(self, backend: Any) -> None:
        super().__init__(backend)
        self.each: list[tuple[int, int]] = []

    def called(self, name: str, arguments: tuple, result: Any) -> None:
        before = self.flops.get(name, 0), self.bytes.get(name, 0)
        super().called(name, arguments, result)
        self.each.append((self.flops[name] - before[0], self.bytes[name] - before[1]))


def need(step: Callable[[], Any], device: str = "cpu") -> Need:
    """Count one step of nnkit, after one that made the optimizer's state."""
    step()
    with standing(Needs, nnkit.device(device)) as counter:
        step()
    return Need(sum(counter.flops.values()), sum(counter.bytes.values()), counter.each)
