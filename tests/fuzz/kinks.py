"""The derivatives of every op at its kinks against torch: at zeros, and where operands are equal.

``python -m tests.fuzz.kinks`` rounds the samples of the op table to halves, or makes them zeros,
and compares what both libraries have as gradients, as gradients of gradients, as tangents, and as
gradients under `vmap`, one differentiable operand after the other. Where torch refuses, nothing is
compared. ``--names`` takes the rows whose name matches, ``--samples`` so many of each. Each
difference is printed; if there is one, the exit code is 1.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.fuzz.calls import frameworks
from tests.harness.call import Call, flatten
from tests.harness.row import Maker, OpRow, Sample
from tests.harness.table import ROWS


def _halves(array: np.ndarray) -> np.ndarray:
    rounded = np.asarray(np.round(array * 2) / 2, array.dtype)
    return rounded if array.dtype.kind in "fc" else array


def _zeros(array: np.ndarray) -> np.ndarray:
    return np.zeros_like(array) if array.dtype.kind in "fc" else array


PLACES = {"halves": _halves, "zeros": _zeros}

# What differs for a reason: ops, and kinds of derivatives.
LEFT = [
    ("which of equal elements counts", r"^(topk|kthvalue)$", r""),
    (
        "a matrix that is singular, or has equal singular values",
        r"det$|svd|eig|orgqr|householder|lu|inv_ex|cholesky_ex|solve_triangular|matrix_norm|pinv",
        r"",
    ),
    ("torch's tangent is that of another matrix", r"^triangular_solve$", r"^tangent"),
    ("torch loses the derivative of a gradient of 0", r"^logcumsumexp$", r"^second"),
    ("torch has another small number in its divisor", r"binary_cross_entropy$", r"^second"),
    ("a root of a small number, whose last bits count", r"triplet_margin", r"^second"),
    ("torch notices zeros only outside of transforms", r"^(index|scatter)_reduce", r"^second"),
]


def _total(lib: Any, outputs: Any, power: int) -> Any:
    """The sum of all outputs' elements, of complex ones the real parts, each to a power."""
    parts = [o.real if o.is_complex() else o for o in outputs]
    return sum((part**power).sum() for part in parts)


def _direction(lib: Any, leaf: Any) -> Any:
    drawn = np.random.RandomState(7).normal(size=tuple(leaf.shape))
    return lib.tensor(drawn.tolist(), dtype=leaf.dtype).reshape(leaf.shape)


def _gradient(lib: Any, function: Callable, leaf: Any) -> Any:
    return lib.func.grad(lambda x: _total(lib, function(x), 1))(leaf)


def _second_gradient(lib: Any, function: Callable, leaf: Any) -> Any:
    first = lib.func.grad(lambda x: _total(lib, function(x), 2))
    return lib.func.grad(lambda x: _total(lib, (first(x),), 1))(leaf)


def _tangent(lib: Any, function: Callable, leaf: Any) -> Any:
    return lib.func.jvp(function, (leaf,), (_direction(lib, leaf),))[1]


def _mapped_gradient(lib: Any, function: Callable, leaf: Any) -> Any:
    gradient = lib.func.grad(lambda x: _total(lib, function(x), 1))
    return lib.func.vmap(gradient, randomness="same")(lib.stack([leaf, leaf]))


DERIVATIVES: dict[str, Callable] = {
    "gradient": _gradient,
    "second gradient": _second_gradient,
    "tangent": _tangent,
    "gradient under vmap": _mapped_gradient,
}


def outcome(
    lib: Any, row: OpRow, sample: Sample, place: str, derivative: str, position: int
) -> list[np.ndarray] | str | None:
    """The derivatives of one sample in one leaf, as arrays, or the type of the error; None where
    there is no such leaf."""
    call = Call(lib, row, sample, track=True, layout=lambda array: PLACES[place](np.copy(array)))
    if position >= len(call.leaves):
        return None
    leaves = [leaf.detach() for leaf in call.leaves]
    try:
        function = call.differentiable()
        if function is None:
            return None

        def of_one(x: Any) -> Any:
            return function(*leaves[:position], x, *leaves[position + 1 :])

        found = DERIVATIVES[derivative](lib, of_one, leaves[position])
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        return type(error).__name__
    # torch's zeros without memory have elements in a sum only.
    return [np.array((each.detach() + 0).tolist()) for each in flatten(found)]


def differences(libs: list[Any], rows: list[OpRow], samples: int) -> Iterator[str]:
    """What torch, the first of the libraries, and nnkit find otherwise."""
    for row in rows:
        compared = [
            derivative
            for derivative in DERIVATIVES
            if not any(re.search(n, row.name) and re.search(k, derivative) for _, n, k in LEFT)
        ]
        dtypes = [d for d in ("float32", "complex64") if d in row.dtypes] or row.dtypes[:1]
        of_each = [row.samples(Maker(row, dtype))[:samples] for dtype in dtypes]
        for index, sample in enumerate(itertools.chain(*of_each)):
            for place, derivative in itertools.product(PLACES, compared):
                yield from _apart(libs, row, sample, index, place, derivative)


def _apart(
    libs: list[Any], row: OpRow, sample: Sample, index: int, place: str, derivative: str
) -> Iterator[str]:
    """What differs in one kind of derivative at one place, leaf after leaf."""
    for position in range(9):
        expected, actual = (outcome(lib, row, sample, place, derivative, position) for lib in libs)
        if expected is None:
            return
        if isinstance(expected, str) or _alike(expected, actual):
            continue
        where = f"sample {index} in {place}, operand {position}"
        yield f"{row.name}, {where}: {derivative} {actual}, torch {expected}"


def _alike(expected: list[np.ndarray], actual: Any) -> bool:
    return (
        isinstance(actual, list)
        and len(actual) == len(expected)
        and all(
            a.shape == e.shape and np.allclose(a, e, 1e-3, 1e-4, equal_nan=True)
            for e, a in zip(expected, actual, strict=True)
        )
    )


def chosen(names: str = "") -> list[OpRow]:
    """The rows of the ops that have derivatives."""
    return [row for row in ROWS.values() if row.differentiable and re.search(names, row.name)]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--names", default="", help="rows whose name matches")
    parser.add_argument("--samples", type=int, default=2, help="of each row")
    options = parser.parse_args()
    found = False
    for line in differences(frameworks(True), chosen(options.names), options.samples):
        found = True
        print(line, flush=True)
    return found


if __name__ == "__main__":
    sys.exit(main())
