"""Dtypes that an op is not defined for, each with torch's type of error."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.harness.call import builtin_type

REFUSED = {
    "T.cov(b)": RuntimeError,
    "T.corrcoef(b)": RuntimeError,
    "T.trace(b)": NotImplementedError,
    "b.clamp(min=False)": NotImplementedError,
    "b.clamp(b, b)": NotImplementedError,
    "T.clamp_max(b, True)": NotImplementedError,
    "T.div(b, b, rounding_mode='floor')": NotImplementedError,
    "T.div(b, b, rounding_mode='trunc')": NotImplementedError,
    "T.floor_divide(b, True)": NotImplementedError,
    "T.round(b, decimals=2)": NotImplementedError,
    "T.round(i, decimals=2)": NotImplementedError,
    "T.tril_indices(2, 2, dtype=T.float32)": NotImplementedError,
    "T.triu_indices(2, 2, dtype=T.bool)": NotImplementedError,
    "T.linspace(0, 1, 3, dtype=T.bool)": NotImplementedError,
    "T.logspace(0, 1, 3, dtype=T.bool)": NotImplementedError,
    "F.pad(b[None], (1, 1), mode='reflect')": NotImplementedError,
    "F.pad(b[None], (1, 1), mode='replicate')": NotImplementedError,
    "T.polar(i, i)": RuntimeError,
    "F.l1_loss(i, i)": RuntimeError,
    "F.multilabel_soft_margin_loss(i, i)": NotImplementedError,
    "F.max_pool1d(i, 2)": NotImplementedError,
    "T.linalg.matrix_norm(i, 1)": RuntimeError,
    "T.linalg.norm(b, 'nuc')": RuntimeError,
    "F.embedding(T.tensor([0]), i, max_norm=1.0)": RuntimeError,
    "F.adaptive_avg_pool1d(i, 1)": RuntimeError,
}
ALLOWED = {
    "F.l1_loss(i, 2 * i, reduction='sum')": 10,
    "F.max_pool1d(i, 2, return_indices=True)[0]": [[2], [4]],
    "b.clamp(0, 1)": [[1, 0], [1, 1]],
    "T.linspace(0, 1, 1, dtype=T.bool)": [False],
}


def evaluated(lib: ModuleType, expression: str):
    b = lib.tensor([[True, False], [True, True]])
    i = lib.tensor([[1, 2], [3, 4]])
    return eval(expression, {"T": lib, "F": lib.nn.functional, "b": b, "i": i})


@pytest.mark.parametrize("expression", REFUSED)
def test_refused(lib: ModuleType, expression: str) -> None:
    with pytest.raises(BaseException) as caught:
        evaluated(lib, expression)
    assert builtin_type(caught.value) is REFUSED[expression]


@pytest.mark.parametrize("expression", ALLOWED)
def test_allowed(lib: ModuleType, expression: str) -> None:
    assert evaluated(lib, expression).tolist() == ALLOWED[expression]
