"""Rows of contractions of named or paired dimensions."""

from __future__ import annotations

import numpy as np

from tests.harness.row import Maker, OpRow, Raises, Sample

WIDE = ("float32", "float64", "complex128")


def sums(make: Maker) -> list[Sample]:
    cases = [
        ("ij,jk->ik", (2, 3), (3, 4)),
        ("ij,jk", (2, 3), (3, 4)),
        ("ij->ji", (2, 3)),
        ("ij", (2, 3)),
        ("ba", (2, 3)),
        ("ii->i", (3, 3)),
        ("ii", (3, 3)),
        ("ijk->j", (2, 3, 4)),
        ("i,j->ij", (2,), (3,)),
        ("i,i->", (3,), (3,)),
        ("bij,bjk->bik", (5, 2, 3), (5, 3, 4)),
        ("bij , bjk -> kib", (5, 2, 3), (5, 3, 4)),
        ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)),
        ("...ij,...jk->...ik", (5, 2, 3), (5, 3, 4)),
        ("...ij,jk->...ik", (6, 5, 2, 3), (3, 4)),
        ("...i,...i", (4, 3), (3,)),
        ("i...,i...->...", (3, 2), (3, 2)),
        ("b...->...", (3, 2, 2)),
        ("b...i,b...i->b", (3, 2, 2), (3, 2, 2)),
        ("...b->b", (2, 3, 2)),
        ("bn,anm,bm->ba", (2, 5), (3, 5, 4), (2, 4)),
        ("ij,ij,ij->i", (2, 3), (2, 3), (2, 3)),
        ("iij,jk->ik", (3, 3, 2), (2, 4)),
        ("ij,kj->ikj", (2, 3), (4, 3)),
        ("ij,jk->ik", (2, 1), (3, 4)),
        ("aBc,Bd->dca", (2, 3, 4), (3, 5)),
        ("ij,k->k", (2, 3), (4,)),
    ]
    samples = [Sample(equation, *(make(*shape) for shape in shapes)) for equation, *shapes in cases]
    x, y = make(2, 3), make(3, 4)
    return [*samples, Sample(x, [0, 1], y, [1, 2], [2, 0]), Sample(x, [3, 1], y, [1, 0])]


def sum_errors(make: Maker) -> list[Raises]:
    x, y = make(2, 3), make(4, 5)
    return [
        Raises(RuntimeError, "size 4", "ij,jk", x, y),
        Raises(RuntimeError, "fewer", "ij,jk->i", x),
        Raises(RuntimeError, "more", "ij->i", x, y),
        Raises(RuntimeError, "does not appear", "ij->ik", x),
        Raises(RuntimeError, "ellipsis", "i.j->ij", x),
        Raises(RuntimeError, "repeated", "ii->i", x),
        Raises(RuntimeError, "number of subscripts", "ijk->i", x),
        Raises(RuntimeError, "invalid subscript", "i1->i", x),
        Raises(RuntimeError, "invalid subscript", "ij - > i", x),
        Raises(RuntimeError, "not part of any ellipsis", "i. ..->i", x),
        Raises(RuntimeError, "an ellipsis was already found", "...i...->i", x),
        Raises(RuntimeError, "more than once", "ij->ii", x),
        Raises(ValueError, "at least one", "ij"),
    ]


def pairs(make: Maker) -> list[Sample]:
    return [
        Sample(make(2, 3), make(2, 3)),
        Sample(make(2, 3, 4), make(4, 3), dims=1),
        Sample(make(2, 3, 4), make(4, 3, 5), dims=([1, 2], [1, 0])),
        Sample(make(2, 3), make(4, 3), dims=([-1], [1])),
        Sample(make(2), make(3), dims=0),
    ]


def crossed(make: Maker) -> list[Sample]:
    return [
        Sample(make(3), make(3)),
        Sample(make(2, 3), make(2, 3)),
        Sample(make(3, 4), make(3, 4), dim=0),
        Sample(make(2, 3), make(1, 3), dim=-1),
    ]


def powers(make: Maker) -> list[Sample]:
    x = make(2, 3, 3)
    return [Sample(x, n) for n in (0, 1, 2, 3, 5, 6)]


ROWS = [
    OpRow("einsum", sums, dtypes=WIDE, errors=sum_errors),
    OpRow(
        "tensordot",
        pairs,
        dtypes=WIDE,
        errors=lambda make: [
            Raises(RuntimeError, "need to match", make(2, 3), make(4, 5)),
            Raises(RuntimeError, "same length", make(2, 3), make(2, 3), ([0, 1], [0])),
            Raises(RuntimeError, "dims", make(2, 3), make(2, 3), 3),
        ],
    ),
    OpRow(
        "kron",
        lambda make: [
            Sample(make(2, 3), make(3, 2)),
            Sample(make(2), make(3)),
            Sample(make(2, 3), make(2)),
            Sample(make(2), make(2, 1, 3)),
            Sample(make(), make(2)),
        ],
        dtypes=(*WIDE, "int64"),
        any_layout=False,
        out=True,
        method="kron",
    ),
    OpRow(
        "cross",
        crossed,
        dtypes=(*WIDE, "int64"),
        out=True,
        method="cross",
        errors=lambda make: [
            Raises(RuntimeError, "length 3", make(2, 4), make(2, 4), dim=0),
            Raises(RuntimeError, "size 3", make(2, 4), make(2, 4)),
            Raises(RuntimeError, "dimensions", make(3), make(2, 3)),
        ],
    ),
    OpRow(
        "trace",
        lambda make: [Sample(make(3, 3)), Sample(make(2, 4))],
        dtypes=(*WIDE, "int64"),
        method="trace",
        edges=lambda make: [Sample(make(0, 0))],
        errors=lambda make: [Raises(RuntimeError, "2 dimensions", make(2))],
    ),
    OpRow(
        "matrix_power",
        powers,
        dtypes=WIDE,
        domain=(0.1, 0.8),
        method="matrix_power",
        edges=lambda make: [
            Sample(np.eye(3, dtype=make.dtype) * 2 + 0.1, -1),
            Sample(np.eye(3, dtype=make.dtype) * 2 + 0.1, -3),
        ],
        errors=lambda make: [Raises(RuntimeError, "square", make(2, 3), 2)],
    ),
    OpRow(
        "chain_matmul",
        lambda make: [
            Sample(make(2, 3), make(3, 4), make(4, 2)),
            Sample(make(2, 3)),
            Sample(make(5, 2), make(2, 6), make(6, 3), make(3, 1)),
        ],
        dtypes=WIDE,
    ),
]
