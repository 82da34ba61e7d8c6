"""The adaptive softmax: same numbers as torch, with one label in each cluster and without."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit
from tests.frameworks import raises


def run(lib: ModuleType, targets: Any, **options: Any) -> list:
    lib.manual_seed(0)
    layer = lib.nn.AdaptiveLogSoftmaxWithLoss(32, 20, [4, 10], **options)
    x = lib.tensor(np.random.RandomState(0).randn(5, 32).astype("f")).requires_grad_()
    out, loss = layer(x, lib.tensor(targets))
    loss.backward()
    results = [out, loss, x.grad, layer.log_prob(x), layer.predict(x)]
    results += list(layer.state_dict().values())
    names = [type(layer(x, lib.tensor(targets))).__name__, *layer.state_dict()]
    return [repr(layer), names, *(r.detach().numpy() for r in results)]


@pytest.mark.parametrize("targets", [[0, 5, 19, 3, 12], [1, 1, 2, 3, 0]])
@pytest.mark.parametrize("options", [{}, {"head_bias": True, "div_value": 2.0}])
def test_layer_is_torchs(torch: ModuleType, targets: list, options: dict) -> None:
    mine, theirs = run(nnkit, targets, **options), run(torch, targets, **options)
    assert mine[:2] == theirs[:2]
    for one, other in zip(mine[2:], theirs[2:], strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-6)


def test_one_sample(lib: ModuleType) -> None:
    layer = lib.nn.AdaptiveLogSoftmaxWithLoss(32, 20, [4, 10])
    out = layer(lib.zeros(32), lib.tensor(7))
    assert out.output.shape == () and out.loss.item() == -out.output.item()
    assert layer.log_prob(lib.zeros(1, 32)).exp().sum().item() == pytest.approx(1)


@pytest.mark.parametrize("cutoffs", [[], [4, 4], [10, 4], [0], [20], [2.5]])
def test_wrong_cutoffs(lib: ModuleType, cutoffs: list) -> None:
    with raises(lib, ValueError, "cutoffs"):
        lib.nn.AdaptiveLogSoftmaxWithLoss(32, 20, cutoffs)


def test_wrong_calls(lib: ModuleType) -> None:
    layer = lib.nn.AdaptiveLogSoftmaxWithLoss(32, 20, [4, 10])
    for x, target, noun in (
        (lib.zeros(2, 32), lib.tensor([0, 20]), "20"),
        (lib.zeros(2, 32), lib.tensor([0, 1, 2]), "2 and 3"),
        (lib.zeros(2, 32), lib.tensor(0), r"\[2, 32\]"),
    ):
        with raises(lib, RuntimeError, noun):
            layer(x, target)
