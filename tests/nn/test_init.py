"""Initial values: torch's numbers for the same seed, the promised distribution, the errors."""

from __future__ import annotations

import inspect
import math
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit
from nnkit import nn

CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("uniform_", {}),
    ("uniform_", {"a": -1.0, "b": 3.0}),
    ("normal_", {}),
    ("normal_", {"mean": 1.0, "std": 0.5}),
    ("trunc_normal_", {}),
    ("trunc_normal_", {"std": 0.02, "a": -0.03, "b": 0.01}),
    ("trunc_normal_", {"mean": 1.0, "a": 1.1, "b": 1.3}),
    ("trunc_normal_", {"std": 10.0, "a": 15.0, "b": 18.0}),
    ("xavier_uniform_", {}),
    ("xavier_uniform_", {"gain": 2.0}),
    ("xavier_normal_", {}),
    ("xavier_normal_", {"gain": 2.0}),
    ("kaiming_uniform_", {}),
    ("kaiming_uniform_", {"a": math.sqrt(5)}),
    ("kaiming_uniform_", {"mode": "fan_out", "nonlinearity": "relu"}),
    ("kaiming_normal_", {}),
    ("kaiming_normal_", {"mode": "fan_out", "nonlinearity": "tanh"}),
    ("orthogonal_", {}),
    ("orthogonal_", {"gain": 2.0}),
    ("sparse_", {"sparsity": 0.3}),
    ("sparse_", {"sparsity": 0.5, "std": 2.0}),
    ("constant_", {"val": 3.0}),
    ("ones_", {}),
    ("zeros_", {}),
    ("eye_", {}),
    ("dirac_", {}),
    ("dirac_", {"groups": 2}),
)
SHAPES = {
    "sparse_": [(7, 4), (1, 1)],
    "eye_": [(3, 3), (2, 5)],
    "dirac_": [(4, 2, 3), (4, 6, 3, 4), (2, 2, 3, 3, 3)],
    "orthogonal_": [(5, 3), (3, 5), (4, 2, 3), (2, 2)],
}
GENERATED = [
    name for name, f in inspect.getmembers(nn.init, inspect.isfunction)
    if name.endswith("_") and "generator" in inspect.signature(f).parameters
]  # fmt: skip
DEPRECATED = [name for name in nn.init.__all__ if name + "_" in nn.init.__all__]
KNOWN = "linear conv1d conv2d conv3d conv_transpose2d sigmoid tanh relu leaky_relu selu".split()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "options"), CALLS)
def test_torchs_numbers(name: str, options: dict, dtype: str, torch: ModuleType) -> None:
    for shape in SHAPES.get(name, [(5, 3), (6, 4, 3, 3)]):
        results = []
        for framework in (nnkit, torch):
            framework.manual_seed(3)
            x = framework.empty(shape, dtype=getattr(framework, dtype), requires_grad=True)
            assert getattr(framework.nn.init, name)(x, **options) is x
            assert x.is_leaf and x.requires_grad
            results.append((x.detach().numpy(), framework.get_rng_state().numpy()))
        (mine, state), (theirs, other) = results
        last = name == "orthogonal_"  # LAPACK's last bits
        atol = 0.0 if not last else 1e-6 if dtype == "float32" else 1e-14
        np.testing.assert_allclose(mine, theirs, 0, atol)
        np.testing.assert_array_equal(state[:5024], other[:5024])


@pytest.mark.parametrize("name", GENERATED)
def test_a_generator_of_ones_own(name: str, torch: ModuleType) -> None:
    results = []
    options = {"sparsity": 0.5} if name == "sparse_" else {}
    for framework in (nnkit, torch):
        framework.manual_seed(3)
        generator = framework.Generator().manual_seed(4)
        x = getattr(framework.nn.init, name)(framework.empty(5, 4), **options, generator=generator)
        results.append(x.numpy())
    np.testing.assert_allclose(results[0], results[1], 2e-6, 1e-6)


def test_every_name_of_torchs(torch: ModuleType) -> None:
    theirs = {n for n, f in inspect.getmembers(torch.nn.init, inspect.isfunction) if n[0] != "_"}
    assert theirs <= set(nn.init.__all__)


@pytest.mark.parametrize("name", KNOWN)
def test_gains(name: str, torch: ModuleType) -> None:
    assert nn.init.calculate_gain(name) == torch.nn.init.calculate_gain(name)
    assert nn.init.calculate_gain(name, 0.3) == torch.nn.init.calculate_gain(name, 0.3)


def test_distributions() -> None:
    nnkit.manual_seed(0)
    weight = nnkit.empty(400, 100)
    for fill, std in (
        (nn.init.xavier_normal_, math.sqrt(2 / 500)),
        (nn.init.xavier_uniform_, math.sqrt(2 / 500)),
        (nn.init.kaiming_normal_, math.sqrt(2 / 100)),
        (nn.init.kaiming_uniform_, math.sqrt(2 / 100)),
    ):
        values = fill(weight).numpy()
        assert abs(values.std() / std - 1) < 0.02 and abs(values.mean()) < 0.02 * std
    truncated = nn.init.trunc_normal_(weight, 0.0, 1.0, 0.5, 1.5).numpy()
    assert truncated.min() >= 0.5 and truncated.max() <= 1.5
    columns = nn.init.sparse_(weight, 0.1).numpy()
    assert ((columns == 0).sum(axis=0) == 40).all()


@pytest.mark.parametrize(
    ("name", "shape", "options", "noun"),
    [
        ("eye_", (3,), {}, "2 dimensions"),
        ("sparse_", (3,), {"sparsity": 0.1}, "2 dimensions"),
        ("dirac_", (3, 3), {}, "3, 4, or 5 dimensions"),
        ("dirac_", (3, 3, 3), {"groups": 2}, "divisible by groups"),
        ("orthogonal_", (3,), {}, "2 or more dimensions"),
        ("xavier_uniform_", (3,), {}, "fewer than 2 dimensions"),
        ("kaiming_uniform_", (3,), {}, "fewer than 2 dimensions"),
        ("kaiming_uniform_", (3, 3), {"mode": "fan"}, "Mode fan not supported"),
        ("kaiming_normal_", (3, 3), {"nonlinearity": "sine"}, "Unsupported nonlinearity sine"),
        ("kaiming_normal_", (3, 3), {"a": True}, "negative_slope True not a valid number"),
    ],
)
def test_errors(name: str, shape: tuple, options: dict, noun: str) -> None:
    with pytest.raises(ValueError, match=noun):
        getattr(nn.init, name)(nnkit.empty(shape), **options)


def test_warnings() -> None:
    with pytest.warns(UserWarning, match="zero-element"):
        nn.init.kaiming_uniform_(nnkit.empty(0, 3))
    with pytest.warns(UserWarning, match="more than 2 std"):
        nn.init.trunc_normal_(nnkit.empty(3), 5.0, 1.0, -1.0, 1.0)
    assert nn.init.orthogonal_(nnkit.empty(0, 3)).shape == (0, 3)


@pytest.mark.parametrize(
    "name", [name for name in nn.init.__all__ if name + "_" in nn.init.__all__]
)
def test_deprecated_names(name: str) -> None:
    shape = (2, 2, 2) if name == "dirac" else (2, 2)
    options = {"constant": {"val": 1.0}, "sparse": {"sparsity": 0.5}}.get(name, {})
    with pytest.warns(FutureWarning, match=f"`nn.init.{name}` is now deprecated"):
        getattr(nn.init, name)(nnkit.empty(shape), **options)


@pytest.mark.parametrize(
    "name, given, told",
    [
        ("uniform_", (0.0, 2.0), ["tensor", "a", "b", "generator"]),
        ("normal_", (), ["tensor", "mean", "std", "generator"]),
        ("constant_", (3.0,), ["tensor", "val"]),
        ("kaiming_uniform_", (), ["tensor", "a", "mode", "nonlinearity", "generator"]),
    ],
)
def test_a_mode_may_leave_memory_as_it_is(
    name: str, given: tuple, told: list[str], lib: ModuleType
) -> None:
    calls = []

    class Leave(lib.overrides.TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            calls.append((func, args, list(kwargs)))
            return kwargs["tensor"]

    fill = getattr(lib.nn.init, name)
    x = lib.ones(2, 2)
    with Leave():
        assert fill(x, *given) is x
    assert calls == [(fill, (), told)] and x.tolist() == [[1.0, 1.0], [1.0, 1.0]]
