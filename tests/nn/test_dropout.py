"""The dropout layers: torch's masks in every layout, identity in evaluation, warnings."""

from __future__ import annotations

import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit
from nnkit import nn
from tests.random_cases import draws_from_mkl

LAYERS = {
    "Dropout": (4, 5, 3),
    "Dropout1d": (4, 5, 3),
    "Dropout2d": (4, 5, 3, 2),
    "Dropout3d": (4, 5, 3, 2, 2),
    "AlphaDropout": (4, 5, 3),
    "FeatureAlphaDropout": (4, 5, 3),
}
EACH = pytest.mark.parametrize(("name", "shape"), LAYERS.items())


@pytest.fixture(scope="module")
def portable(torch: ModuleType) -> ModuleType:
    """torch, where it draws the masks that it draws on most machines."""
    if draws_from_mkl(torch):
        pytest.skip("torch on Intel processors draws masks from MKL")
    return torch


@EACH
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_torchs_masks(name: str, shape: tuple, dtype: str, portable: ModuleType) -> None:
    for p in (0.2, 0.5, 0.9):
        results = []
        for framework in (nnkit, portable):
            framework.manual_seed(1)
            layer = getattr(framework.nn, name)(p)
            x = framework.linspace(-1, 1, int(np.prod(shape)), dtype=framework.float32)
            x = x.to(getattr(framework, dtype)).reshape(shape)
            out = [layer(x), layer(x.transpose(0, 1)), layer(x[:, ::2])]
            results.append([o.to(framework.float64).numpy() for o in out])
        for mine, theirs in zip(*results, strict=True):
            np.testing.assert_allclose(mine, theirs, 1e-6, 1e-7)


@EACH
def test_evaluation_and_chance_zero(name: str, shape: tuple) -> None:
    x = nnkit.ones(shape)
    assert getattr(nn, name)(0.7).eval()(x) is x or name in ("Dropout1d", "Dropout3d")
    assert nnkit.equal(getattr(nn, name)(0.0)(x), x)
    assert float(getattr(nn, name)(1.0)(x).abs().sum()) == 0


@EACH
def test_construction(name: str, shape: tuple) -> None:
    assert repr(getattr(nn, name)(0.3)) == f"{name}(p=0.3, inplace=False)"
    for p in (-0.1, 1.1):
        with pytest.raises(ValueError, match=f"between 0 and 1, but got {p}"):
            getattr(nn, name)(p)


@pytest.mark.parametrize("name", ["Dropout", "Dropout1d", "Dropout2d", "Dropout3d"])
def test_in_place(name: str) -> None:
    x = nnkit.ones(LAYERS[name])
    nnkit.manual_seed(0)
    expected = getattr(nn, name)(0.5)(x)
    nnkit.manual_seed(0)
    assert getattr(nn, name)(0.5, inplace=True)(x) is x
    assert nnkit.equal(x, expected) and x._version == 1


def test_whole_channels_fall_out() -> None:
    kept = nn.Dropout2d(0.5)(nnkit.ones(8, 8, 5, 5)).numpy().reshape(64, 25)
    assert set(kept[:, 0].tolist()) == {0.0, 2.0} and (kept == kept[:, :1]).all()


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    nnkit.manual_seed(0)
    out = nn.AlphaDropout(0.3)(nnkit.randn(100_000)).numpy()
    assert abs(out.mean()) < 0.02 and abs(out.std() - 1) < 0.02


@pytest.mark.parametrize(
    ("name", "shape", "noun"),
    [
        ("dropout2d", (4, 5, 3), "3D input to dropout2d"),
        ("dropout2d", (4, 5), "2-D input to dropout2d"),
        ("dropout3d", (4, 5, 3), "3-D input to dropout3d"),
    ],
)
def test_warnings(name: str, shape: tuple, noun: str, portable: ModuleType) -> None:
    def call(framework: Any) -> np.ndarray:
        framework.manual_seed(2)
        return getattr(framework.nn.functional, name)(framework.ones(shape), 0.5).numpy()

    with pytest.warns(UserWarning, match=noun):
        mine = call(nnkit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(mine, call(portable))
