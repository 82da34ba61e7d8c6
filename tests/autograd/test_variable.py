"""Old spellings work and say what replaced them."""

from __future__ import annotations

from typing import Any

import pytest

import nnkit

Variable: Any = nnkit.autograd.Variable


def test_variable() -> None:
    data = nnkit.ones(2)
    with pytest.warns(DeprecationWarning, match="requires_grad_"):
        x = Variable(data, requires_grad=True)
    assert isinstance(x, Variable) and isinstance(data, Variable) and x.is_leaf
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    with pytest.raises(TypeError, match="has to be a tensor, but got list"):
        Variable([1.0])


@pytest.mark.filterwarnings("ignore:Variable.tensor. is deprecated:DeprecationWarning")
def test_volatile() -> None:
    with pytest.warns(DeprecationWarning, match="no_grad"):
        assert not Variable(nnkit.ones(2), volatile=True).requires_grad
    with (
        pytest.warns(DeprecationWarning, match="no_grad"),
        pytest.raises(ValueError, match="can't be volatile"),
    ):
        Variable(nnkit.ones(2), requires_grad=True, volatile=True)
    with pytest.warns(DeprecationWarning, match="requires_grad"):
        assert nnkit.ones(1).volatile is False


def test_creator() -> None:
    x = nnkit.ones(1, requires_grad=True) * 2
    with pytest.warns(DeprecationWarning, match="grad_fn"):
        assert x.creator is x.grad_fn


def test_grad_variables() -> None:
    x = nnkit.ones(1, requires_grad=True)
    with pytest.warns(DeprecationWarning, match="grad_tensors") as caught:
        nnkit.autograd.backward(x * 2, grad_variables=nnkit.ones(1))
    assert caught[0].filename == __file__
    assert x.grad.tolist() == [2.0]
    with (
        pytest.warns(DeprecationWarning),
        pytest.raises(RuntimeError, match="'grad_tensors' and 'grad_variables'"),
    ):
        nnkit.autograd.backward(x * 2, nnkit.ones(1), grad_variables=nnkit.ones(1))
