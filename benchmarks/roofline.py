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
from nnkit.backend.cost import bytes_moved, flops
from nnkit.backend.door import Doorkeeper, standing

SIDE = 1536  # of the product's matrices
ELEMENTS = 1 << 25  # of the copied array: 128 MiB, more than any cache


@dataclass
class Ceilings:
    """The best of the frameworks that are installed, a second."""

    flops: float
    bytes: float

    def __str__(self) -> str:
        return f"GEMM {self.flops / 1e9:.0f} GFLOP/s, copy {self.bytes / 1e9:.1f} GB/s"


class Needs(Doorkeeper):
    """A doorkeeper that counts the floating-point operations and bytes of each call of one step."""

    def __init__(self, backend: Any) -> None:
        super().__init__(backend)
        self.calls: list[tuple[int, int]] = []

    def called(self, name: str, arguments: tuple, result: Any) -> None:
        self.calls.append((flops(name, arguments, result), bytes_moved(name, arguments, result)))

    @property
    def flops(self) -> int:
        return sum(f for f, _ in self.calls)

    @property
    def bytes(self) -> int:
        return sum(b for _, b in self.calls)

    def least_seconds(self, ceilings: Ceilings) -> float:
        return sum(max(f / ceilings.flops, b / ceilings.bytes) for f, b in self.calls)


def needs(step: Callable[[], Any], device: str = "cpu") -> Needs:
    """Count one step of nnkit, after one that made the optimizer's state."""
    step()
    with standing(Needs, nnkit.device(device)) as counted:
        step()
    return counted


def measure(patience: float, clock: Callable[[], float], device: str = "cpu") -> Ceilings:
    """Measure a product and a copy in each framework."""
    contestants: dict[str, Callable[[], Any]] = {}
    for name in FRAMEWORKS:
        if has(name):
            fw = importlib.import_module(name)
            contestants[f"{name} product"] = _product(fw, device)
            contestants[f"{name} copy"] = _copy(fw, device)
    turns = alternate(contestants, 5, 0.1, patience, clock)
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
