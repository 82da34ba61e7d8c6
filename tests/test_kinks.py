"""The derivatives of every op where it is not smooth: its samples, rounded to whole numbers, have
zeros, ties and values at the bounds, and there the first and the second derivative are torch's
choice."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit
from tests.harness.call import Call, cotangent, replace_arrays, to_array, to_tensor
from tests.harness.row import Maker, OpRow, Sample
from tests.harness.table import ROWS, SUBJECT

SAMPLES = 2  # of each row
LARGEST = 600  # elements of a sample's arrays
DIFFERENT = {
    name: reason
    for reason, names in {
        "torch has no second derivative, or not of two zeros in one place": (
            "cdist nn.functional.pdist nn.functional.multi_margin_loss scatter_reduce"
            " nn.functional.multi_head_attention_forward"
            " nn.functional.multilabel_margin_loss"
        ),
        "torch's second derivative is another function near 0 and 1, of 1e24 where ours is 1e12": (
            "nn.functional.binary_cross_entropy"
        ),
        "what belongs to equal singular values, or to a singular matrix, is open": (
            "linalg.cond linalg.svdvals qr"
        ),
        "which one of equal elements is the k-th is open": "kthvalue",
        "torch's second derivative of its cells is of zeros where here is none": "rnn_relu_cell",
    }.items()
    for name in names.split()
}


def rounded(sample: Sample) -> Sample:
    args, kwargs = replace_arrays(
        (sample.args, sample.kwargs),
        lambda a: np.asarray(np.round(a)) if a.dtype == np.float64 else a,
    )
    return Sample(*args, **kwargs)


def derivatives(framework: ModuleType, row: OpRow, sample: Sample) -> list[Any]:
    """The first and the second derivatives, each None where there is none; or the error's name."""
    found: list[Any] = []
    try:
        call = Call(framework, row, sample, track=True)
        function = call.differentiable()
        results = list(function(*call.leaves)) if function else []
        while results and len(found) < 2 * len(call.leaves):
            cotangents = [to_tensor(framework, cotangent(each)) for each in results]
            grads = framework.autograd.grad(
                results, call.leaves, cotangents, allow_unused=True, create_graph=True
            )
            found += [None if g is None else to_array(g.detach().clone()) for g in grads]
            results = [g for g in grads if g is not None and g.requires_grad]
    except (RuntimeError, ValueError, IndexError, TypeError) as error:
        found.append(next(k.__name__ for k in type(error).__mro__ if k.__module__ == "builtins"))
    return found


TESTED = [
    row
    for row in ROWS.values()
    if row.differentiable and "float64" in row.dtypes and SUBJECT[row.name] != "random"
    if row.name not in DIFFERENT
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", TESTED, ids=lambda row: row.name)
def test_derivatives_at_kinks(torch: ModuleType, row: OpRow) -> None:
    samples = [rounded(s) for s in row.samples(Maker(row, "float64"))[:SAMPLES]]
    for sample in samples:
        wanted, actual = (derivatives(each, row, sample) for each in (torch, nnkit))
        assert [type(w) for w in wanted] == [type(a) for a in actual]
        for one, other in zip(wanted, actual, strict=True):
            if isinstance(one, np.ndarray):
                np.testing.assert_allclose(other, one, rtol=1e-6, atol=1e-8)
            else:
                assert one == other


def test_what_is_not_tested_exists() -> None:
    assert set(DIFFERENT) <= set(ROWS)
