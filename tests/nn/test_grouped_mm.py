"""Products of groups of matrices: those of each group, their gradients, and what is refused."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from tests.frameworks import raises


def ends(lib: ModuleType, *positions: int) -> Any:
    return lib.tensor(positions, dtype=lib.int32)


def operands(lib: ModuleType, dtype: str, *shapes: tuple[int, ...]) -> list[Any]:
    kind = getattr(lib, dtype)
    made = [lib.arange(float(lib.empty(s).numel())).sin().reshape(s).to(kind) for s in shapes]
    return [x.requires_grad_() for x in made]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize(
    ("shapes", "parts"),
    [
        (((6, 8), (2, 8, 16)), lambda a, b: [a[:2] @ b[0], a[2:] @ b[1]]),
        (((2, 3, 8), (8, 16)), lambda a, b: [(a[0] @ b[:, :2]).mT, (a[1] @ b[:, 2:]).mT]),
        (((4, 16), (16, 8)), lambda a, b: [(a[:, :2] @ b[:2])[None], (a[:, 2:] @ b[2:])[None]]),
        (((2, 3, 8), (2, 8, 8)), lambda a, b: [a @ b]),
    ],
    ids=["rows", "columns", "inner", "each"],
)
def test_products_of_groups(lib: ModuleType, dtype: str, shapes: Any, parts: Any) -> None:
    size = {2: 6, 3: 0}[len(shapes[0])] if len(shapes[1]) == 3 else 16
    a, b = operands(lib, dtype, *shapes)
    out = lib.nn.functional.grouped_mm(a, b, offs=ends(lib, 2, size) if size else None)
    c, d = operands(lib, dtype, *shapes)
    expected = lib.cat(parts(c, d))
    expected = expected.mT if len(shapes[0]) == 3 and len(shapes[1]) == 2 else expected
    assert out.shape == expected.shape and out.dtype == a.dtype
    tolerance = {"float32": 1e-5, "bfloat16": 2e-2, "float16": 2e-3}[dtype]
    assert lib.allclose(out.float(), expected.float(), tolerance, tolerance)
    for result in (out, expected):
        (result.float() ** 2).sum().backward()
    for x, y in ((a, c), (b, d)):
        assert lib.allclose(x.grad.float(), y.grad.float(), 4 * tolerance, 4 * tolerance)


def test_corners(lib: ModuleType) -> None:
    grouped_mm = lib.nn.functional.grouped_mm
    a, b = lib.ones(4, 8), lib.ones(2, 8, 8)
    assert grouped_mm(a, b[..., :5], offs=ends(lib, 0, 4)).tolist() == [[8.0] * 5] * 4
    assert grouped_mm(a, b[..., :5], offs=ends(lib, 0, 4)).stride() == (8, 1)
    inner = grouped_mm(a, a.mT.contiguous(), offs=ends(lib, 0, 8))
    assert inner.sum((1, 2)).tolist() == [0.0, 128.0]
    if lib.__name__ == "nnkit":  # torch does not write the other rows
        assert grouped_mm(a, b, offs=ends(lib, 1, 3)).sum(1).tolist() == [64.0, 64.0, 64.0, 0.0]


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda lib, f, a, b: f(a, b), "offs is needed"),
        (lambda lib, f, a, b: f(b, b, offs=ends(lib, 2, 6)), "offs is needed"),
        (lambda lib, f, a, b: f(a, b, offs=ends(lib, 2, 6).long()), "int32"),
        (lambda lib, f, a, b: f(a, b, offs=ends(lib, 2, 6)[None]), "one row"),
        (lambda lib, f, a, b: f(a, b, offs=ends(lib, 1, 2, 6)), "3 matrices"),
        (lambda lib, f, a, b: f(lib.ones(3, 4, 8), b), "2 matrices"),
        (lambda lib, f, a, b: f(a.double(), b, offs=ends(lib, 2, 6)), "float64"),
        (lambda lib, f, a, b: f(a.half(), b, offs=ends(lib, 2, 6)), "two dtypes"),
        (lambda lib, f, a, b: f(a[0], b, offs=ends(lib, 2, 6)), "mat_a must have"),
        (lambda lib, f, a, b: f(a[:, :4], b, offs=ends(lib, 2, 6)), "4 columns"),
        (lambda lib, f, a, b: f(lib.ones(4, 3), lib.ones(2, 3, 4)), "bytes"),
        (lambda lib, f, a, b: f(a, b, offs=ends(lib, 2, 6), bias=a), "bias"),
        (lambda lib, f, a, b: f(a, b, offs=ends(lib, 2, 6), out_dtype=lib.half), "out_dtype"),
    ],
)
def test_what_is_refused(lib: ModuleType, call: Any, match: str) -> None:
    with raises(lib, RuntimeError, match):
        call(lib, lib.nn.functional.grouped_mm, lib.ones(6, 8), lib.ones(2, 8, 8))
