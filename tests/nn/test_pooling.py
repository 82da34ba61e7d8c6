"""Pooling, padding and folding layers."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit
from tests.frameworks import raises

LAYERS = [
    (lambda nn: nn.MaxPool1d(2), (2, 3, 7)),
    (lambda nn: nn.MaxPool2d((2, 3), 2, 1, 1, False, True), (2, 3, 7, 6)),
    (lambda nn: nn.MaxPool3d(2, return_indices=True), (1, 2, 4, 5, 6)),
    (lambda nn: nn.AvgPool1d(2), (2, 3, 7)),
    (lambda nn: nn.AvgPool1d((3,), 1, 1, True, False), (3, 7)),
    (lambda nn: nn.AvgPool2d(2, 1, 1, True, False, 3), (2, 3, 5, 6)),
    (lambda nn: nn.AvgPool3d((1, 2, 3)), (1, 2, 4, 5, 6)),
    (lambda nn: nn.LPPool1d(1.5, 3, 2, True), (2, 3, 8)),
    (lambda nn: nn.LPPool2d(2, 3), (2, 3, 7, 6)),
    (lambda nn: nn.LPPool3d(3, 2), (1, 2, 4, 4, 4)),
    (lambda nn: nn.AdaptiveAvgPool1d(3), (2, 3, 7)),
    (lambda nn: nn.AdaptiveAvgPool2d((None, 3)), (2, 3, 7, 6)),
    (lambda nn: nn.AdaptiveAvgPool3d(1), (2, 3, 4, 5, 6)),
    (lambda nn: nn.AdaptiveMaxPool1d(3, True), (2, 3, 7)),
    (lambda nn: nn.AdaptiveMaxPool2d(2), (2, 3, 7, 6)),
    (lambda nn: nn.AdaptiveMaxPool3d((2, None, 3)), (2, 3, 4, 5, 6)),
    (lambda nn: nn.FractionalMaxPool2d(2, output_ratio=0.5), (2, 3, 9, 8)),
    (lambda nn: nn.FractionalMaxPool3d(2, output_size=(2, 3, 4)), (1, 2, 7, 8, 9)),
    (lambda nn: nn.ConstantPad1d(2, 3.5), (2, 3, 4)),
    (lambda nn: nn.ConstantPad2d((1, 2, -1, 0), 1), (2, 3, 4, 5)),
    (lambda nn: nn.ConstantPad3d(1, 2), (1, 2, 3, 4, 5)),
    (lambda nn: nn.ZeroPad1d((1, 2)), (2, 3, 4)),
    (lambda nn: nn.ZeroPad2d(2), (2, 3, 4, 5)),
    (lambda nn: nn.ZeroPad3d(1), (1, 2, 3, 4, 5)),
    (lambda nn: nn.ReflectionPad1d((1, 2)), (2, 3, 4)),
    (lambda nn: nn.ReflectionPad2d(2), (3, 4, 5)),
    (lambda nn: nn.ReflectionPad3d(1), (1, 2, 3, 4, 5)),
    (lambda nn: nn.ReplicationPad1d((5, 1)), (2, 3, 4)),
    (lambda nn: nn.ReplicationPad2d(2), (2, 3, 4, 5)),
    (lambda nn: nn.ReplicationPad3d((1, 2, 0, 1, 2, 0)), (1, 2, 3, 4, 5)),
    (lambda nn: nn.CircularPad1d((1, 2)), (2, 3, 4)),
    (lambda nn: nn.CircularPad2d((1, 0, 2, 3)), (2, 3, 4, 5)),
    (lambda nn: nn.CircularPad3d(1), (1, 2, 3, 4, 5)),
    (lambda nn: nn.Unfold((2, 3), 1, (1, 0)), (2, 3, 4, 5)),
    (lambda nn: nn.Fold(4, 2), (2, 12, 9)),
    (lambda nn: nn.PixelShuffle(2), (2, 8, 3, 4)),
    (lambda nn: nn.PixelUnshuffle(2), (2, 3, 4, 6)),
    (lambda nn: nn.ChannelShuffle(2), (2, 4, 3)),
]


def test_padding_with_zeros_is_padding_with_a_constant(lib: ModuleType) -> None:
    for name in ("Pad1d", "Pad2d", "Pad3d"):
        zeros = getattr(lib.nn, f"Zero{name}")(1)
        assert isinstance(zeros, getattr(lib.nn, f"Constant{name}")) and zeros.value == 0


@pytest.mark.parametrize(("make", "shape"), LAYERS)
def test_layer_is_that_of_torch(torch: ModuleType, make: Any, shape: tuple) -> None:
    results = []
    data = np.random.uniform(0.1, 1.0, shape).astype("float32")
    for lib in (nnkit, torch):
        lib.manual_seed(1)
        layer = make(lib.nn)
        x = lib.from_numpy(data.copy()).requires_grad_()
        outputs = layer(x)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        (outputs[0] * outputs[0]).sum().backward()
        arrays = [t.detach().numpy() for t in (*outputs, x.grad)]
        results.append((repr(layer), list(layer.state_dict()), arrays))
    (text, keys, arrays), (their_text, their_keys, their_arrays) = results
    assert (text, keys) == (their_text, their_keys)
    for mine, theirs in zip(arrays, their_arrays, strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_unpool_inverts_pool(lib: ModuleType, axes: int) -> None:
    pool = getattr(lib.nn, f"MaxPool{axes}d")(2, stride=2, return_indices=True)
    unpool = getattr(lib.nn, f"MaxUnpool{axes}d")(2, stride=2)
    x = lib.arange(1.0, 5.0**axes + 1).reshape(1, 1, *(5,) * axes)
    pooled, indices = pool(x)
    back = unpool(pooled, indices, output_size=x.shape)
    assert back.shape == x.shape
    assert back[back != 0].tolist() == pooled.flatten().tolist()
    even = lib.arange(1.0, 4.0**axes + 1).reshape(1, 1, *(4,) * axes)
    assert unpool(*pool(even)).shape == even.shape
    text = f"MaxUnpool{axes}d(kernel_size={(2,) * axes}, stride={(2,) * axes}, "
    assert repr(unpool) == f"{text}padding={(0,) * axes})"


def test_fractional_arguments(lib: ModuleType) -> None:
    for arguments in ({}, {"output_size": 2, "output_ratio": 0.5}, {"output_ratio": 1.5}):
        with raises(lib, ValueError, "output_"):
            lib.nn.FractionalMaxPool2d(2, **arguments)


def test_adaptive_pools_to_nothing(lib: ModuleType) -> None:
    x = lib.ones(1, 2, 3, 3)
    assert lib.nn.functional.adaptive_avg_pool2d(x, 0).shape == (1, 2, 0, 0)
    assert lib.nn.functional.adaptive_max_pool2d(x, (0, 2)).shape == (1, 2, 0, 2)


def test_gradient_goes_to_the_first_of_ties(lib: ModuleType) -> None:
    x = lib.ones(1, 1, 2, 4, requires_grad=True)
    lib.nn.MaxPool2d(2)(x).sum().backward()
    assert x.grad.flatten().tolist() == [1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]


def test_overlapping_windows_add_their_gradients(lib: ModuleType) -> None:
    x = lib.tensor([[[1.0, 3.0, 2.0]]], requires_grad=True)
    lib.nn.MaxPool1d(2, stride=1)(x).sum().backward()
    assert x.grad.tolist() == [[[0.0, 2.0, 0.0]]]


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("kind", ["Avg", "Max"])
def test_one_sample_of_no_channels_is_taken_for_a_batch_of_none(kind: str, axes: int) -> None:
    layer = getattr(nnkit.nn, f"Adaptive{kind}Pool{axes}d")(3)
    assert layer(nnkit.ones(0, *(6,) * axes)).shape == (0, *(3,) * axes)
