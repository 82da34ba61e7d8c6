"""Rows of inverses, determinants and factorizations, with those of ``nnkit.linalg``."""

from __future__ import annotations

import numpy as np

from tests.harness.row import Fixed, Maker, OpRow, Raises, Sample

DOUBLE = ("float32", "float64")
WIDE = (*DOUBLE, "complex128")
SOLVED = {"float32": (2e-4, 2e-5)}
CONDITION = "float32 rounding times the condition number of the matrices"


def regular(make: Maker, *shape: int) -> np.ndarray:
    """Matrices far from singular: noise around a multiple of the identity."""
    noise = make(*shape, low=-0.5, high=0.5)
    return noise + np.asarray(2 * np.eye(shape[-2], shape[-1]), noise.dtype)


def definite(make: Maker, *shape: int) -> np.ndarray:
    """Symmetric (Hermitian) positive definite matrices."""
    x = regular(make, *shape)
    return x @ x.swapaxes(-1, -2).conj()


def matrices(make: Maker) -> list[Sample]:
    return [
        Sample(regular(make, 3, 3)),
        Sample(regular(make, 2, 2, 2)),
        Sample(regular(make, 1, 1)),
    ]


def rectangles(make: Maker) -> list[Sample]:
    return [Sample(make(4, 3)), Sample(make(3, 3)), Sample(make(2, 3, 4))]


def empty(make: Maker) -> list[Sample]:
    return [Sample(make(0, 0)), Sample(make(0, 3, 3))]


def square_errors(make: Maker) -> list[Raises]:
    return [
        Raises(RuntimeError, "2 by 3", make(2, 3)),
        Raises(RuntimeError, "2 dimensions", make(2)),
        Raises(RuntimeError, "Long", make(2, 2, dtype="int64")),
    ]


def systems(make: Maker) -> list[Sample]:
    return [
        Sample(regular(make, 3, 3), make(3, 2)),
        Sample(regular(make, 3, 3), make(3)),
        Sample(regular(make, 2, 3, 3), make(2, 3, 2)),
        Sample(regular(make, 2, 3, 3), make(2, 3)),
        Sample(regular(make, 2, 3, 3), make(3, 1)),
        Sample(regular(make, 3, 3), make(2, 3), left=False),
    ]


def triangles(make: Maker) -> list[Sample]:
    x, y = regular(make, 3, 3), make(3, 2)
    return [
        Sample(x, y, upper=True),
        Sample(x, y, upper=False),
        Sample(x, y, upper=True, unitriangular=True),
        Sample(x, make(2, 3), upper=False, left=False),
        Sample(regular(make, 2, 3, 3), y, upper=True),
        Sample(make(0, 0), make(0, 2), upper=True),
    ]


def reflections(make: Maker) -> list[Sample]:
    return [Sample(make(4, 3), make(3)), Sample(make(2, 3, 3), make(2, 2))]


def exchanged(*rows) -> np.ndarray:
    """The rows that a factorization exchanged, counted from 1."""
    return np.array(rows, np.int32)


def row(name: str, samples, **options) -> OpRow:
    settings = {"dtypes": WIDE, "tolerance": SOLVED, "reason": CONDITION} | options
    return OpRow(name, samples, **settings)


ROWS = [
    row(
        "inverse",
        matrices,
        edges=empty,
        out=True,
        method="inverse",
        aliases=("linalg.inv",),
        errors=lambda make: [
            *square_errors(make),
            Raises(RuntimeError, "ingular", np.ones((2, 2), make.dtype)),
        ],
    ),
    row(
        "det",
        matrices,
        edges=empty,
        method="det",
        aliases=("linalg.det",),
        again="torch differentiates one element by itself",
        errors=square_errors,
    ),
    row("slogdet", matrices, dtypes=DOUBLE, edges=empty, method="slogdet", errors=square_errors),
    row("logdet", matrices, dtypes=DOUBLE, edges=empty, method="logdet", errors=square_errors),
    row(
        "cholesky",
        lambda make: [Sample(definite(make, 3, 3)), Sample(definite(make, 2, 2, 2), upper=True)],
        # In double precision see test_linalg: one triangle alone has no finite differences.
        method="cholesky",
        out=True,
        dtypes=("float32",),
        errors=lambda make: [
            *square_errors(make)[:2],
            Raises(RuntimeError, "definite", -np.eye(2, dtype=make.dtype)),
        ],
    ),
    row(
        "qr",
        rectangles,
        dtypes=DOUBLE,
        method="qr",
        errors=lambda make: [Raises(RuntimeError, "2 dimensions", make(2))],
    ),
    row(
        "svd",
        lambda make: [Sample(make(4, 3), compute_uv=False)],
        method="svd",
        second_order=False,
        errors=lambda make: [Raises(RuntimeError, "2 dimensions", make(2))],
    ),
    # torch's gradient of the factor is not zero in the triangle that is not read: see test_linalg.
    row(
        "cholesky_solve",
        lambda make: [
            Sample(make(3, 2), Fixed(regular(make, 3, 3))),
            Sample(make(3, 2), Fixed(regular(make, 3, 3)), upper=True),
        ],
        out=True,
        method="cholesky_solve",
        dtypes=DOUBLE,
    ),
    row(
        "cholesky_inverse",
        lambda make: [
            Sample(Fixed(regular(make, 3, 3))),
            Sample(Fixed(regular(make, 3, 3)), upper=True),
        ],
        out=True,
        method="cholesky_inverse",
        dtypes=DOUBLE,
        differentiable=False,
    ),
    # Without a gradient, because torch's raises.
    OpRow(
        "vander",
        lambda make: [
            Sample(make(3)),
            Sample(make(3), N=2),
            Sample(make(2), increasing=True),
            Sample(make(2), N=0),
        ],
        dtypes=("int64",),
        differentiable=False,
        errors=lambda make: [Raises(RuntimeError, "one-dimensional", make(2, 2))],
    ),
    row("pinverse", lambda make: [Sample(make(4, 3)), Sample(make(2, 2, 3))], method="pinverse"),
    row("geqrf", rectangles, dtypes=DOUBLE, differentiable=False, method="geqrf", out=True),
    row(
        "orgqr", reflections, dtypes=DOUBLE, method="orgqr", aliases=("linalg.householder_product",)
    ),
    row(
        "ormqr",
        lambda make: [
            Sample(make(4, 3), make(3), make(4, 2)),
            Sample(make(4, 3), make(3), make(4, 2), transpose=True),
            Sample(make(3, 3), make(3), make(2, 3), left=False),
        ],
        dtypes=DOUBLE,
        method="ormqr",
    ),
    row("linalg.slogdet", matrices, dtypes=DOUBLE),
    row(
        "linalg.solve",
        systems,
        errors=lambda make: [
            Raises(RuntimeError, "[3]", regular(make, 2, 2), make(3)),
            Raises(RuntimeError, "ingular", np.ones((2, 2), make.dtype), make(2)),
        ],
    ),
    row("linalg.solve_triangular", triangles),
    row("linalg.svdvals", rectangles),
    row(
        "linalg.eigvalsh",
        lambda make: [Sample(definite(make, 3, 3)), Sample(definite(make, 2, 2, 2), UPLO="U")],
        dtypes=("float32",),
    ),
    row("linalg.pinv", lambda make: [Sample(make(4, 3)), Sample(make(3, 3), rtol=0.1)]),
    row(
        "linalg.matrix_rank",
        lambda make: [
            Sample(make(4, 3)),
            Sample(np.ones((3, 3), make.dtype)),
            Sample(make(3, 3), atol=1.0),
        ],
        differentiable=False,
    ),
    row(
        "linalg.lstsq",
        lambda make: [
            Sample(make(4, 3), make(4, 2)),
            Sample(make(4, 3), make(4, 2), driver="gelsd"),
        ],
        dtypes=DOUBLE,
        second_order=False,
    ),
    row(
        "matrix_exp",
        method="matrix_exp",
        aliases=("linalg.matrix_exp",),
        samples=lambda make: [
            Sample(make(3, 3)),
            Sample(make(2, 2, 2) * 8),
            Sample(make(2, 2) * 0),
        ],
        second_order=False,
    ),
    row(
        "linalg.vector_norm",
        lambda make: [Sample(make(3, 4)), Sample(make(3, 4), 3, dim=1, keepdim=True)],
    ),
    row(
        "linalg.matrix_norm",
        lambda make: (
            [Sample(make(3, 4), p) for p in ("fro", "nuc", 2, -2, 1, -1, np.inf, -np.inf)]
            + [Sample(make(2, 3, 4), 2, dim=(0, 2), keepdim=True), Sample(make(2, 3, 4))]
        ),
        errors=lambda make: [
            Raises(RuntimeError, "3", make(2, 2), 3),
            Raises(RuntimeError, "2-tuple", make(2, 2), 2, (0,)),
        ],
    ),
    row(
        "linalg.norm",
        lambda make: [
            Sample(make(2, 3)),
            Sample(make(2, 3), 1),
            Sample(make(3), 1),
            Sample(make(2, 3), 3, dim=1),
            Sample(make(2, 3, 4), dim=(0, 1)),
            Sample(make(2, 3), "nuc"),
            Sample(make(2, 3, 4)),
        ],
        errors=lambda make: [
            Raises(RuntimeError, "1D or 2D", make(2, 3, 4), 2),
            Raises(RuntimeError, "2-tuple", make(2, 3), "fro", 1),
            Raises(RuntimeError, "2 dimensions", make(3), "nuc"),
        ],
    ),
    row(
        "linalg.cond",
        lambda make: [Sample(regular(make, 3, 3), p) for p in (None, 2, -2)],
        dtypes=DOUBLE,
        second_order=False,
    ),
    row(
        "linalg.vecdot",
        lambda make: [Sample(make(2, 3), make(3)), Sample(make(2, 3), make(2, 3), dim=0)],
    ),
    row("linalg.cross", lambda make: [Sample(make(2, 3), make(2, 3))]),
    row("linalg.diagonal", lambda make: [Sample(make(3, 4)), Sample(make(2, 3, 3), offset=1)]),
    row(
        "linalg.vander",
        lambda make: [Sample(make(3)), Sample(make(2, 3), N=5)],
        errors=lambda make: [Raises(RuntimeError, "N must", make(3), N=1)],
    ),
    row(
        "linalg.multi_dot",
        lambda make: [
            Sample([make(2, 3), make(3, 4), make(4, 2)]),
            Sample([make(2), make(2, 3), make(3)]),
        ],
        errors=lambda make: [Raises(RuntimeError, "at least 2", [make(2, 2)])],
    ),
    row("linalg.matrix_power", lambda make: [Sample(make(2, 3, 3), 3)]),
    row("linalg.matmul", lambda make: [Sample(make(2, 3), make(3, 2))]),
    row("linalg.tensorinv", lambda make: [Sample(regular(make, 4, 4).reshape(2, 2, 4), ind=2)]),
    row(
        "linalg.tensorsolve",
        lambda make: [Sample(regular(make, 4, 4).reshape(2, 2, 4), make(2, 2))],
    ),
    *(
        row(
            f"linalg.{name}",
            lambda make: [*matrices(make), *rectangles(make)],
            out=True,
            errors=lambda make: [
                Raises(RuntimeError, "2 dimensions", make(2)),
                Raises(RuntimeError, "pivoting", make(2, 2), pivot=False),
            ],
        )
        for name in ("lu", "lu_factor", "lu_factor_ex")
    ),
    row(
        "lu",
        lambda make: [*matrices(make), Sample(make(4, 3)), Sample(make(2, 3), get_infos=True)],
        method="lu",
        errors=lambda make: [
            Raises(RuntimeError, "2 dimensions", make(2)),
            Raises(RuntimeError, "pivoting", make(2, 2), False),
        ],
    ),
    row(
        "lu_solve",
        lambda make: [
            Sample(make(3, 2), regular(make, 3, 3), exchanged(3, 3, 3)),
            Sample(make(2, 3, 1), regular(make, 3, 3), exchanged(2, 3, 3)),
        ],
        out=True,
        method="lu_solve",
        errors=lambda make: [
            Raises(RuntimeError, "int64", make(2, 1), regular(make, 2, 2), np.array([1, 2])),
            Raises(RuntimeError, "incompatible", make(3, 1), regular(make, 2, 2), exchanged(1, 2)),
        ],
    ),
    row(
        "triangular_solve",
        lambda make: [
            Sample(make(3, 2), regular(make, 3, 3)),
            Sample(make(3, 2), regular(make, 3, 3), upper=False, transpose=True),
            Sample(make(2, 3, 1), regular(make, 3, 3), unitriangular=True),
            Sample(make(3, 2), regular(make, 2, 1, 3, 3), False),
        ],
        out=True,
        method="triangular_solve",
        errors=lambda make: [
            Raises(RuntimeError, "2 dimensions", make(2), regular(make, 2, 2)),
            Raises(RuntimeError, "2 by 3", make(2, 1), make(2, 3)),
            Raises(RuntimeError, "incompatible", make(3, 1), regular(make, 2, 2)),
            Raises(RuntimeError, "Long", make(2, 1), make(2, 2, dtype="int64")),
        ],
    ),
    row(
        "linalg.lu_solve",
        lambda make: [
            Sample(regular(make, 3, 3), exchanged(3, 3, 3), make(3, 2)),
            Sample(regular(make, 3, 3), exchanged(2, 3, 3), make(3, 2), adjoint=True),
            Sample(regular(make, 2, 3, 3), exchanged([1, 3, 3], [3, 2, 3]), make(3, 1)),
            Sample(regular(make, 3, 3), exchanged(3, 3, 3), make(2, 3), left=False),
        ],
        out=True,
        errors=lambda make: [
            Raises(RuntimeError, "int64", regular(make, 2, 2), np.array([1, 2]), make(2, 1)),
            Raises(RuntimeError, "pivots", regular(make, 2, 2), exchanged(1), make(2, 1)),
            Raises(RuntimeError, "incompatible", regular(make, 2, 2), exchanged(1, 2), make(3, 1)),
        ],
    ),
    row(
        "lu_unpack",
        lambda make: [
            Sample(regular(make, 3, 3), exchanged(3, 3, 3)),
            Sample(make(4, 3), exchanged(2, 4, 3)),
            Sample(make(2, 3), exchanged(2, 2), unpack_pivots=False),
        ],
        errors=lambda make: [Raises(RuntimeError, "int64", make(2, 2), np.array([1, 2]))],
    ),
    row(
        "linalg.inv_ex",
        matrices,
        out=True,
        errors=lambda make: [
            *square_errors(make),
            Raises(RuntimeError, "ingular", np.ones((2, 2), make.dtype), check_errors=True),
        ],
    ),
    row(
        "linalg.solve_ex",
        systems,
        errors=lambda make: [
            Raises(RuntimeError, "ingular", np.ones((2, 2), make.dtype), make(2), check_errors=True)
        ],
    ),
    row(
        "linalg.cholesky_ex",
        lambda make: [Sample(definite(make, 3, 3)), Sample(definite(make, 2, 2, 2), upper=True)],
        dtypes=("float32",),
        errors=lambda make: [
            *square_errors(make)[:2],
            Raises(RuntimeError, "definite", -np.eye(2, dtype=make.dtype), check_errors=True),
        ],
    ),
]
