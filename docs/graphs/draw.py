"""The pictures of docs/autograd.md: graphs drawn by nnkit itself, as text and as SVG.

    python docs/graphs/draw.py [FOLDER]

Graphviz must be installed; the folder is by default the one this file is in.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import nnkit
from nnkit.utils.graph import dot


def sum_times() -> tuple[nnkit.Tensor, dict[str, nnkit.Tensor]]:
    """e = (a + b) * d, and the names of its leaves."""
    a = nnkit.tensor(2.0, requires_grad=True)
    b = nnkit.tensor(3.0, requires_grad=True)
    d = nnkit.tensor(4.0, requires_grad=True)
    return (a + b) * d, {"a": a, "b": b, "d": d}


def quadratic_form() -> tuple[nnkit.Tensor, dict[str, nnkit.Tensor]]:
    """x^T A x, and the names of its leaves."""
    A = nnkit.tensor([[2.0, 1.0], [0.0, 3.0]], requires_grad=True)
    x = nnkit.tensor([1.0, -1.0], requires_grad=True)
    return x @ A @ x, {"x": x, "A": A}


PICTURES: tuple[Callable, ...] = (sum_times, quadratic_form)


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for picture in PICTURES:
        result, names = picture()
        for ending in ("dot", "svg"):
            dot(result, names, file=str(folder / f"{picture.__name__}.{ending}"))


if __name__ == "__main__":
    main()
