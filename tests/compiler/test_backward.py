"""What a compiled function returns can be differentiated from outside."""

from __future__ import annotations

import pytest

import nnkit


def test_a_compiled_function_is_differentiated_from_outside() -> None:
    w = nnkit.full((3,), 2.0, requires_grad=True)
    f = nnkit.compile(lambda x: (x * w).exp())
    for k in range(4):
        x = nnkit.tensor([0.1, 0.2, 0.3 + k], requires_grad=True)
        y = (f(x * 2) * nnkit.tensor([1.0, 2.0, 3.0])).sum()
        found = nnkit.autograd.grad(y, (x, w))
        expected = nnkit.autograd.grad(
            ((x * 2 * w).exp() * nnkit.tensor([1.0, 2.0, 3.0])).sum(), (x, w)
        )
        assert all(map(nnkit.equal, found, expected))


def test_a_second_backward_says_that_there_is_none() -> None:
    w = nnkit.ones(3, requires_grad=True)
    f = nnkit.compile(lambda x: (x * w).exp().sum())
    for _ in range(3):
        y = f(nnkit.ones(3))
        y.backward()
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            y.backward()
    with pytest.raises(RuntimeError, match="cannot be differentiated twice"):
        nnkit.autograd.grad(f(nnkit.ones(3)), w, create_graph=True)


def test_what_was_written_since_cannot_be_differentiated() -> None:
    w = nnkit.ones(3, requires_grad=True)
    f = nnkit.compile(lambda x: (x * w).exp().sum())
    for _ in range(3):
        y = f(nnkit.ones(3))
        with nnkit.no_grad():
            w.add_(1)
    x = nnkit.ones(3)
    y = f(x)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
