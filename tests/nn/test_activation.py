"""The activation layers: torch's text, values and gradients, in place too."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.frameworks import raises
from tests.nn.parity import assert_same

# Layer and its settings; with ``inplace`` where it has that.
LAYERS: list[tuple[str, tuple, bool]] = [
    ("CELU", (), True), ("CELU", (0.5,), True), ("ELU", (), True), ("ELU", (0.5,), True),
    ("GELU", (), False), ("GELU", ("tanh",), False), ("GLU", (), False), ("GLU", (0,), False),
    ("Hardshrink", (0.3,), False), ("Hardsigmoid", (), True), ("Hardswish", (), True),
    ("Hardtanh", (), True), ("Hardtanh", (-2, 0.5), True), ("LeakyReLU", (0.2,), True),
    ("LogSigmoid", (), False), ("Mish", (), True), ("PReLU", (), False),
    ("PReLU", (4, 0.1), False), ("RReLU", (), True), ("RReLU", (0.1, 0.2), True),
    ("ReLU", (), True), ("ReLU6", (), True), ("SELU", (), True), ("SiLU", (), True),
    ("Sigmoid", (), False), ("Softplus", (2, 1), False), ("Softshrink", (0.3,), False),
    ("Softsign", (), False), ("Tanh", (), False), ("Tanhshrink", (), False),
    ("Threshold", (0.1, 20.0), True),
]  # fmt: skip
each = pytest.mark.parametrize(
    ("name", "settings", "inplace"), LAYERS, ids=[f"{n}{s}" for n, s, _ in LAYERS]
)
# torch multiplies the gradient by 1 / 6 in float32.
RTOL = {"Hardsigmoid": 1e-7}
X = np.random.RandomState(0).uniform(-8, 8, (6, 4))


@each
@pytest.mark.parametrize("train", [True, False])
def test_layer(torch: ModuleType, name: str, settings: tuple, inplace: bool, train: bool) -> None:
    assert_same(
        torch, lambda nn: getattr(nn, name)(*settings), X, train=train, rtol=RTOL.get(name, 1e-9)
    )


@pytest.mark.parametrize(("name", "settings"), [(n, s) for n, s, inplace in LAYERS if inplace])
def test_in_place(torch: ModuleType, name: str, settings: tuple) -> None:
    def call(lib: ModuleType, layer: Any, x: Any) -> Any:
        copy = x * 1
        assert layer(copy) is copy
        return copy

    assert_same(
        torch, lambda nn: getattr(nn, name)(*settings, inplace=True), X, call=call,
        rtol=RTOL.get(name, 1e-9),
    )  # fmt: skip


def test_deprecated_bounds(lib: ModuleType) -> None:
    with pytest.warns(FutureWarning, match="min_value"):
        layer = lib.nn.Hardtanh(min_value=-3.0)
    assert layer.min_val == -3.0 and layer.max_val == 1.0


def test_errors(lib: ModuleType) -> None:
    with raises(lib, AssertionError, "max_val"):
        lib.nn.Hardtanh(1.0, 1.0)
    with raises(lib, RuntimeError, "dim 1"):
        lib.nn.GLU()(lib.zeros(2, 3))
    with raises(lib, RuntimeError, "weight.*3"):
        lib.nn.PReLU(3)(lib.zeros(2, 4))


def test_relu6_is_a_hardtanh(lib: ModuleType) -> None:
    layer = lib.nn.ReLU6()
    assert isinstance(layer, lib.nn.Hardtanh) and (layer.min_val, layer.max_val) == (0.0, 6.0)


def test_gumbel_softmax(torch: ModuleType) -> None:
    import nnkit

    results = []
    for lib in (nnkit, torch):
        lib.manual_seed(3)
        logits = lib.tensor(X, requires_grad=True)
        soft = lib.nn.functional.gumbel_softmax(logits, tau=0.7)
        hard = lib.nn.functional.gumbel_softmax(logits, hard=True, dim=0)
        (soft.cos().sum() + (hard * logits).sum()).backward()
        results.append([t.detach().numpy() for t in (soft, hard, logits.grad)])
    for ours, wanted in zip(*results, strict=True):
        np.testing.assert_allclose(ours, wanted, 1e-9, 1e-12)
