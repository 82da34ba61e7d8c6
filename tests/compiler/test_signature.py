"""The program that ran last: it runs again for arguments of the same signature alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import nnkit


@pytest.mark.parametrize(
    "others",
    [
        lambda x, y: (x.double(), y),
        lambda x, y: (x.T.contiguous().T, y),
        lambda x, y: (x[:2], y[:2]),
        lambda x, y: (x, x),
        lambda x, y: (x.requires_grad_(), y),
        lambda x, y: (x.detach().requires_grad_() * 1, y),
        lambda x, y: (nnkit.nn.Parameter(x.clone()), y),
        lambda x, y: (x.detach()[:], y),
        lambda x, y: (x.detach(), 2.0),
        lambda x, y: (x.detach(),),
        lambda x, y: (x.detach(), y, y),
    ],
)
def test_a_program_that_ran_last_runs_for_its_arguments_alone(others: Callable) -> None:
    def function(x: Any, y: Any = 3.0, z: Any = 1.0) -> Any:
        return (x * y + z).exp() * x

    x, y = nnkit.arange(9.0).reshape(3, 3) / 9, nnkit.ones(3, 3)
    compiled = nnkit.compile(function)
    for _ in range(4):
        compiled(x, y)
    last = compiled.last
    assert last.takes((x, y))
    with nnkit.no_grad():
        assert last.takes((x, y)) is False
    given = others(x, y)
    assert not last.takes(given)
    for _ in range(3):
        found, expected = compiled(*given), function(*given)
        assert found.dtype is expected.dtype
        assert found.requires_grad is expected.requires_grad
        assert found.tolist() == expected.tolist()
    assert compiled(x, y).tolist() == function(x, y).tolist()
