"""`lobpcg` beside torch's, and beside `linalg.eigh`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nnkit
from tests.frameworks import raises


def matrix(lib: Any, *batch: int) -> Any:
    x = lib.tensor(np.random.RandomState(0).randn(*batch, 12, 12))
    return x @ x.mT + lib.diag(lib.arange(12.0)).double()


CALLS: dict[str, Any] = {
    "largest": lambda lib: (matrix(lib), {"k": 2}),
    "smallest": lambda lib: (matrix(lib), {"k": 3, "largest": False, "method": "basic"}),
    "one": lambda lib: (matrix(lib), {}),
    "a batch": lambda lib: (matrix(lib, 2, 1), {"k": 2}),
    "sparse": lambda lib: (matrix(lib).to_sparse(), {"k": 1}),
    "begun": lambda lib: (matrix(lib), {"k": 1, "X": lib.eye(12, 3).double()}),
    "more than asked": lambda lib: (matrix(lib), {"k": 1, "n": 3, "niter": -1}),
    "preconditioned": lambda lib: (matrix(lib), {"k": 2, "iK": lib.linalg.inv(matrix(lib))}),
    "generalized": lambda lib: (
        matrix(lib), {"k": 2, "B": lib.diag(lib.linspace(1, 2, 12)).double()},
    ),
    "single precision": lambda lib: (matrix(lib).float(), {"k": 1}),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")  # torch's own
@pytest.mark.parametrize("name", CALLS)
def test_values_are_torchs(name: str, torch: Any) -> None:
    found = []
    for lib in (nnkit, torch):
        lib.manual_seed(0)
        A, options = CALLS[name](lib)
        values, vectors = lib.lobpcg(A, **options)
        right = vectors if "B" not in options else options["B"] @ vectors
        rest = A @ vectors - right * values.unsqueeze(-2)
        assert rest.abs().max() < (1e-2 if name == "single precision" else 1e-5)
        drawn = float(lib.rand(1))  # of the same generator, after as many numbers
        shown = tuple(vectors.shape), str(values.dtype)[-7:], drawn
        found.append((values.flatten().tolist(), *shown))
    assert found[0][1:] == found[1][1:] and found[0][0] == pytest.approx(found[1][0], rel=1e-5)


def test_gradients_are_those_of_eigh(lib: Any) -> None:
    lib.manual_seed(0)
    ours, theirs = matrix(lib).requires_grad_(), matrix(lib).requires_grad_()
    values, vectors = lib.lobpcg(ours, k=2)
    (values.sin().sum() + vectors.pow(4).sum()).backward()
    numbers, basis = lib.linalg.eigh(theirs)
    (numbers[-2:].sin().sum() + basis[:, -2:].pow(4).sum()).backward()
    expected = (theirs.grad + theirs.grad.mT) / 2
    assert lib.allclose(ours.grad, expected, atol=1e-5)


def test_a_tracker_sees_the_steps_and_stops_them(lib: Any) -> None:
    seen = []

    def track(work: Any) -> None:
        seen.append((work.ivars["istep"], work.E.shape, work.X.shape, work.R.shape))
        assert work.tvars["rerr"].shape == (1,) and work.ivars["converged_count"] == 0
        work.bvars["force_stop"] = len(seen) == 3

    lib.manual_seed(0)
    lib.lobpcg(matrix(lib), k=1, tol=1e-14, tracker=track)
    assert seen == [(step, (1,), (12, 1), (12, 1)) for step in (1, 2, 3)]


def test_refuses(lib: Any) -> None:
    with raises(lib, ValueError, "3 x the number"):
        lib.lobpcg(matrix(lib), k=5)
    with raises(lib, AssertionError, "square"):
        lib.lobpcg(lib.ones(3, 4))
