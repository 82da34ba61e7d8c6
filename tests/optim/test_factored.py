"""Muon, Adafactor and SparseAdam against torch."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

import nnkit
from tests.frameworks import raises


def run(lib: ModuleType, name: str, shapes: list[tuple], options: dict[str, Any]) -> list[float]:
    lib.manual_seed(0)
    params = [lib.randn(shape, dtype=lib.float64).requires_grad_() for shape in shapes]
    optimizer = getattr(lib.optim, name)(params, **options)
    for _ in range(4):
        optimizer.zero_grad()
        loss: Any = sum((p * p * (i + 1)).sum() + p.sin().sum() for i, p in enumerate(params))
        loss.backward()
        optimizer.step()
    return [v for p in params for v in p.detach().flatten().tolist()]


@pytest.mark.parametrize(
    "options",
    [{}, {"nesterov": False, "momentum": 0.5}, {"adjust_lr_fn": "match_rms_adamw", "lr": 0.1},
     {"ns_steps": 2, "ns_coefficients": (2.0, -1.5, 0.5), "weight_decay": 0}],
)  # fmt: skip
def test_muon(options: dict[str, Any], torch: ModuleType) -> None:
    shapes = [(3, 4), (5, 2), (2, 2)]
    # Its matrices are rounded to bfloat16 in between.
    expected = run(torch, "Muon", shapes, options)
    assert run(nnkit, "Muon", shapes, options) == pytest.approx(expected, rel=1e-2, abs=2e-3)


@pytest.mark.parametrize(
    "options",
    [{}, {"lr": 0.5, "weight_decay": 0.1, "maximize": True}, {"eps": (1e-2, 1e-1), "d": 2.0},
     {"beta2_decay": -0.5}],
)  # fmt: skip
def test_adafactor(options: dict[str, Any], torch: ModuleType) -> None:
    shapes = [(3, 4), (5,), (2, 3, 2), ()]
    expected = run(torch, "Adafactor", shapes, options)
    assert run(nnkit, "Adafactor", shapes, options) == pytest.approx(expected, rel=1e-9)


def test_muon_moves_by_its_learning_rate(lib: ModuleType) -> None:
    w = lib.zeros(2, 2, requires_grad=True)
    optimizer = lib.optim.Muon([w], lr=0.1)
    w.diagonal().sum().backward()
    optimizer.step()
    assert w[0, 0].item() == pytest.approx(-0.09, abs=0.03) and w[0, 1].item() == 0
    assert set(optimizer.state[w]) == {"momentum_buffer"}


def test_adafactor_keeps_rows_and_columns(lib: ModuleType) -> None:
    w, b = lib.ones(2, 3, requires_grad=True), lib.ones(2, requires_grad=True)
    optimizer = lib.optim.Adafactor([w, b], lr=0.1)
    (w.sum() + b.sum()).backward()
    optimizer.step()
    assert w.tolist()[0] == pytest.approx([0.9] * 3) and b.tolist() == pytest.approx([0.9] * 2)
    assert optimizer.state[w]["row_var"].shape == (2, 1)
    assert optimizer.state[w]["col_var"].shape == (1, 3)
    assert set(optimizer.state[b]) == {"step", "variance"}


def test_refused(lib: ModuleType) -> None:
    optim, matrix = lib.optim, [lib.ones(2, 2, requires_grad=True)]
    for kind, options, word in (
        ("Muon", {"adjust_lr_fn": "x"}, "adjust_lr_fn"), ("Muon", {"lr": -1}, "rate"),
        ("Muon", {"momentum": -1}, "momentum"), ("Adafactor", {"d": 0.5}, "threshold"),
        ("Adafactor", {"beta2_decay": 0.5}, "beta2_decay"),
        ("Adafactor", {"eps": (-1, 1)}, "epsilon1"), ("SparseAdam", {"lr": 0}, "rate"),
        ("SparseAdam", {"betas": (0.9, 1.0)}, "index 1"), ("SparseAdam", {"eps": 0}, "epsilon"),
    ):  # fmt: skip
        with raises(lib, ValueError, word):
            getattr(optim, kind)(matrix, **options)
    with raises(lib, ValueError, "Muon only supports 2D parameters"):
        optim.Muon([lib.ones(2, requires_grad=True)])
    for kind, options in (("Muon", {"ns_steps": 100}), ("Muon", {"ns_coefficients": (1, 2)})):
        matrix[0].grad = lib.ones(2, 2)
        with raises(lib, ValueError, "ns_"):
            getattr(optim, kind)(matrix, **options).step()
    with raises(lib, RuntimeError, "dense"):
        optim.SparseAdam(matrix).step()
    for kind in ("Muon", "Adafactor"):
        p = lib.ones(2, 2, dtype=lib.complex64, requires_grad=True)
        p.grad = lib.ones(2, 2, dtype=lib.complex64)
        with raises(lib, RuntimeError, "complex"):
            getattr(optim, kind)([p]).step()
