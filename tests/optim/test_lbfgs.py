"""L-BFGS takes torch's steps, with and without line search, and goes on from a checkpoint."""

from __future__ import annotations

import copy
from types import ModuleType
from typing import Any

import pytest

import nnkit
from tests.frameworks import raises

OPTIONS: list[dict[str, Any]] = [
    {},
    {"line_search_fn": "strong_wolfe"},
    {"lr": 0.1, "history_size": 3, "max_iter": 4},
    {"line_search_fn": "strong_wolfe", "max_iter": 2, "lr": 20.0},
    {"max_eval": 3, "line_search_fn": "strong_wolfe"},
]


def problem(lib: ModuleType) -> tuple[list[Any], Any]:
    """Two parameters (one without gradient) and a loss of them, neither quadratic nor convex."""
    lib.manual_seed(0)
    kind = lib.float64
    x, unused = (lib.randn(n, dtype=kind).requires_grad_() for n in (5, 2))
    matrix = lib.randn(5, 5, dtype=kind)
    matrix = matrix @ matrix.T + lib.eye(5, dtype=kind)
    return [x, unused], lambda: 0.5 * x @ matrix @ x - x.sin().sum() + (x**4).sum()


def run(lib: ModuleType, options: dict[str, Any]) -> list[Any]:
    params, loss = problem(lib)
    optimizer = lib.optim.LBFGS(params, **options)

    def closure() -> Any:
        optimizer.zero_grad()
        value = loss()
        value.backward()
        return value

    seen = []
    for _ in range(4):
        seen += [optimizer.step(closure).item(), *params[0].tolist()]
        state = optimizer.state[params[0]]
        seen += [state["func_evals"], state["n_iter"], float(state["t"])]
    return seen


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_steps_are_torchs(options: dict[str, Any], torch: ModuleType) -> None:
    assert run(nnkit, options) == pytest.approx(run(torch, options), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("iterations", [1, 20])
def test_keeps_what_torch_keeps(lib: ModuleType, iterations: int) -> None:
    w = lib.tensor([3.0, -2.0], requires_grad=True)
    optimizer = lib.optim.LBFGS([w], lr=0.1, max_iter=iterations, history_size=5)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (w**4).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    kept = ["d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss"]
    factors = [] if iterations == 1 else ["al"]
    assert list(optimizer.state[w]) == ["func_evals", "n_iter", *factors, *kept]
    optimizer.step(closure)
    assert len(optimizer.state[w]["al"]) == 5


@pytest.mark.parametrize("options", OPTIONS[:2], ids=str)
def test_finds_the_minimum(lib: ModuleType, options: dict[str, Any]) -> None:
    w = lib.tensor([3.0, -2.0], requires_grad=True)
    optimizer = lib.optim.LBFGS([w], **options)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = ((w - lib.tensor([1.0, 2.0])) ** 2).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 20
    assert w.tolist() == pytest.approx([1, 2], abs=1e-4)
    other = lib.optim.LBFGS([w], **options)
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    assert other.state[w]["n_iter"] == optimizer.state[w]["n_iter"]
    other.step(closure)


def test_refuses(lib: ModuleType) -> None:
    p, q = lib.ones(1, requires_grad=True), lib.ones(1, requires_grad=True)
    with raises(lib, ValueError, "parameter groups"):
        lib.optim.LBFGS([{"params": [p]}, {"params": [q]}])
    optimizer = lib.optim.LBFGS([p], line_search_fn="x")

    def closure() -> Any:
        p.grad = lib.ones(1)
        return lib.ones(1)

    with raises(lib, RuntimeError, "must be None or 'strong_wolfe', got 'x'"):
        optimizer.step(closure)


def minimise(lib: ModuleType, params: list[Any], loss: Any, **options: Any) -> dict[str, Any]:
    """The state after three steps."""
    optimizer = lib.optim.LBFGS(params, **options)

    def closure() -> Any:
        optimizer.zero_grad()
        value = loss()
        if value.requires_grad:
            value.backward()
        return value

    for _ in range(3):
        optimizer.step(closure)
    return optimizer.state[params[0]]


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_complex_parameters(lib: ModuleType, search: str | None) -> None:
    z = lib.tensor([1 + 1j, 2 - 1j], dtype=lib.complex128, requires_grad=True)
    x = lib.tensor([5.0], dtype=lib.float64, requires_grad=True)
    scale = lib.tensor([1.0, 2.0], dtype=lib.float64)

    def loss() -> Any:
        return ((z - (3 + 2j)).abs() ** 2 * scale).sum() + (x**2).sum()

    minimise(lib, [z, x], loss, line_search_fn=search)
    assert z.tolist() == pytest.approx([3 + 2j, 3 + 2j], rel=1e-5)
    assert x.item() == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_a_flat_loss_without_tolerance(lib: ModuleType, search: str | None) -> None:
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    low = -float("inf")
    for tolerance_change, iterations, evaluations in ((1e-9, 3, 3), (low, 6, 9)):
        state = minimise(
            lib, [x], lambda: (x * 0).sum(), line_search_fn=search, tolerance_grad=low,
            tolerance_change=tolerance_change, max_iter=3,
        )  # fmt: skip
        assert (state["n_iter"], state["func_evals"]) == (iterations, evaluations)
        assert x.tolist() == [1, 2]
    constant = minimise(lib, [x], lambda: lib.tensor(1.0), tolerance_grad=low)
    assert constant["func_evals"] == 3


def test_a_transposed_gradient(lib: ModuleType) -> None:
    x = lib.arange(6.0, dtype=lib.float64).view(2, 3).requires_grad_()
    target = lib.arange(6.0, dtype=lib.float64).view(3, 2)
    minimise(lib, [x], lambda: ((x.t() - target) ** 2).sum())
    assert x.flatten().tolist() == pytest.approx(target.t().flatten().tolist())
