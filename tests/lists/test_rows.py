"""The table of ops on a device whose arrays are plain Python lists.

Its backend has few kernels: all other primitives are the reference bodies, so this is also where
these run without a kernel below them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import nnkit
from nnkit import nn, optim
from nnkit.backend.algebra import CATALOGUE
from nnkit.backend.catalogue import SIGNATURES
from nnkit.nn import functional as F
from tests.harness import cases, checks, expectations
from tests.harness.call import Call, Result
from tests.harness.row import OpRow
from tests.harness.table import ROWS, SUBJECT
from tests.lists import BACKEND

# Why some rows are not run.
NOT_RUN = {
    "lists have no generator whose stream would be torch's": [
        *(name for name, subject in SUBJECT.items() if subject in ("random", "dropout")),
        *"rrelu rrelu_ rnn_tanh rnn_relu lstm gru nn.functional.gumbel_softmax".split(),
        "nn.functional.scaled_dot_product_attention",
        "nn.functional.multi_head_attention_forward",
        *(name for name in ROWS if "fractional_max_pool" in name),
    ],
    "factors that LAPACK computes": (
        "svd linalg.svdvals pinverse linalg.pinv linalg.matrix_rank linalg.lstsq linalg.norm"
        " linalg.matrix_norm linalg.cond det cholesky linalg.cholesky_ex qr geqrf linalg.eigvalsh"
        " linalg.ldl_factor linalg.ldl_factor_ex linalg.ldl_solve"
    ).split(),
    "a list is no memory that others could read": ["from_dlpack"],
    "numbers in a list have no bits": ["hash_tensor"],
}
DOUBLE = ("float64", "complex128")
# A body rounds each step to half precision, where a kernel rounds once.
HALF = {"float16": (2e-2, 2e-2), "bfloat16": (1e-1, 1e-1)}


@pytest.fixture
def place() -> Iterator[nnkit.device]:
    found = nnkit.device("xpu")
    found.backend = BACKEND
    nnkit.set_default_device(found)
    try:
        yield found
    finally:
        nnkit.set_default_device(None)
        del found.backend


def run(place: nnkit.device, case: cases.Case) -> Result:
    """The result of a case on that device."""
    call = Call(nnkit, case.row, case.sample, case.track)
    for key, tensor in call.tensors.items():
        call.tensors[key] = tensor.detach().to(place).requires_grad_(tensor.requires_grad)
    return call.result(case.may_raise).thinned()


def check(place: nnkit.device, row: OpRow) -> None:
    """Values, dtypes and shapes of results, and gradients in double precision, are torch's."""
    stored = expectations.frozen(SUBJECT[row.name])
    tolerance = {**HALF, **row.tolerance}
    rounded = dataclasses.replace(row, tolerance=tolerance, reason="a body rounds each step")
    for which in (cases.forward, cases.gradient):
        for case in which(row):
            if case.track and not any(name in case.key for name in DOUBLE):
                continue
            checks.assert_same(run(place, case), stored[case.key], case.key, rounded)


EXCUSED = {name for names in NOT_RUN.values() for name in names}


@pytest.mark.parametrize("name", [name for name in ROWS if name not in EXCUSED])
def test_a_row_on_lists(place, name: str) -> None:
    check(place, ROWS[name])


@pytest.mark.parametrize("name", sorted(EXCUSED))
def test_an_excuse_is_needed(place, name: str) -> None:
    with pytest.raises((AssertionError, NotImplementedError, RuntimeError, AttributeError)):
        check(place, ROWS[name])


def test_the_backend_is_small() -> None:
    """Of the primitives that are no formulas it has few, and it computes without NumPy."""
    subjects = [s for s in SIGNATURES if find_spec(f"tests.lists.{s}")]
    kernels = {
        name
        for subject in subjects
        for name, value in vars(import_module(f"tests.lists.{subject}")).items()
        if callable(value) and name in CATALOGUE and CATALOGUE[name].subject == subject
    }
    assert len(kernels) < 40, sorted(kernels)
    for path in Path(__file__).parent.glob("*.py"):
        assert path.name == "exchange.py" or "import numpy" not in path.read_text().splitlines()


OPTIMIZERS = "SGD Adam AdamW NAdam RAdam Adamax Adagrad Adadelta RMSprop Rprop ASGD".split()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_model_is_trained_as_on_the_cpu(place, name: str) -> None:
    trained = []
    for where in (nnkit.device("cpu"), place):
        nnkit.set_default_device("cpu")
        nnkit.manual_seed(0)
        model = nn.Sequential(
            nn.Conv2d(1, 2, 2, bias=False),
            nn.BatchNorm2d(2),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(8, 3),
        ).to(where)
        optimizer = getattr(optim, name)(model.parameters())
        x, y = nnkit.randn(4, 1, 3, 3).to(where), nnkit.tensor([0, 1, 2, 1]).to(where)
        for _ in range(3):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        trained.append([p.detach().cpu() for p in model.parameters()])
    for one, other in zip(*trained, strict=True):
        nnkit.testing.assert_close(one, other)
