"""Convolution layers, and their lazy forms."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit
from tests.frameworks import raises

# (how to make it, the shape of an input)
LAYERS = [
    (lambda nn: nn.Conv1d(4, 6, 3), (2, 4, 9)),
    (lambda nn: nn.Conv1d(4, 6, 3, groups=2, bias=False), (4, 9)),
    (lambda nn: nn.Conv1d(4, 6, 4, padding="same", dilation=2, padding_mode="circular"), (2, 4, 9)),
    (lambda nn: nn.Conv2d(3, 4, 3, padding="valid"), (2, 3, 7, 6)),
    (lambda nn: nn.Conv2d(4, 4, (3, 5), 2, 1, 2, 2, False, "reflect"), (2, 4, 9, 9)),
    (lambda nn: nn.Conv2d(3, 4, (2, 3), padding=(1, 2), padding_mode="replicate"), (2, 3, 5, 5)),
    (lambda nn: nn.Conv2d(3, 4, 2, padding="same"), (2, 3, 5, 5)),
    (lambda nn: nn.Conv3d(2, 4, (1, 2, 3), stride=(1, 2, 1)), (1, 2, 3, 4, 5)),
    (lambda nn: nn.ConvTranspose1d(4, 6, 3, groups=2, bias=False, dilation=2), (2, 4, 5)),
    (lambda nn: nn.ConvTranspose2d(3, 4, 3, 2, 1, 1), (2, 3, 4, 4)),
    (lambda nn: nn.ConvTranspose3d(2, 3, 2, stride=2), (1, 2, 2, 3, 2)),
    (lambda nn: nn.LazyConv1d(6, 3), (2, 4, 9)),
    (lambda nn: nn.LazyConv2d(4, 3, 1, 1, groups=2), (4, 5, 5)),
    (lambda nn: nn.LazyConv3d(4, 2, bias=False), (1, 2, 3, 4, 5)),
    (lambda nn: nn.LazyConvTranspose1d(4, 3), (2, 4, 5)),
    (lambda nn: nn.LazyConvTranspose2d(4, 3, 2, 1, 1, dilation=2), (2, 3, 4, 4)),
    (lambda nn: nn.LazyConvTranspose3d(4, 2, padding_mode="zeros"), (1, 2, 2, 3, 2)),
]


@pytest.mark.filterwarnings("ignore:Using padding='same'")  # torch's, of its own copy
@pytest.mark.parametrize(("make", "shape"), LAYERS)
def test_layer_is_that_of_torch(torch: ModuleType, make: Any, shape: tuple) -> None:
    """By one seed the same weights to the bit, then the same outputs and gradients."""
    results = []
    data = np.random.standard_normal(shape).astype("float32")
    for lib in (nnkit, torch):
        lib.manual_seed(1)
        layer = make(lib.nn)
        texts = [repr(layer)]
        x = lib.from_numpy(data.copy()).requires_grad_()
        out = layer(x)
        (out * out).sum().backward()
        gradients = [x.grad, *(p.grad for p in layer.parameters())]
        state = {k: v.numpy() for k, v in layer.state_dict().items()}
        texts.append(repr(layer))
        results.append((texts, state, [t.detach().numpy() for t in (out, *gradients)]))
    (texts, state, arrays), (their_texts, their_state, their_arrays) = results
    assert texts == their_texts
    assert list(state) == list(their_state)
    for key, value in state.items():
        np.testing.assert_array_equal(value, their_state[key])
    for mine, theirs in zip(arrays, their_arrays, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-5)


def test_output_size(lib: ModuleType) -> None:
    up = lib.nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1)
    x = lib.zeros(1, 2, 6, 5)
    assert up(x).shape == (1, 3, 11, 9)
    assert up(x, output_size=(12, 10)).shape == (1, 3, 12, 10)
    assert up(x, output_size=[1, 3, 11, 10]).shape == (1, 3, 11, 10)
    for size in ((13, 10), (10, 9), (12,)):
        with raises(lib, ValueError, "output_size"):
            up(x, output_size=size)


@pytest.mark.parametrize(
    ("make", "noun"),
    [
        (lambda nn: nn.Conv2d(3, 4, 3, groups=2), "in_channels"),
        (lambda nn: nn.Conv2d(4, 3, 3, groups=2), "out_channels"),
        (lambda nn: nn.Conv2d(3, 4, 3, groups=0), "groups"),
        (lambda nn: nn.Conv1d(3, 4, 3, padding="full"), "padding"),
        (lambda nn: nn.Conv1d(3, 4, 3, 2, padding="same"), "stride"),
        (lambda nn: nn.Conv3d(3, 4, 3, padding_mode="mirror"), "padding_mode"),
        (lambda nn: nn.ConvTranspose2d(3, 4, 3, padding_mode="reflect"), "padding_mode"),
        (lambda nn: nn.LazyConv2d(4, 3, groups=2)(nnkit.zeros(1, 3, 5, 5)), "in_channels"),
    ],
)
def test_wrong_arguments(make: Any, noun: str) -> None:
    with pytest.raises(ValueError, match=noun):
        make(nnkit.nn)


def test_lazy(lib: ModuleType) -> None:
    layer = lib.nn.LazyConv2d(4, 3)
    assert layer.has_uninitialized_params() and layer.in_channels == 0
    with raises(lib, RuntimeError, "dimensions"):
        layer(lib.zeros(3, 3))
    layer(lib.zeros(1, 2, 5, 5))
    assert type(layer) is lib.nn.Conv2d
    assert layer.in_channels == 2 and layer.weight.shape == (4, 2, 3, 3)
    with raises(lib, RuntimeError, "channels"):
        layer(lib.zeros(1, 3, 5, 5))


def test_lazy_loads_a_state_dict(lib: ModuleType) -> None:
    source, lazy = lib.nn.Conv1d(2, 4, 3), lib.nn.LazyConv1d(4, 3)
    lazy.load_state_dict(source.state_dict())
    x = lib.ones(1, 2, 6)
    assert lazy(x).tolist() == source(x).tolist()


def test_graph(lib: ModuleType) -> None:
    """One node for the product and its bias, as torch has."""
    out = lib.nn.Conv2d(1, 2, 3)(lib.zeros(1, 1, 5, 5))
    assert out.grad_fn.name() == "ConvolutionBackward0"
    assert len(out.grad_fn.next_functions) == 3


def test_dtype_of_parameters(lib: ModuleType) -> None:
    layer = lib.nn.Conv1d(1, 2, 3, dtype=lib.float64)
    assert {p.dtype for p in layer.parameters()} == {lib.float64}
    assert layer(lib.zeros(1, 1, 5, dtype=lib.float64)).dtype is lib.float64


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_gradients_as_functions(torch: ModuleType, axes: int) -> None:
    """Those of `nnkit.nn.grad` are what backward gives, and have gradients themselves."""
    options = {"stride": 2, "padding": 1, "dilation": 2, "groups": 2}
    shapes = ((2, 4, *(9, 8, 7)[:axes]), (6, 2, *(2, 3, 2)[:axes]))
    data = [np.random.standard_normal(shape) for shape in shapes]
    results = []
    for lib in (nnkit, torch):
        x, weight = (lib.from_numpy(d).requires_grad_() for d in data)
        out = getattr(lib.nn.functional, f"conv{axes}d")(x, weight, None, **options)
        g = out.detach().cos()
        expected = lib.autograd.grad(out, (x, weight), g)
        of_input, of_weight = (
            getattr(lib.nn.grad, f"conv{axes}d_{n}") for n in ("input", "weight")
        )
        found = [of_input(x.shape, weight, g, **options), of_weight(x, weight.shape, g, **options)]
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours.detach().numpy(), theirs.numpy(), rtol=1e-10)
        total = (found[0] ** 2).sum() + (found[1] ** 2).sum()
        results.append([t.numpy() for t in lib.autograd.grad(total, (x, weight))])
        with raises(lib, RuntimeError, "grad_output" if lib is nnkit else ""):
            of_input(x.shape, weight, g[..., :1, :], **options) if axes > 1 else of_input(
                x.shape, weight, g[..., :1], **options
            )
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)


@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_no_channels(axes: int) -> None:
    layer = getattr(nnkit.nn, f"Conv{axes}d")(0, 8, 2, stride=2)
    x = nnkit.randn(2, 0, *(6,) * axes).requires_grad_()
    layer(x).sum().backward()
    assert x.grad is not None and x.grad.shape == x.shape
    assert layer.weight.grad.shape == layer.weight.shape
