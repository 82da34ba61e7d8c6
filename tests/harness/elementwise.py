"""The usual rows of element-wise ops: their forms, and samples with tensors and with numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.harness.row import INTS, Maker, OpRow, Raises, Sample


def unary(name: str, **options: Any) -> OpRow:
    """``nnkit.f(x)``, ``x.f()``, ``x.f_()``, ``nnkit.f(x, out=...)``."""
    forms = {"out": True, "method": name, "inplace": f"{name}_", "errors": not_a_tensor}
    options.setdefault("samples", one)
    return OpRow(name, elementwise=True, **{**forms, **options})


def binary(name: str, **options: Any) -> OpRow:
    """``nnkit.f(x, y)`` and its forms, with a number in the place of y too."""
    forms = {"out": True, "method": name, "inplace": f"{name}_", "errors": not_a_tensor}
    options.setdefault("samples", tensor_and_number)
    return OpRow(name, elementwise=True, **{**forms, **options})


def functional(name: str, **options: Any) -> OpRow:
    """``nnkit.nn.functional.f(x)``."""
    options.setdefault("samples", one)
    options.setdefault("errors", not_a_tensor)
    return OpRow(f"nn.functional.{name}", elementwise=True, **options)


def one(make: Maker) -> Sequence[Sample]:
    return [Sample(make(2, 3))]


def two(make: Maker) -> Sequence[Sample]:
    return [Sample(make(2, 3), make(2, 3))]


def tensor_and_number(make: Maker) -> Sequence[Sample]:
    number = 2 if make.dtype in (*INTS, "bool") else 1.5
    return [*two(make), Sample(make(2, 3), number)]


def not_a_tensor(make: Maker) -> Sequence[Raises]:
    second = [make(2)] if len(_arrays(make)) > 1 else []
    return [Raises(TypeError, "input", "text", *second)]


def _arrays(make: Maker) -> list[np.ndarray]:
    return [value for value in make.row.samples(make)[0].args if isinstance(value, np.ndarray)]
