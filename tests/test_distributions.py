"""Distributions: torch's draws, densities, moments, divergences and refusals."""

from __future__ import annotations

import math
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

import nnkit
from tests.frameworks import raises


def dist(lib: ModuleType) -> Any:
    found = import_module(f"{lib.__name__}.distributions")
    found.Distribution.set_default_validate_args(True)  # torch's compiler turns it off
    return found


# Each makes a distribution d from the module f of tensors; the second gives a value.
CASES: dict[str, tuple[Any, Any]] = {
    "Normal": (lambda d, f: d.Normal(f.tensor([0.0, 1.0]), 2.0), lambda f: f.tensor([0.1, 0.2])),
    "LogNormal": (lambda d, f: d.LogNormal(0.5, 0.7), lambda f: f.tensor(1.3)),
    "covariance": (
        lambda d, f: d.MultivariateNormal(f.zeros(3), f.eye(3) * 2 + 0.1), lambda f: f.ones(3),
    ),
    "precision": (
        lambda d, f: d.MultivariateNormal(
            f.zeros(2), precision_matrix=f.tensor([[2.0, 0.3], [0.3, 1.0]])
        ),
        lambda f: f.ones(2),
    ),
    "scale_tril": (
        lambda d, f: d.MultivariateNormal(
            f.zeros(2, 2), scale_tril=f.tensor([[1.0, 0.0], [0.5, 2.0]])
        ),
        lambda f: f.ones(2, 2),
    ),
    "Categorical": (
        lambda d, f: d.Categorical(f.tensor([[1.0, 0.0], [2.0, 2.0]])), lambda f: f.tensor([0, 1]),
    ),
    "Categorical of logits": (
        lambda d, f: d.Categorical(logits=f.tensor([0.1, 2.0, -1.0])), lambda f: f.tensor(2),
    ),
    "Bernoulli": (
        lambda d, f: d.Bernoulli(f.tensor([0.0, 1.0, 0.5])), lambda f: f.tensor([0.0, 1.0, 1.0]),
    ),
    "Bernoulli of logits": (lambda d, f: d.Bernoulli(logits=0.2), lambda f: f.tensor(1.0)),
    "Uniform": (lambda d, f: d.Uniform(0.0, f.tensor([2.0, 3.0])), lambda f: f.tensor([1.0, 2.0])),
    "Exponential": (lambda d, f: d.Exponential(f.tensor([2.0, 0.5])), lambda f: f.ones(2)),
    "Laplace": (lambda d, f: d.Laplace(0.0, 2.0), lambda f: f.tensor(-1.0)),
    "Independent": (
        lambda d, f: d.Independent(d.Normal(f.zeros(2, 3), f.ones(2, 3)), 1),
        lambda f: f.ones(2, 3),
    ),
    "Cauchy": (lambda d, f: d.Cauchy(f.tensor([0.0, 1.0]), 2.0), lambda f: f.tensor([0.1, 3.0])),
    "HalfCauchy": (lambda d, f: d.HalfCauchy(2.0), lambda f: f.tensor(1.3)),
    "HalfNormal": (lambda d, f: d.HalfNormal(f.tensor([2.0, 1.0])), lambda f: f.ones(2)),
    "Gumbel": (lambda d, f: d.Gumbel(1.0, f.tensor([2.0, 1.0])), lambda f: f.ones(2)),
    "Poisson": (lambda d, f: d.Poisson(f.tensor([0.0, 2.5])), lambda f: f.tensor([0.0, 3.0])),
    "Geometric": (lambda d, f: d.Geometric(f.tensor([0.3, 0.9])), lambda f: f.tensor([2.0, 0.0])),
    "Geometric of logits": (lambda d, f: d.Geometric(logits=0.3), lambda f: f.tensor(2.0)),
    "OneHotCategorical": (
        lambda d, f: d.OneHotCategorical(f.tensor([[1.0, 0.0], [2.0, 2.0]])),
        lambda f: f.tensor([[1.0, 0.0], [0.0, 1.0]]),
    ),
    "TransformedDistribution": (
        lambda d, f: d.TransformedDistribution(
            d.Normal(f.zeros(2), 1.0), [d.AffineTransform(1.0, -2.0), d.SigmoidTransform()]
        ),
        lambda f: f.tensor([0.3, 0.6]),
    ),
    "TransformedDistribution, expanded": (
        lambda d, f: d.TransformedDistribution(
            d.Normal(f.zeros(3), 1.0), [d.AffineTransform(f.tensor([[1.0], [2.0]]), 2.0)]
        ),
        lambda f: f.tensor([0.3, 0.6, 0.7]),
    ),
    "StickBreaking": (
        lambda d, f: d.TransformedDistribution(
            d.Normal(f.zeros(3, 2), 1.0), d.StickBreakingTransform()
        ),
        lambda f: f.tensor([[0.2, 0.3, 0.5]] * 3),
    ),
    "Gamma": (lambda d, f: d.Gamma(f.tensor([0.5, 2.0]), 3.0), lambda f: f.tensor([0.1, 2.0])),
    "Chi2": (lambda d, f: d.Chi2(3.0), lambda f: f.tensor(2.0)),
    "Beta": (lambda d, f: d.Beta(f.tensor([0.5, 2.0]), 3.0), lambda f: f.tensor([0.1, 0.6])),
    "Dirichlet": (
        lambda d, f: d.Dirichlet(f.tensor([[0.5, 2.0], [1.0, 3.0]])),
        lambda f: f.tensor([[0.1, 0.9], [0.6, 0.4]]),
    ),
    "StudentT": (lambda d, f: d.StudentT(f.tensor([0.5, 3.0]), 1.0), lambda f: f.ones(2)),
    "FisherSnedecor": (
        lambda d, f: d.FisherSnedecor(f.tensor([1.0, 3.0, 5.0]), f.tensor([2.0, 3.0, 5.0])),
        lambda f: f.ones(3),
    ),
    "InverseGamma": (
        lambda d, f: d.InverseGamma(f.tensor([0.5, 1.5, 3.0]), 2.0), lambda f: f.ones(3),
    ),
    "Binomial": (
        lambda d, f: d.Binomial(30, f.tensor([0.0, 0.25, 0.75, 1.0])),
        lambda f: f.tensor([0.0, 8.0, 30.0, 30.0]),
    ),
    "Binomial of logits": (
        lambda d, f: d.Binomial(f.tensor([2.0, 5.0]), logits=f.tensor([0.3, -2.0])),
        lambda f: f.tensor([2.0, 0.0]),
    ),
    "NegativeBinomial": (
        lambda d, f: d.NegativeBinomial(f.tensor([0.0, 2.5, 8.0]), 0.3),
        lambda f: f.tensor([0.0, 2.0, 7.0]),
    ),
    "Multinomial": (
        lambda d, f: d.Multinomial(5, f.tensor([[1.0, 0.0, 2.0], [2.0, 2.0, 1.0]])),
        lambda f: f.tensor([[2.0, 0.0, 3.0], [5.0, 0.0, 0.0]]),
    ),
    "Multinomial of logits": (
        lambda d, f: d.Multinomial(3, logits=f.tensor([0.1, 2.0])), lambda f: f.tensor([1.0, 2.0]),
    ),
    "Pareto": (
        lambda d, f: d.Pareto(f.tensor([1.0, 0.5]), f.tensor([0.5, 3.0])), lambda f: f.ones(2) * 2,
    ),
    "GeneralizedPareto": (
        lambda d, f: d.GeneralizedPareto(0.5, 2.0, f.tensor([-0.5, 0.0, 0.4, 2.0])),
        lambda f: f.ones(4),
    ),
    "Weibull": (
        lambda d, f: d.Weibull(f.tensor([1.0, 0.5]), f.tensor([1.5, 3.0])), lambda f: f.ones(2),
    ),
    "Kumaraswamy": (
        lambda d, f: d.Kumaraswamy(f.tensor([0.5, 3.0]), f.tensor([1.5, 2.0])),
        lambda f: f.tensor([0.3, 0.6]),
    ),
    "VonMises": (
        lambda d, f: d.VonMises(
            f.tensor([0.0, 3.0, 1.0]).double(), f.tensor([0.5, 30.0, 1e-6]).double()
        ),
        lambda f: f.tensor([0.3, 2.6, -1.0]),
    ),
    "RelaxedBernoulli": (
        lambda d, f: d.RelaxedBernoulli(f.tensor(0.5), f.tensor([0.3, 0.9])),
        lambda f: f.tensor([0.3, 0.6]),
    ),
    "RelaxedOneHotCategorical": (
        lambda d, f: d.RelaxedOneHotCategorical(f.tensor(0.5), f.tensor([[1.0, 2.0, 3.0]] * 2)),
        lambda f: f.tensor([[0.2, 0.3, 0.5]] * 2),
    ),
    "ContinuousBernoulli": (
        lambda d, f: d.ContinuousBernoulli(f.tensor([0.0, 0.3, 0.5, 0.9, 1.0])),
        lambda f: f.tensor([0.1, 0.3, 0.6, 0.9, 1.0]),
    ),
    "LogisticNormal": (
        lambda d, f: d.LogisticNormal(f.zeros(3, 2), f.ones(2)),
        lambda f: f.tensor([[0.2, 0.3, 0.5]] * 3),
    ),
    "LowRankMultivariateNormal": (
        lambda d, f: d.LowRankMultivariateNormal(
            f.ones(2, 3), f.tensor([[1.0, 0.5], [0.0, 2.0], [1.0, 1.0]]), f.tensor([1.0, 2.0, 0.5])
        ),
        lambda f: f.zeros(2, 3),
    ),
    "MixtureSameFamily": (
        lambda d, f: d.MixtureSameFamily(
            d.Categorical(f.tensor([1.0, 3.0])), d.Normal(f.tensor([-1.0, 2.0]), 1.0)
        ),
        lambda f: f.tensor(0.4),
    ),
    "MixtureSameFamily of vectors": (
        lambda d, f: d.MixtureSameFamily(
            d.Categorical(f.tensor([[1.0, 3.0]] * 3)),
            d.Independent(d.Normal(f.zeros(3, 2, 2), f.ones(3, 2, 2)), 1),
        ),
        lambda f: f.zeros(3, 2),
    ),
    "LKJCholesky": (
        lambda d, f: d.LKJCholesky(3, f.tensor([0.5, 2.0]).double()),
        lambda f: f.linalg.cholesky(f.eye(3).double() * 0.7 + 0.3),
    ),
    "Wishart": (
        lambda d, f: d.Wishart(f.tensor(4.5), f.eye(3) + 0.2), lambda f: f.eye(3) * 2 + 0.3,
    ),
}  # fmt: skip


def seen(lib: ModuleType, name: str) -> list[Any]:
    make, value = CASES[name]
    lib.manual_seed(3)
    d = make(dist(lib), lib)
    shown = repr(d).replace(f"{lib.__name__}.", "")
    assert type(d.batch_shape) is type(d.event_shape) is lib.Size
    shapes = [shown, tuple(d.batch_shape), tuple(d.event_shape), d.has_rsample]
    drawn = [d.sample(), d.sample((2,)), d.sample((3, 2))]
    drawn.append(d.log_prob(d.sample((4,))))
    if d.has_rsample:
        drawn.append(d.rsample((2,)))
    shapes += [tuple(t.shape) for t in drawn]
    tensors = [d.log_prob(value(lib)), *drawn]
    for attribute in ("mean", "variance", "stddev", "mode", "entropy", "perplexity", "cdf", "icdf"):
        try:
            found = getattr(d, attribute)
            if callable(found):
                points = {
                    "cdf": value(lib),
                    "icdf": lib.full_like(value(lib), 0.3, dtype=lib.float32),
                }
                found = found(points[attribute]) if attribute in points else found()
            tensors.append(found)
        except NotImplementedError:
            shapes.append(f"no {attribute}")
    return [shapes, [t.double().tolist() for t in tensors]]


def flat(value: Any) -> list[Any]:
    return [x for v in value for x in flat(v)] if isinstance(value, list) else [value]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore:Singular sample")  # torch's, of matrices that are not
def test_everything_is_torchs(name: str, torch: ModuleType) -> None:
    (shapes, ours), (expected, theirs) = seen(nnkit, name), seen(torch, name)
    assert shapes == expected
    assert flat(ours) == pytest.approx(flat(theirs), rel=1e-5, abs=1e-6, nan_ok=True)


@pytest.mark.parametrize("name", CASES)
def test_everything_expands_as_torchs(name: str, torch: ModuleType) -> None:
    make, value = CASES[name]
    found: list[list[Any]] = []
    for lib in (nnkit, torch):
        d = make(dist(lib), lib)
        wide = d.expand((3, *d.batch_shape))
        again = wide.expand((2, *wide.batch_shape))
        shown = [repr(e).replace(f"{lib.__name__}.", "") for e in (wide, again)]
        shapes = [tuple(again.batch_shape), tuple(again.event_shape), type(again).__name__]
        values = [wide.log_prob(value(lib)), again.log_prob(value(lib))]
        found.append([shown, shapes, flat([v.double().tolist() for v in values])])
    assert found[0][:2] == found[1][:2]
    assert found[0][2] == pytest.approx(found[1][2], rel=1e-5, abs=1e-6, nan_ok=True)


@pytest.mark.parametrize("framework", ["nnkit", "torch"])
def test_subclasses_reach_what_follows_from_parameters(framework: str) -> None:
    lib = nnkit if framework == "nnkit" else pytest.importorskip("torch")
    d = dist(lib)
    found = []
    for kind, given, name in (
        (d.MultivariateNormal, {"loc": lib.zeros(2), "scale_tril": 2 * lib.eye(2)},
         "covariance_matrix"),
        (d.MultivariateNormal, {"loc": lib.zeros(2), "scale_tril": 2 * lib.eye(2)},
         "precision_matrix"),
        (d.MultivariateNormal, {"loc": lib.zeros(2), "covariance_matrix": 4 * lib.eye(2)},
         "scale_tril"),
        (d.Bernoulli, {"logits": lib.zeros(2)}, "probs"),
        (d.Categorical, {"probs": lib.ones(2)}, "logits"),
    ):  # fmt: skip
        derived = type("Derived", (kind,), {})(**given)
        found.append(getattr(super(type(derived), derived), name).tolist())
        assert name in vars(derived)
    half = pytest.approx([-0.6931471824645996] * 2)
    assert found[:4] == [[[4, 0], [0, 4]], [[0.25, 0], [0, 0.25]], [[2, 0], [0, 2]], [0.5, 0.5]]
    assert found[4] == half


DIVERGENCES: dict[str, Any] = {
    "Normal": lambda d, f: (d.Normal(0.0, 1.0), d.Normal(1.0, 2.0)),
    "LogNormal": lambda d, f: (d.LogNormal(0.0, 1.0), d.LogNormal(1.0, 2.0)),
    "MultivariateNormal": lambda d, f: (
        d.MultivariateNormal(f.zeros(2), f.eye(2)), d.MultivariateNormal(f.ones(2), 2 * f.eye(2)),
    ),
    "Categorical": lambda d, f: (
        d.Categorical(f.tensor([0.0, 0.9, 0.1])), d.Categorical(f.tensor([0.5, 0.3, 0.2])),
    ),
    "Bernoulli": lambda d, f: (
        d.Bernoulli(f.tensor([0.3, 0.0, 0.5])), d.Bernoulli(f.tensor([0.6, 0.5, 0.0])),
    ),
    "Uniform": lambda d, f: (d.Uniform(0.0, f.tensor([1.0, 3.0])), d.Uniform(-1.0, 2.0)),
    "Exponential": lambda d, f: (d.Exponential(1.0), d.Exponential(2.0)),
    "Laplace": lambda d, f: (d.Laplace(0.0, 1.0), d.Laplace(1.0, 2.0)),
    "Independent": lambda d, f: (
        d.Independent(d.Normal(f.zeros(2), 1.0), 1), d.Independent(d.Normal(f.ones(2), 1.0), 1),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DIVERGENCES)
def test_divergences_are_torchs(name: str, torch: ModuleType) -> None:
    found = [
        dist(lib).kl_divergence(*DIVERGENCES[name](dist(lib), lib)).reshape(-1).tolist()
        for lib in (nnkit, torch)
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-5)


# Two of each family; each reaches where the other does not, where that can be.
FAMILIES: dict[str, Any] = {
    "Normal": lambda d, t: [d.Normal(t([0.3, -1.0]), t([1.0, 2.0])), d.Normal(t([0.0, 1.0]), 0.5)],
    "Beta": lambda d, t: [d.Beta(t([0.5, 2.0]), t([1.0, 3.0])), d.Beta(t([1.5, 2.0]), 2.0)],
    "Gamma": lambda d, t: [d.Gamma(t([0.5, 2.0]), t([1.0, 3.0])), d.Gamma(t([1.5, 2.0]), 2.0)],
    "Chi2": lambda d, t: [d.Chi2(t([3.0, 1.0])), d.Chi2(t([2.0, 5.0]))],
    "Exponential": lambda d, t: [d.Exponential(t([0.5, 2.0])), d.Exponential(t([1.0, 3.0]))],
    "Gumbel": lambda d, t: [d.Gumbel(t([0.0, 1.0]), t([1.0, 2.0])), d.Gumbel(t([1.0, 0.5]), 1.5)],
    "Laplace": lambda d, t: [
        d.Laplace(t([0.0, 1.0]), t([1.0, 2.0])), d.Laplace(t([1.0, 0.5]), 1.5)
    ],
    "Cauchy": lambda d, t: [d.Cauchy(t([0.0, 1.0]), t([1.0, 2.0])), d.Cauchy(t([1.0, 0.5]), 1.5)],
    "Uniform": lambda d, t: [
        d.Uniform(t([-1.0, 0.1]), t([2.0, 0.9])), d.Uniform(-2.0, t([3.0, 0.5]))
    ],
    "Pareto": lambda d, t: [d.Pareto(t([1.0, 2.0]), t([3.0, 0.5])), d.Pareto(t([0.05, 2.5]), 2.5)],
    "HalfNormal": lambda d, t: [d.HalfNormal(t([1.0, 2.0])), d.HalfNormal(t([0.5, 3.0]))],
    "Poisson": lambda d, t: [d.Poisson(t([1.0, 2.0])), d.Poisson(t([0.5, 3.0]))],
    "Geometric": lambda d, t: [d.Geometric(t([0.1, 0.6])), d.Geometric(t([0.5, 0.3]))],
    "Bernoulli": lambda d, t: [d.Bernoulli(t([0.1, 1.0])), d.Bernoulli(t([0.5, 0.3]))],
    "Binomial": lambda d, t: [
        d.Binomial(4, t([0.1, 0.6])), d.Binomial(t([4.0, 3.0]), t([0.5, 0.3]))
    ],
    "ContinuousBernoulli": lambda d, t: [
        d.ContinuousBernoulli(t([0.1, 0.5])), d.ContinuousBernoulli(t([0.5, 0.3]))
    ],
    "Dirichlet": lambda d, t: [d.Dirichlet(t([0.5, 2.0])), d.Dirichlet(t([1.0, 3.0]))],
    "Categorical": lambda d, t: [d.Categorical(t([0.1, 0.9])), d.Categorical(t([0.5, 0.5]))],
    "OneHotCategorical": lambda d, t: [
        d.OneHotCategorical(t([0.1, 0.9])), d.OneHotCategorical(t([0.5, 0.5]))
    ],
    "MultivariateNormal": lambda d, t: [
        d.MultivariateNormal(t([0.1, 1.0]), t([[2.0, 0.5], [0.5, 1.0]])),
        d.MultivariateNormal(t([0.0, 0.0]), t([[1.0, 0.0], [0.0, 3.0]])),
    ],
    "LowRankMultivariateNormal": lambda d, t: [
        d.LowRankMultivariateNormal(t([0.1, 1.0]), t([[1.0], [0.5]]), t([0.5, 1.0])),
        d.LowRankMultivariateNormal(t([0.0, 0.0]), t([[0.3], [2.0]]), t([1.0, 3.0])),
    ],
    "LogNormal": lambda d, t: [d.LogNormal(t([0.3]), t([1.0])), d.LogNormal(t([0.0]), 0.5)],
    "Weibull": lambda d, t: [d.Weibull(t([0.3]), t([1.0])), d.Weibull(t([0.1]), t([1.0]))],
    "Wishart": lambda d, t: [
        d.Wishart(t(5.0), t([[2.0, 0.5], [0.5, 1.0]])),
        d.Wishart(t(4.0), t([[1.0, 0.0], [0.0, 1.0]])),
    ],
    "Independent": lambda d, t: [
        d.Independent(d.Normal(t([0.3, -1.0]), t([1.0, 2.0])), 1),
        d.Independent(d.Normal(t([0.0, 1.0]), 0.5), 1),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", FAMILIES)
def test_divergences_of_all_pairs_are_torchs(name: str, torch: ModuleType) -> None:
    def found(lib: ModuleType, other: str) -> Any:
        d = dist(lib)
        one, two = FAMILIES[name](d, lib.tensor)[0], FAMILIES[other](d, lib.tensor)[1]
        try:
            result = d.kl_divergence(one, two)
        except NotImplementedError:
            return None
        return [list(result.shape), *result.reshape(-1).tolist()]

    for other in FAMILIES:
        expected = found(torch, other)
        got = found(nnkit, other)
        if expected is None:
            assert got is None, other
        else:
            assert got[0] == expected[0], other
            assert got[1:] == pytest.approx(expected[1:], rel=1e-4, abs=1e-5), other


def test_divergences_of_different_families(lib: ModuleType) -> None:
    d, t = dist(lib), lib.tensor
    gamma, normal = d.Gamma(t([2.0]), t([3.0])), d.Normal(t([0.0]), t([1.0]))
    assert d.kl_divergence(gamma, normal).tolist() == pytest.approx([0.773668], rel=1e-5)
    assert d.kl_divergence(normal, gamma).tolist() == [float("inf")]
    inside, around = d.Uniform(t([0.1]), t([0.9])), d.Beta(t([1.0]), t([3.0]))
    assert d.kl_divergence(inside, around).tolist() == pytest.approx([0.785946], rel=1e-5)
    assert d.kl_divergence(d.Uniform(t([-1.0]), t([0.9])), around).tolist() == [float("inf")]
    with pytest.raises(NotImplementedError):
        d.kl_divergence(d.Dirichlet(t([1.0, 2.0])), normal)


def test_gradients_reach_the_parameters(lib: ModuleType) -> None:
    d = dist(lib)
    loc, scale = lib.zeros(2, requires_grad=True), lib.ones(2, requires_grad=True)
    lib.manual_seed(0)
    drawn = d.Normal(loc, scale).rsample()
    drawn.sum().backward()
    assert loc.grad.tolist() == [1, 1] and scale.grad.tolist() == drawn.tolist()
    logits = lib.tensor([0.0, math.log(3.0)], requires_grad=True)
    d.Categorical(logits=logits).log_prob(lib.tensor(1)).backward()
    assert logits.grad.tolist() == pytest.approx([-0.25, 0.25])
    assert not d.Categorical(logits=logits).sample((5,)).requires_grad
    assert d.Normal(loc, 1.0).expand((3, 2)).batch_shape == (3, 2)


ERRORS: dict[str, tuple[Any, str]] = {
    "scale": (lambda d, f: d.Normal(0.0, -1.0), "scale .* to satisfy the constraint GreaterThan"),
    "probs": (lambda d, f: d.Categorical(f.tensor([-1.0, 2.0])), "probs .* constraint Simplex"),
    "both": (lambda d, f: d.Categorical(f.ones(2), f.ones(2)), "either probs or logits"),
    "0-dim": (lambda d, f: d.Categorical(f.tensor(1.0)), "one-dimensional"),
    "bernoulli": (lambda d, f: d.Bernoulli(2.0), "constraint Interval"),
    "number": (lambda d, f: d.Normal(0.0, 1.0).log_prob(3), "must be a Tensor, got int"),
    "class": (
        lambda d, f: d.Categorical(f.ones(3)).log_prob(f.tensor(5)),
        "within the support .IntegerInterval.*upper_bound=2",
    ),
    "outside": (
        lambda d, f: d.Uniform(0.0, 1.0).log_prob(f.tensor(3.0)),
        "within the support .Interval",
    ),
    "property": (lambda d, f: d.Chi2(-2.0), "parameter df .* satisfy the constraint GreaterThan"),
    "order": (lambda d, f: d.Uniform(2.0, 1.0), "LessThan"),
    "shape": (lambda d, f: d.Normal(f.zeros(2), 1.0).log_prob(f.ones(3)), "does not broadcast"),
    "matrices": (lambda d, f: d.MultivariateNormal(f.zeros(2)), "exactly one"),
    "dimensions": (lambda d, f: d.Independent(d.Normal(0.0, 1.0), 1), "at most the number"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_refuses(name: str, lib: ModuleType) -> None:
    make, match = ERRORS[name]
    with raises(lib, ValueError, match):
        make(dist(lib), lib)


def test_what_is_not_there(lib: ModuleType) -> None:
    d = dist(lib)
    with raises(lib, NotImplementedError, "no rsample"):
        d.Categorical(lib.ones(2)).rsample()
    with raises(lib, NotImplementedError, "no formula for Normal and Bernoulli"):
        d.kl_divergence(d.Normal(0.0, 1.0), d.Bernoulli(0.3))
    with raises(lib, AttributeError, "no attribute"):
        getattr(d.Categorical(lib.ones(2)), "nothing")  # noqa: B009
    assert d.Normal(0.0, -1.0, validate_args=False).log_prob(lib.tensor(0.0)).isnan()


def test_values_outside_the_support(lib: ModuleType) -> None:
    d = lib.distributions
    with raises(lib, ValueError, "within the support .Interval"):
        d.Uniform(0.0, 1.0).cdf(lib.tensor(2.0))
    with raises(lib, ValueError, "within the support .GreaterThanEq"):
        d.Exponential(1.0).cdf(lib.tensor(-2.0))
    with raises(lib, ValueError, "within the support .Real"):
        d.Laplace(0.0, 1.0).cdf(lib.tensor(float("nan")))
    assert d.Uniform(0.0, 1.0, validate_args=False).cdf(lib.tensor(2.0)).item() == 1


def test_matrices_of_another_kind(lib: ModuleType) -> None:
    make = lib.distributions.MultivariateNormal
    with raises(lib, ValueError, "satisfy the constraint PositiveDefinite"):
        make(lib.zeros(2), lib.ones(2, 2))
    with raises(lib, ValueError, "satisfy the constraint PositiveDefinite"):
        make(lib.zeros(2), lib.ones(2, 3))
    with raises(lib, ValueError, "satisfy the constraint LowerCholesky"):
        make(lib.zeros(2), scale_tril=lib.ones(2, 2))
    with raises(lib, ValueError, "at least 2 dimensions"):
        make(lib.zeros(2), lib.ones(2))


def test_expanded(lib: ModuleType) -> None:
    d = lib.distributions
    for made, value in (
        (d.Bernoulli(lib.tensor([0.25, 0.5])), lib.ones(2)),
        (d.LogNormal(lib.zeros(2), lib.ones(2)), lib.ones(2)),
        (d.MultivariateNormal(lib.zeros(2), lib.eye(2)), lib.ones(2)),
        (d.Independent(d.Laplace(lib.zeros(2), lib.ones(2)), 1), lib.ones(2)),
    ):
        shape = (3, *made.batch_shape)
        expanded = made.expand(shape)
        assert type(expanded) is type(made) and expanded.batch_shape == shape
        assert expanded.event_shape == made.event_shape
        assert expanded.log_prob(value)[1].tolist() == made.log_prob(value).tolist()


def test_counts_of_any_dtype(lib: ModuleType) -> None:
    counts = lib.tensor([3, 4])
    for kind in (lib.distributions.Binomial, lib.distributions.NegativeBinomial):
        for dtype in (lib.float32, lib.float64):
            made = kind(counts, lib.tensor([0.5, 0.25], dtype=dtype))
            assert {made.total_count.dtype, made.sample().dtype, made.mean.dtype} == {dtype}
            alike = kind(counts.to(dtype), made.probs)
            assert lib.equal(made.log_prob(lib.ones(2)), alike.log_prob(lib.ones(2)))


def test_finite_supports(lib: ModuleType) -> None:
    d = lib.distributions
    assert d.Bernoulli(lib.full((2,), 0.5)).enumerate_support().tolist() == [[0, 0], [1, 1]]
    classes = d.Categorical(lib.ones(2, 3))
    assert classes.enumerate_support(False).tolist() == [[0], [1], [2]]
    assert classes.enumerate_support().shape == (3, 2)
    with raises(lib, NotImplementedError, "no finite support"):
        d.Normal(0.0, 1.0).enumerate_support()


def test_arguments_that_are_none(lib: ModuleType) -> None:
    d = lib.distributions
    with raises(lib, ValueError, "must be numbers or Tensors, got complex"):
        d.Normal(1j, 1.0)
    with raises(lib, ValueError, "value must be bool, got 2"):
        d.Distribution.set_default_validate_args(2)
    with raises(lib, TypeError, "a class of distributions, got 3"):
        d.register_kl(3, 4)
    with raises(lib, TypeError, "argument 'input' must be Tensor"):
        d.Normal(0.0, 1.0).icdf(7)


TRANSFORMS: dict[str, Any] = {
    "exp": lambda d, f: d.ExpTransform(),
    "sigmoid": lambda d, f: d.SigmoidTransform(),
    "softplus": lambda d, f: d.SoftplusTransform(),
    "tanh": lambda d, f: d.TanhTransform(),
    "power": lambda d, f: d.ComposeTransform([d.ExpTransform(), d.PowerTransform(f.tensor(2.0))]),
    "power of a number": lambda d, f: d.ComposeTransform([d.ExpTransform(), d.PowerTransform(2)]),
    "affine": lambda d, f: d.AffineTransform(1.0, f.tensor(-2.0)),
    "affine of vectors": lambda d, f: d.AffineTransform(1.0, 3, event_dim=1),
    "stick breaking": lambda d, f: d.StickBreakingTransform(),
    "scaled": lambda d, f: d.ComposeTransform(
        [d.AffineTransform(0.0, 0.5), d.StickBreakingTransform()]
    ),
    "correlations": lambda d, f: d.CorrCholeskyTransform(),
    "independent": lambda d, f: d.IndependentTransform(d.ExpTransform(), 1),
    "reshape": lambda d, f: d.ReshapeTransform((6,), (2, 3)),
    "cat": lambda d, f: d.CatTransform([d.ExpTransform(), d.TanhTransform()], 1, [2, 4]),
    "stack": lambda d, f: d.StackTransform([d.ExpTransform(), d.identity_transform] * 3, 1),
    "distribution": lambda d, f: d.CumulativeDistributionTransform(d.Normal(0.0, 1.0)),
    "back": lambda d, f: d.AffineTransform(1.0, 3.0).inv,
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_are_torchs(name: str, torch: ModuleType) -> None:
    found = []
    for lib in (nnkit, torch):
        lib.manual_seed(1)
        transform = TRANSFORMS[name](dist(lib), lib)
        x = lib.randn(3, 6)
        y = transform(x)
        dims = (transform.domain.event_dim, transform.codomain.event_dim)
        shapes = (tuple(transform.forward_shape(x.shape)), tuple(transform.inverse_shape(y.shape)))
        numbers = [y, transform.inv(y), transform.log_abs_det_jacobian(x, y)]
        found.append((repr(transform), dims, shapes, [flat(t.tolist()) for t in numbers]))
    assert found[0][:3] == found[1][:3]
    for ours, theirs in zip(found[0][3], found[1][3], strict=True):
        assert ours == pytest.approx(theirs, rel=1e-4, abs=1e-5)


CONSTRAINTS = (
    "boolean", "corr_cholesky", "lower_cholesky", "lower_triangular", "nonnegative",
    "nonnegative_integer", "one_hot", "positive", "positive_definite", "positive_integer",
    "positive_semidefinite", "real", "real_vector", "simplex", "square", "symmetric",
    "unit_interval",
)  # fmt: skip


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraints_are_torchs(name: str, torch: ModuleType) -> None:
    rows = [[[1.0, 0.0], [0.0, 1.0]], [[2.0, 1.0], [1.0, 3.0]], [[0.5, 0.5], [-1.0, 0.0]]]
    rows += [[[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.0], [3.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]]
    found = []
    for lib in (nnkit, torch):
        constraint = getattr(dist(lib).constraints, name)
        checked = [constraint.check(lib.tensor(row)).tolist() for row in rows]
        maps = []
        for registry in (dist(lib).biject_to, dist(lib).transform_to):
            try:
                maps.append(type(registry(constraint)).__name__)
            except NotImplementedError:
                maps.append("none")
        found.append((checked, constraint.event_dim, constraint.is_discrete, maps))
    assert found[0] == found[1]


def test_maps_that_are_refused(lib: ModuleType) -> None:
    d = dist(lib)
    with raises(lib, ValueError, "0 or 1"):
        d.ExpTransform(cache_size=2)
    with raises(lib, ValueError, "numbers of elements"):
        d.ReshapeTransform((2,), (3,))
    with raises(lib, NotImplementedError, "none is registered"):
        d.transform_to(d.constraints.boolean)
    with raises(lib, TypeError, "Constraint"):
        d.transform_to.register(3, int)
    with raises(lib, ValueError, "Transform or a list"):
        d.TransformedDistribution(d.Normal(0.0, 1.0), 3)
    with raises(lib, ValueError, "at least"):
        d.TransformedDistribution(d.Normal(0.0, 1.0), d.StickBreakingTransform())
    with raises(lib, ValueError, "not both"):
        d.Geometric()
    x = lib.ones(2)
    cached = d.ExpTransform(cache_size=1)
    assert cached.inv(cached(x)) is x and d.ExpTransform().with_cache()._cache_size == 1
