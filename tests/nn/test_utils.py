"""nn.utils: clipping of gradients, parameters as a vector."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import pytest

from tests.frameworks import raises


def parameters(lib: ModuleType) -> list[Any]:
    """Three parameters, with gradients (3, 4), none, and ((12,),)."""
    made = [lib.nn.Parameter(lib.zeros(2)), lib.nn.Parameter(lib.zeros(1))]
    made.append(lib.nn.Parameter(lib.zeros(1, 1)))
    made[0].grad = lib.tensor([3.0, 4.0])
    made[2].grad = lib.tensor([[-12.0]])
    return made


@pytest.mark.parametrize(
    ("norm_type", "norm"), [(2.0, 13.0), (1, 19.0), (math.inf, 12.0), (3, 1819 ** (1 / 3))]
)
def test_clip_grad_norm(lib: ModuleType, norm_type: float, norm: float) -> None:
    given = parameters(lib)
    total = lib.nn.utils.clip_grad_norm_(iter(given), norm / 2, norm_type)
    assert total.item() == pytest.approx(norm, rel=1e-6)
    assert given[0].grad.tolist() == pytest.approx([1.5, 2.0], rel=1e-5)
    assert given[1].grad is None
    before = given[2].grad.tolist()
    lib.nn.utils.clip_grad_norm_(given, 1e9, norm_type)
    assert given[2].grad.tolist() == before


def test_clip_grad_norm_of_one(lib: ModuleType) -> None:
    given = parameters(lib)[0]
    assert lib.nn.utils.clip_grad_norm_(given, 1.0).item() == 5.0
    assert given.grad.tolist() == pytest.approx([0.6, 0.8], rel=1e-5)


def test_clip_grad_norm_of_none(lib: ModuleType) -> None:
    assert lib.nn.utils.clip_grad_norm_([lib.nn.Parameter(lib.zeros(1))], 1.0).item() == 0.0
    assert lib.nn.utils.get_total_norm([]).item() == 0.0


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_norm_not_finite(lib: ModuleType, bad: float) -> None:
    given = parameters(lib)
    given[0].grad[0] = bad
    with raises(lib, RuntimeError, "is non-finite"):
        lib.nn.utils.clip_grad_norm_(given, 1.0, error_if_nonfinite=True)
    assert given[2].grad.item() == -12.0
    assert not math.isfinite(lib.nn.utils.clip_grad_norm_(given, 1.0).item())


def test_norm_and_scaling_apart(lib: ModuleType) -> None:
    given = parameters(lib)
    norm = lib.nn.utils.get_total_norm([p.grad for p in given if p.grad is not None])
    assert norm.item() == 13.0
    lib.nn.utils.clip_grads_with_norm_(given, 6.5, norm)
    assert given[2].grad.item() == pytest.approx(-6.0, rel=1e-6)


def test_clip_grad_value(lib: ModuleType) -> None:
    given = parameters(lib)
    lib.nn.utils.clip_grad_value_(given, 3.5)
    assert given[0].grad.tolist() == [3.0, 3.5] and given[2].grad.item() == -3.5
    lib.nn.utils.clip_grad_value_(given[0], 1)
    assert given[0].grad.tolist() == [1.0, 1.0]


def test_parameters_to_vector(lib: ModuleType) -> None:
    layer = lib.nn.Linear(2, 1)
    vector = lib.nn.utils.parameters_to_vector(layer.parameters())
    assert vector.tolist() == [*layer.weight.tolist()[0], layer.bias.item()]
    vector.sum().backward()
    assert layer.weight.grad.tolist() == [[1.0, 1.0]]


def test_vector_to_parameters(lib: ModuleType) -> None:
    layer = lib.nn.Linear(2, 1)
    vector = lib.tensor([1.0, 2.0, 3.0])
    lib.nn.utils.vector_to_parameters(vector, layer.parameters())
    assert layer.weight.tolist() == [[1.0, 2.0]] and layer.bias.tolist() == [3.0]
    assert layer.weight.requires_grad and layer.weight.is_leaf
    vector[0] = 7.0
    assert layer.weight.tolist() == [[7.0, 2.0]]
    with raises(lib, TypeError, "vec must be a Tensor, got list"):
        lib.nn.utils.vector_to_parameters([1.0], layer.parameters())


def batch_norm(lib: ModuleType, kind: str, size: int, **options: Any) -> Any:
    made = getattr(lib.nn, kind)(size, **options).eval()
    for tensor in (made.running_mean, made.running_var, made.weight, made.bias):
        if tensor is not None:
            tensor.data = lib.rand(tensor.shape) + 0.5
    return made


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("kind", ["conv", "transpose", "linear", "one feature"])
def test_fusion(lib: ModuleType, kind: str, affine: bool, bias: bool) -> None:
    if kind in ("linear", "one feature"):
        if lib.__name__ == "torch" and not affine:
            pytest.skip("torch fuses a Linear with an affine batch norm only")
        layer = lib.nn.Linear(3, 4 if kind == "linear" else 1, bias=bias).eval()
        bn = batch_norm(lib, "BatchNorm1d", 4 if kind == "linear" else 1, affine=affine)
        fused = lib.nn.utils.fuse_linear_bn_eval(layer, bn)
        x = lib.rand(5, 3)
    else:
        make = lib.nn.Conv2d if kind == "conv" else lib.nn.ConvTranspose2d
        layer = make(2, 4, 3, bias=bias).eval()
        bn = batch_norm(lib, "BatchNorm2d", 4, affine=affine)
        fused = lib.nn.utils.fuse_conv_bn_eval(layer, bn, transpose=kind == "transpose")
        x = lib.rand(2, 2, 5, 5)
    assert type(fused) is type(layer) and fused.weight is not layer.weight
    assert lib.allclose(fused(x), bn(layer(x)), rtol=1e-4, atol=1e-5)
    assert fused.weight.requires_grad and fused.bias.requires_grad is bias


def test_fusion_refuses(lib: ModuleType) -> None:
    nn = lib.nn
    conv, linear, bn = nn.Conv2d(1, 2, 3), nn.Linear(1, 2), nn.BatchNorm2d(2)
    for fuse, layer in ((nn.utils.fuse_conv_bn_eval, conv), (nn.utils.fuse_linear_bn_eval, linear)):
        with raises(lib, AssertionError, "must be in evaluation mode"):
            fuse(layer, bn)
        layer.eval()
        with raises(lib, AssertionError, "no running statistics"):
            fuse(layer, nn.BatchNorm2d(2, track_running_stats=False).eval())
    with raises(lib, RuntimeError, "Conv2d has 2 outputs, BatchNorm2d takes 3"):
        nn.utils.fuse_conv_bn_eval(conv, nn.BatchNorm2d(3).eval())
    with raises(lib, AssertionError, "Linear has 2 outputs, BatchNorm1d takes 3"):
        nn.utils.fuse_linear_bn_eval(linear, nn.BatchNorm1d(3).eval())


def test_a_generator_that_was_used_up(lib: ModuleType) -> None:
    made = (p for p in parameters(lib))
    lib.nn.utils.clip_grad_norm_(made, 1.0)
    with pytest.warns(UserWarning, match="empty generator"):
        lib.nn.utils.clip_grad_norm_(made, 1.0)
    assert lib.nn.utils.clip_grad_norm_([], 1.0).item() == 0.0
