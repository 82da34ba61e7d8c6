"""Random tensors and generators above the door: seeds, states, histories, layouts."""

from __future__ import annotations

import copy
import pickle
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit

FILLS = (
    ("uniform_", (), "UniformBackward0"),
    ("normal_", (), "NormalBackward0"),
    ("bernoulli_", (), "BernoulliBackward2"),
    ("random_", (), "RandomBackward0"),
    ("exponential_", (), "ExponentialBackward0"),
    ("geometric_", (0.5,), "GeometricBackward0"),
    ("cauchy_", (), "CauchyBackward0"),
    ("log_normal_", (), "LogNormalBackward0"),
)


def test_seeds() -> None:
    assert nnkit.manual_seed(7) is nnkit.default_generator
    assert nnkit.initial_seed() == 7
    assert nnkit.seed() == nnkit.initial_seed() != 7
    nnkit.manual_seed("12")
    assert nnkit.initial_seed() == 12
    assert nnkit.manual_seed(-1).initial_seed() == 2**64 - 1
    with pytest.raises(ValueError, match="seed"):
        nnkit.manual_seed(2**64)
    with pytest.raises(RuntimeError, match="manual_seed expected a long, but got float"):
        nnkit.Generator().manual_seed(1.0)  # type: ignore[arg-type]


def test_states() -> None:
    nnkit.manual_seed(0)
    state = nnkit.get_rng_state()
    assert state.dtype is nnkit.uint8 and state.shape == (5056,)
    x = nnkit.randn(5)
    nnkit.set_rng_state(state)
    assert nnkit.equal(nnkit.randn(5), x)
    with pytest.raises(TypeError, match="new_state"):
        nnkit.set_rng_state(b"")  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="5056 bytes, got 3"):
        nnkit.set_rng_state(nnkit.zeros(3, dtype=nnkit.uint8))


def test_generator() -> None:
    g = nnkit.Generator("cpu")
    assert g.device == nnkit.device("cpu") and g.engine == "mt19937"
    assert "seed 67280421310721" in repr(g)
    x = nnkit.randn(3, generator=g.manual_seed(1))  # leaves half a pair waiting
    for twin in (g.clone_state(), copy.copy(g), copy.deepcopy(g), pickle.loads(pickle.dumps(g))):
        assert nnkit.equal(
            nnkit.randn(3, generator=twin), nnkit.randn(3, generator=g.clone_state())
        )
    assert nnkit.equal(nnkit.randn(3, generator=nnkit.Generator().manual_seed(1)), x)
    with pytest.raises(RuntimeError, match="cuda"):
        nnkit.Generator("cuda")
    with pytest.raises(TypeError, match="'generator' must be Generator, not int"):
        nnkit.rand(2, generator=3)


def test_fork_rng() -> None:
    nnkit.manual_seed(0)
    with nnkit.random.fork_rng():
        inside = nnkit.rand(2)
    assert nnkit.equal(nnkit.rand(2), inside)
    nnkit.manual_seed(0)
    with pytest.raises(KeyError), nnkit.random.fork_rng():
        nnkit.rand(2)
        raise KeyError
    assert nnkit.equal(nnkit.rand(2), inside)
    nnkit.manual_seed(0)
    with nnkit.random.fork_rng(enabled=False):
        nnkit.rand(2)
    assert not nnkit.equal(nnkit.rand(2), inside)


def test_philox_numbers_are_those_of_torch_on_cuda() -> None:
    """What torch prints on a GPU for ``manual_seed(0)``; many threads quote these numbers."""
    g = nnkit.Generator(engine="philox").manual_seed(0)
    uniform = nnkit.rand(10, generator=g)
    expected = [0.3990, 0.5167, 0.0249, 0.9401, 0.9459, 0.7967, 0.4150, 0.8203, 0.2290, 0.9096]
    np.testing.assert_allclose(uniform.numpy(), expected, atol=5e-5)
    normal = nnkit.randn(6, generator=g.manual_seed(0))
    expected = [-0.9247, -0.4253, -2.6438, 0.1452, -0.1209, -0.5797]
    np.testing.assert_allclose(normal.numpy(), expected, atol=5e-5)


@pytest.mark.parametrize(("method", "arguments", "node"), FILLS)
def test_filling_cuts_the_history(method: str, arguments: tuple, node: str) -> None:
    leaf = nnkit.ones(3, requires_grad=True)
    x = leaf * 2
    assert getattr(x, method)(*arguments) is x
    assert x._version == 1 and x.grad_fn.name() == node
    (x * x).sum().backward()
    assert leaf.grad.tolist() == [0, 0, 0]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        getattr(leaf, method)(*arguments)
    with nnkit.no_grad():
        getattr(leaf, method)(*arguments)
    assert leaf.requires_grad and leaf.is_leaf and leaf._version == 1


def test_a_saved_tensor_must_not_be_drawn_over() -> None:
    x = nnkit.ones(3)
    y = (nnkit.ones(3, requires_grad=True) * x).sum()
    x.normal_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_filling_a_view_writes_its_base() -> None:
    base = nnkit.zeros(4, 5)
    base[1:3, ::2].uniform_(1, 2)
    values = base.numpy()
    assert (values[1:3, ::2] >= 1).all() and values.sum() == values[1:3, ::2].sum()
    assert base._version == 1


def test_chances_as_a_tensor_have_a_zero_gradient() -> None:
    p = nnkit.full((3,), 0.5, requires_grad=True)
    x = nnkit.zeros(2, 3)
    x.bernoulli_(p)
    x.sum().backward()
    assert p.grad.tolist() == [0, 0, 0]


def test_distributions_of_tensors_have_zero_gradients() -> None:
    mean = nnkit.full((3, 1), 0.5, requires_grad=True)
    std = nnkit.full((4,), 0.5, requires_grad=True)
    for result, inputs in (
        (nnkit.normal(mean, std), (mean, std)),
        (nnkit.normal(mean, 1.0), (mean,)),
        (nnkit.normal(1.0, std), (std,)),
        (nnkit.bernoulli(mean), (mean,)),
        (nnkit.poisson(std), (std,)),
    ):
        for x, gradient in zip(inputs, nnkit.autograd.grad(result.sum(), inputs), strict=True):
            assert gradient.shape == x.shape and float(gradient.abs().sum()) == 0


def test_bounds_that_round() -> None:
    """float16 rounds 2**11 + 1 up: the ends of the range move inward, as torch moves them."""
    with pytest.warns(UserWarning, match="2\\^11"):
        x = nnkit.empty(1000, dtype=nnkit.float16).random_(4000, 4099)
    assert x.max() <= 4096 and x.min() >= 4000
    with pytest.raises(RuntimeError, match="out of bounds for float16"):
        nnkit.empty(2, dtype=nnkit.float16).random_(0, 70000)


def test_outputs_and_options() -> None:
    out = nnkit.empty(0)
    assert nnkit.rand(2, 3, out=out) is out and out.shape == (2, 3)
    out = nnkit.empty(3, dtype=nnkit.float64)
    assert nnkit.randint(5, (3,), out=out) is out and out.dtype is nnkit.float64
    assert nnkit.normal(nnkit.zeros(3), 1.0, out=nnkit.empty(3)).shape == (3,)
    assert nnkit.bernoulli(nnkit.ones(3), out=nnkit.empty(3)).tolist() == [1, 1, 1]
    assert nnkit.rand(2, requires_grad=True).is_leaf
    assert nnkit.randn_like(nnkit.ones(2), requires_grad=True).requires_grad
    assert nnkit.randperm(3, dtype=nnkit.float32, requires_grad=True).requires_grad
    with pytest.raises(TypeError, match="'layout' must be nnkit.layout"):
        nnkit.rand(2, layout="sparse_coo")
    with pytest.raises(TypeError, match="from_"):
        nnkit.empty(2).uniform_(from_=1)
    assert nnkit.empty(2).uniform_(**{"from": 3, "to": 3}).tolist() == [3, 3]
    assert nnkit.empty(2).random_(**{"from": 3, "to": 4}).tolist() == [3, 3]


def test_a_default_dtype() -> None:
    nnkit.set_default_dtype(nnkit.float64)
    try:
        assert nnkit.rand(2).dtype is nnkit.randn(2).dtype is nnkit.float64
    finally:
        nnkit.set_default_dtype(nnkit.float32)


# With torch


def both(torch: ModuleType, call: Any) -> tuple[np.ndarray, np.ndarray]:
    """What ``call(framework)`` gives, both started from one seed."""
    results = []
    for framework in (nnkit, torch):
        framework.manual_seed(5)
        results.append(call(framework).numpy())
    return results[0], results[1]


@pytest.mark.parametrize("shape", [(), (3,), (4, 4), (5, 7), (100, 30)])
@pytest.mark.parametrize("name", ["rand", "randn", "rand_like", "randn_like", "randint_like"])
def test_layouts_and_sizes(name: str, shape: tuple, torch: ModuleType) -> None:
    def call(framework: Any) -> Any:
        if not name.endswith("like"):
            return getattr(framework, name)(shape)
        like = framework.zeros(shape)
        bounds = (3, 9) if name == "randint_like" else ()
        return getattr(framework, name)(like.transpose(0, -1) if shape else like, *bounds)

    mine, theirs = both(torch, call)
    np.testing.assert_allclose(mine, theirs, 1e-6, 1e-7)


def test_a_long_mixture(torch: ModuleType) -> None:
    def call(f: Any) -> Any:
        parts = []
        for n in (3, 40, 7, 700):
            parts += [f.rand(n), f.randn(n), f.randint(9, (n,)), f.randperm(n), f.randn(n, 2).t()]
            parts += [f.multinomial(f.rand(n), 2, replacement=True), f.poisson(f.rand(n) * 20)]
            parts += [f.multinomial(f.rand(4, n), 1, replacement=True)]
            parts += [f.empty(n).cauchy_(), f.empty(n, 2)[:, 1].log_normal_(), f.randn(3)]
            parts += [
                f.normal(f.rand(n), f.rand(n)),
                f.bernoulli(f.rand(n)),
                f.rand(n).geometric_(0.2),
            ]
        return f.cat([p.reshape(-1).to(f.float64) for p in parts])

    mine, theirs = both(torch, call)
    np.testing.assert_allclose(mine, theirs, 1e-5, 1e-6)
    np.testing.assert_array_equal(
        nnkit.get_rng_state().numpy()[:5024], torch.get_rng_state().numpy()[:5024]
    )
