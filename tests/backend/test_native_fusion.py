"""Formulas that run together: other layouts and sizes, and what is refused or declined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nnkit.backend.cpu import BACKEND as B
from nnkit.backend.cpu import native
from tests.backend.native_cases import needs_native

pytestmark = needs_native
FLOAT = np.dtype(np.float32).num
# (x + y) * 2.5 in slot 2, and whether that is larger than y in slot 3; the slots 5 and 6 are free.
STEPS = (
    (B.add, 5, (0, 1), ()), (B.mul, 2, (5, 4), ()), (B.gt, 3, (2, 1), ()),
)  # fmt: skip


def together(x: Any, y: Any) -> tuple:
    total = B.mul(B.add(x, y), 2.5)
    return total, B.gt(total, y)


RUN: Any = (
    native.fuse(STEPS, 2, (FLOAT, np.dtype(bool).num), (2.5,), 6, together)
    if native.MODULE is not None
    else None
)


def check(x: Any, y: Any) -> None:
    expected, found = together(x, y), RUN(x, y)
    for a, b in zip(expected, found, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("shape", [(), (0,), (1,), (1023,), (1025,), (3, 5), (2, 0), (7, 70_001)])
def test_all_sizes(shape: tuple) -> None:
    g = np.random.default_rng(0)
    check(g.normal(size=shape).astype(np.float32), g.normal(size=shape).astype(np.float32))


def test_any_layout() -> None:
    g = np.random.default_rng(0)
    x = g.normal(size=(60, 80)).astype(np.float32)
    one = np.full((1, 1), 2, np.float32)
    for y in (x[:1], x[:, :1], x[0], x[::-1, ::-1], x.T[:1, :1], one, x > 0):
        check(x, y)
    check(x[:, ::3], x[:, 1::3])
    check(x[..., None][:, :1], x[0])


def test_the_twin_serves_what_is_declined() -> None:
    x = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    raw = np.zeros(4 * 12 + 1, np.uint8)[1:].view(np.float32)
    for y in (x.astype(np.int64), x.astype(np.float64), raw.reshape(3, 4), x.astype(">f4")):
        check(x, y)
    with pytest.raises(TypeError):
        RUN(x)
    with pytest.raises(ValueError, match="broadcast"):
        RUN(x, x.T)


@pytest.mark.parametrize(
    "arguments",
    [
        ((), 1, (FLOAT,), (), 2),
        (((B.exp, 0, (0,), ()),), 1, (FLOAT,), (), 2),  # it writes an input
        (((B.exp, 2, (0,), ()),), 1, (FLOAT,), (), 2),
        (((B.exp, 1, (0, 0), ()),), 1, (FLOAT,), (), 2),
        (((B.exp, 1, (-1,), ()),), 1, (FLOAT,), (), 2),
        (((B.sum, 1, (0,), ()),), 1, (FLOAT,), (), 2),
        (((print, 1, (0,), ()),), 1, (FLOAT,), (), 2),
        (((B.exp, 1, (0,), ()),), 0, (FLOAT,), (), 2),
        (((B.exp, 1, (0,), ()),), 1, (), (), 2),
        (((B.exp, 1, (0,), ()),), 1, (FLOAT,) * 16, (), 20),
        (((B.exp, 1, (0,), ()),), 1, (FLOAT,), (1.0,), 2),
        (((B.exp, 1, (0,), ()),), 1, (FLOAT,), (), 49),
        (((B.exp, 1, (0,), ()),), 1, (FLOAT,), ("a",), 3),
        ((None,), 1, (FLOAT,), (), 2),
    ],
)
def test_senseless_steps_are_refused(arguments: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        native.fuse(*arguments, twin=together)
