"""The draws that are compared with torch: what is called, in which dtypes, how exactly.

``write_random.py`` runs them on torch to freeze its answers, ``test_random.py`` on the kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

FLOATS = ("float32", "float64", "float16", "bfloat16")
COMPLEX = ("complex64", "complex128")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
ALL = (*FLOATS, *INTEGERS, "bool")


@dataclass
class Draw:
    """An in-place method of a tensor, which is also the kernel's name.

    ``portable`` is false where torch's own build draws other numbers on Intel processors.
    ``exact`` is false where a function of the mathematical library rounds its own way.
    """

    method: str
    arguments: tuple
    dtypes: tuple[str, ...]
    portable: bool = True
    exact: bool = True

    @property
    def name(self) -> str:
        return f"{self.method}{self.arguments}"

    def kernel_arguments(self) -> tuple:
        """``random_()`` has no bounds, ``random_(low, None)`` counts to the largest integer."""
        return self.arguments if self.method != "random_" else (*self.arguments, None, None)[:2]


DRAWS = (
    Draw("uniform_", (0.0, 1.0), FLOATS + COMPLEX),
    Draw("uniform_", (-0.3, 0.73), FLOATS + COMPLEX),
    Draw("uniform_", (1.0, 1.001), FLOATS),
    Draw("uniform_", (2.0, 2.0), FLOATS),
    Draw("normal_", (0.0, 1.0), FLOATS + COMPLEX, exact=False),
    Draw("normal_", (0.3, 1.7), FLOATS + COMPLEX, exact=False),
    Draw("normal_", (0.0, 0.02), FLOATS, exact=False),
    Draw("bernoulli_", (0.5,), ALL, portable=False),
    Draw("bernoulli_", (0.1,), ALL, portable=False),
    Draw("bernoulli_", (0.0,), ("float32",), portable=False),
    Draw("bernoulli_", (1.0,), ("float32",), portable=False),
    Draw("random_", (), ALL),
    Draw("random_", (0, 2), ALL),
    Draw("random_", (3, 100), FLOATS + INTEGERS),
    Draw("random_", (0, 2**28 - 1), ("int64", "int32", "float64")),
    Draw("random_", (0, 2**28), ("int64", "int32", "float64")),
    Draw("random_", (-(2**62), 2**62), ("int64",)),
    Draw("random_", (-5, 7), ("int8", "float16")),
    Draw("exponential_", (1.0,), FLOATS, portable=False, exact=False),
    Draw("exponential_", (2.5,), FLOATS, portable=False, exact=False),
    Draw("geometric_", (0.5,), FLOATS + INTEGERS),
    Draw("geometric_", (0.01,), FLOATS + INTEGERS),
    Draw("cauchy_", (0.0, 1.0), FLOATS, exact=False),
    Draw("cauchy_", (0.3, 2.5), FLOATS, exact=False),
    Draw("log_normal_", (1.0, 2.0), FLOATS, exact=False),
    Draw("log_normal_", (0.3, 0.77), FLOATS, exact=False),
)
# Frozen answers: two sizes around a group of 16, for each of these dtypes.
FROZEN_SIZES = (7, 50)
FROZEN_DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "uint8", "bool", "complex64")


def frozen() -> list[tuple[Draw, str, int]]:
    """Every frozen draw: what, in which dtype, of how many elements."""
    return [
        (draw, dtype, size)
        for draw in DRAWS
        for dtype in draw.dtypes
        for size in FROZEN_SIZES
        if dtype in FROZEN_DTYPES
    ]


def key(draw: Draw, dtype: str, size: int) -> str:
    return f"{draw.name}/{dtype}/{size}"


def array_dtype(name: str) -> Any:
    return ml_dtypes.bfloat16 if name == "bfloat16" else np.dtype(name)


def draws_from_mkl(torch: Any) -> bool:
    """Whether this torch, on an Intel processor, draws Bernoulli and exponential numbers from MKL.

    They differ from those of all other machines, which are nnkit's and the frozen ones.
    """
    generator, other = torch.Generator(), torch.Generator()
    torch.empty(9).bernoulli_(generator=generator)
    torch.empty(9, dtype=torch.float64).uniform_(generator=other)  # two words each, as elsewhere
    return not torch.equal(generator.get_state(), other.get_state())
