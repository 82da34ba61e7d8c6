"""Parametrizations, weight and spectral norm, pruning: the same numbers and keys as torch's."""

from __future__ import annotations

import copy
import warnings
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

import nnkit
from tests.frameworks import raises


def of(lib: ModuleType, name: str) -> Any:
    return import_module(f"{lib.__name__}.nn.utils.{name}")


def numbers(*tensors: Any) -> list[float]:
    return [x for t in tensors for x in t.detach().flatten().tolist()]


def trained(lib: ModuleType, layer: Any, *shape: int) -> list[Any]:
    """What two steps of training show: outputs, gradients by name, and the state."""
    x = lib.randn(*shape, dtype=next(layer.parameters()).dtype)
    optimizer = lib.optim.SGD(layer.parameters(), lr=0.1)
    seen: list[Any] = []
    for _ in range(2):
        optimizer.zero_grad()
        y = layer(x)
        (y * y).sum().backward()
        optimizer.step()
        for name, p in sorted(layer.named_parameters()):
            seen += [name, *numbers(p.grad)]
        seen += numbers(y)
    layer.eval()
    seen += numbers(layer(x))
    for key, value in layer.state_dict().items():
        seen += [key, *numbers(value)]
    return seen


def weight_norm(lib: ModuleType) -> list[Any]:
    norm = of(lib, "parametrizations").weight_norm
    seen = trained(lib, norm(lib.nn.Linear(2, 3)), 4, 2)
    seen += trained(lib, norm(lib.nn.Conv1d(2, 3, 2), dim=None), 1, 2, 5)
    return seen + trained(lib, norm(lib.nn.Conv1d(2, 3, 2), dim=1), 1, 2, 5)


def spectral_norm(lib: ModuleType) -> list[Any]:
    norm = of(lib, "parametrizations").spectral_norm
    seen = trained(lib, norm(lib.nn.Linear(4, 3), n_power_iterations=2), 2, 4)
    seen += trained(lib, norm(lib.nn.Linear(4, 3), "bias"), 2, 4)
    return seen + trained(lib, norm(lib.nn.ConvTranspose2d(2, 3, 2)), 1, 2, 3, 3)


def orthogonal(lib: ModuleType) -> list[Any]:
    make = of(lib, "parametrizations").orthogonal
    seen: list[Any] = []
    for sizes in ((3, 3), (2, 4), (4, 2)):
        for orthogonal_map in (None, "matrix_exp", "cayley", "householder"):
            for trivial in (True, False):
                layer = lib.nn.Linear(*sizes, dtype=lib.float64)
                make(layer, "weight", orthogonal_map, use_trivialization=trivial)
                seen += trained(lib, layer.double(), 2, sizes[0])
                try:
                    layer.weight = layer.weight.detach()
                    seen += numbers(layer.weight)
                except NotImplementedError:
                    seen.append("not assigned")
    return seen


def norms_by_hooks(lib: ModuleType) -> list[Any]:
    utils, nn = lib.nn.utils, lib.nn
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layer = utils.weight_norm(nn.Linear(2, 3))
    seen = trained(lib, layer, 4, 2)
    seen += numbers(utils.remove_weight_norm(layer).weight) + list(layer.state_dict())
    layer = utils.spectral_norm(nn.Linear(4, 3))
    seen += trained(lib, layer, 2, 4)
    seen += numbers(utils.remove_spectral_norm(layer).weight) + list(layer.state_dict())
    return seen + trained(lib, utils.spectral_norm(nn.ConvTranspose2d(2, 3, 2)), 1, 2, 3, 3)


def pruning(lib: ModuleType) -> list[Any]:
    prune, nn = of(lib, "prune"), lib.nn
    layer = prune.random_unstructured(nn.Linear(4, 3), "weight", 0.3)
    prune.l1_unstructured(layer, "bias", amount=1)
    seen = trained(lib, layer, 2, 4)
    prune.ln_structured(layer, "weight", amount=0.5, n=2, dim=0)
    prune.random_structured(layer, "weight", amount=1, dim=1)
    seen += numbers(layer.weight, layer.weight_mask) + [prune.is_pruned(layer)]
    prune.remove(layer, "weight")
    seen += list(layer.state_dict()) + numbers(layer.weight)
    one, other = nn.Linear(3, 3), nn.Linear(3, 2)
    pairs = [(one, "weight"), (other, "weight")]
    prune.global_unstructured(pairs, pruning_method=prune.L1Unstructured, amount=0.4)
    seen += numbers(one.weight_mask, other.weight_mask, other.weight)
    prune.custom_from_mask(other, "bias", lib.tensor([1, 0]))
    prune.identity(one, "bias")
    seen += numbers(other.bias, one.bias)
    scores = lib.arange(6.0).view(2, 3)
    prune.l1_unstructured(other, "weight", 2, importance_scores=scores)
    seen += numbers(other.weight)

    class EverySecond(prune.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def compute_mask(self, importances: Any, *, default_mask: Any) -> Any:
            mask = default_mask.clone()
            mask.view(-1)[::2] = 0
            return mask

    EverySecond.apply(other, "bias")
    seen += numbers(other.bias, EverySecond().prune(lib.ones(3)))
    method = prune.L1Unstructured(amount=2)
    return seen + numbers(method.prune(lib.tensor([3.0, -1.0, 2.0])))


@pytest.mark.parametrize(
    "program", [weight_norm, spectral_norm, orthogonal, norms_by_hooks, pruning]
)
def test_is_torchs(program: Any, torch: ModuleType) -> None:
    found = []
    for lib in (nnkit, torch):
        lib.manual_seed(0)
        found.append(program(lib))
    ours, theirs = found
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert one == (pytest.approx(other, rel=1e-4, abs=1e-6) if type(other) is float else other)


def pieces(lib: ModuleType) -> tuple[Any, Any]:
    class Symmetric(lib.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.triu() + x.triu(1).mT

    class Half(lib.nn.Module):
        def forward(self, x: Any) -> Any:
            return x / 2

        def right_inverse(self, x: Any) -> Any:
            return x * 2

    return Symmetric, Half


def test_registering_and_removing(lib: ModuleType) -> None:
    parametrize = of(lib, "parametrize")
    Symmetric, Half = pieces(lib)
    layer = lib.nn.Linear(3, 3)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    parametrize.register_parametrization(layer, "weight", Half())
    original = layer.parametrizations.weight.original
    assert list(layer.state_dict()) == ["bias", "parametrizations.weight.original"]
    assert lib.equal(layer.weight, (original.triu() + original.triu(1).mT) / 2)
    assert parametrize.is_parametrized(layer) and not parametrize.is_parametrized(layer, "bias")
    assert parametrize.type_before_parametrizations(layer) is lib.nn.Linear
    assert repr(layer).startswith("ParametrizedLinear(\n  in_features=3")
    with parametrize.cached():
        assert layer.weight is layer.weight
    twin = copy.deepcopy(layer)
    assert lib.equal(twin.weight, layer.weight)
    assert twin.parametrizations.weight.original is not original
    with raises(lib, RuntimeError, "Symmetric does not implement right_inverse"):
        layer.weight = lib.zeros(3, 3)
    with raises(lib, RuntimeError, "state_dict"):
        import_module("pickle").dumps(layer)
    value = layer.weight.detach()
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is lib.nn.Linear and lib.equal(layer.weight, value)
    assert isinstance(layer.weight, lib.nn.Parameter)


def test_assigning_goes_to_the_original(lib: ModuleType) -> None:
    parametrize = of(lib, "parametrize")
    layer = lib.nn.Linear(2, 2)
    layer.register_buffer("scale", lib.ones(2))
    start = layer.weight.tolist()
    parametrize.register_parametrization(layer, "weight", pieces(lib)[1]())
    parametrize.register_parametrization(layer, "scale", pieces(lib)[1]())
    assert layer.weight.tolist() == start and layer.scale.tolist() == [1, 1]
    layer.weight = lib.eye(2)
    assert layer.parametrizations.weight.original.tolist() == [[2, 0], [0, 2]]
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    assert layer.weight.tolist() == [[2, 0], [0, 2]]
    parametrize.remove_parametrizations(layer, "scale")
    assert list(dict(layer.named_buffers())) == ["scale"]


def test_spectral_norm_of_complex_weights(lib: ModuleType) -> None:
    layer = lib.nn.Linear(4, 3)
    matrix = (lib.arange(12.0) / 5 - 1).view(3, 4)
    layer.weight = lib.nn.Parameter(matrix * (1 + 0.5j) + 1j * matrix.flip(0))
    layer = of(lib, "parametrizations").spectral_norm(layer, n_power_iterations=50)
    largest = lib.linalg.svdvals(layer.weight.detach())[0]
    assert largest.item() == pytest.approx(1, rel=1e-5)


def test_old_checkpoints_of_weight_norm(lib: ModuleType) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        old = lib.nn.utils.weight_norm(lib.nn.Linear(2, 3))
    new = of(lib, "parametrizations").weight_norm(lib.nn.Linear(2, 3))
    new.load_state_dict(old.state_dict())
    assert lib.allclose(new.weight, old.weight)


def test_orthogonal_refuses(lib: ModuleType) -> None:
    make, layer = of(lib, "parametrizations").orthogonal, lib.nn.Linear(2, 3)
    with raises(lib, ValueError, "no parameter or buffer with name 'w'"):
        make(layer, "w")
    with raises(lib, ValueError, "1 dimensions"):
        make(layer, "bias")
    with raises(lib, ValueError, "orthogonal_map"):
        make(layer, "weight", "givens")
    make(layer)
    with raises(lib, ValueError, "shape"):
        layer.weight = lib.eye(2)
    layer.weight = lib.tensor([[1.0, 0.0], [0.0, -1.0], [0.0, 0.0]])
    assert lib.allclose(layer.weight, lib.tensor([[1.0, 0.0], [0.0, -1.0], [0.0, 0.0]]), atol=1e-6)


def test_refuses(lib: ModuleType) -> None:
    parametrize, norms, prune = (of(lib, n) for n in ("parametrize", "parametrizations", "prune"))
    nn, utils, layer = lib.nn, lib.nn.utils, lib.nn.Linear(2, 2)
    with raises(lib, ValueError, "does not have a parameter"):
        parametrize.register_parametrization(layer, "x", nn.Identity())
    with raises(lib, ValueError, "may not change the shape"):
        parametrize.register_parametrization(layer, "weight", nn.Flatten(0))
    with raises(lib, ValueError, "does not have a parametrization on weight"):
        parametrize.remove_parametrizations(nn.Linear(2, 2), "weight")
    with raises(lib, ValueError, "single original"):
        parametrize.remove_parametrizations(
            norms.weight_norm(nn.Linear(2, 2)), "weight", leave_parametrized=False
        )
    for norm in (norms.spectral_norm, utils.spectral_norm):
        with raises(lib, ValueError, "n_power_iterations must be positive"):
            norm(nn.Linear(2, 2), n_power_iterations=0)
    for remove in (utils.remove_weight_norm, utils.remove_spectral_norm):
        with raises(lib, ValueError, "not found in"):
            remove(nn.Linear(2, 2))
    with raises(lib, RuntimeError, "two spectral_norm hooks"):
        utils.spectral_norm(utils.spectral_norm(nn.Linear(2, 2)))
    for amount, error in ((1.5, ValueError), (99, ValueError), ("x", TypeError)):
        with raises(lib, error, "amount"):
            prune.l1_unstructured(nn.Linear(2, 2), "weight", amount)
    with raises(lib, ValueError, "multidimensional tensors"):
        prune.random_structured(nn.Linear(2, 2), "bias", amount=1, dim=0)
    with raises(lib, ValueError, "has to be pruned first"):
        prune.remove(nn.Linear(2, 2), "weight")


def test_a_pruning_method_that_raises_changes_nothing(lib: ModuleType) -> None:
    prune = of(lib, "prune")

    class Failing(prune.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def compute_mask(self, t: Any, default_mask: Any) -> Any:
            raise ArithmeticError

    layer = lib.nn.Linear(2, 2)
    with pytest.raises(ArithmeticError):
        Failing.apply(layer, "weight")
    assert {"weight", "bias"} == {name for name, _ in layer.named_parameters()}
    assert not layer._forward_pre_hooks and not list(layer.buffers())
    layer(lib.ones(2))


def test_a_spectral_norm_of_old_files(lib: ModuleType) -> None:
    """torch before 1.0 kept the weight itself, and not ``v``."""
    layer = lib.nn.utils.spectral_norm(lib.nn.Linear(3, 5))
    layer(lib.randn(2, 3))
    state = layer.state_dict()
    assert state._metadata[""] == {"version": 1, "spectral_norm": {"weight.version": 1}}
    old = dict(state)
    v = old.pop("weight_v").clone()
    old["weight"] = layer.weight.detach().clone()
    layer.weight_v.zero_()
    layer.load_state_dict(old)
    assert layer.weight_v.tolist() == pytest.approx(v.tolist(), abs=1e-5)
    plain = lib.nn.utils.remove_spectral_norm(layer)
    assert plain.state_dict()._metadata == {"": {"version": 1}}
    assert not plain._state_dict_hooks


def test_the_memory_format_of_convolutions_alone(lib: ModuleType) -> None:
    nn = lib.nn
    flat, deep = lib.channels_last, lib.channels_last_3d
    model = nn.Sequential(nn.Conv2d(2, 3, 3), nn.ConvTranspose2d(3, 2, 2), nn.Conv3d(2, 3, 2))
    assert nn.utils.convert_conv2d_weight_memory_format(model, flat) is model
    assert [layer.weight.is_contiguous(memory_format=flat) for layer in model[:2]] == [True] * 2
    assert model[2].weight.is_contiguous()
    nn.utils.convert_conv3d_weight_memory_format(model, deep)
    assert model[2].weight.is_contiguous(memory_format=deep)
    assert isinstance(model[0].weight, nn.Parameter)
