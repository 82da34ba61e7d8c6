"""Distributions and maps at the ends of their parameters, and shapes of what they tell."""

from __future__ import annotations

import math
import re
from types import ModuleType

import pytest

import nnkit
from tests.test_distributions import CASES, dist, flat


@pytest.mark.parametrize("logit", [-1e38, -200.0, 200.0, 1e38])
def test_continuous_bernoulli_of_large_logits(lib: ModuleType, logit: float) -> None:
    for x in (0.0, 0.5, 1.0):
        logits = lib.tensor(logit, requires_grad=True)
        density = lib.distributions.ContinuousBernoulli(logits=logits).log_prob(lib.tensor(x))
        density.backward()
        assert density.item() == pytest.approx((x - (logit > 0)) * logit + 2.768981, rel=1e-6)
        assert logits.grad.item() == pytest.approx(x - (logit > 0))


def test_jacobians_of_parts_side_by_side(lib: ModuleType) -> None:
    D = lib.distributions.transforms
    scales, x = lib.tensor([2.0, 4.0]), lib.ones(3, 4)
    whole = D.AffineTransform(0, scales, event_dim=1)
    each = D.AffineTransform(0, scales)
    for parts, dim, expected in (
        ([each, each], -1, scales.log().repeat(3, 2)), ([whole, whole], 1, lib.full((3,), 6.0)),
        ([each, whole], -1, lib.full((3,), 6.0)),
    ):  # fmt: skip
        cat = D.CatTransform(parts, dim=dim, lengths=[2, 2])
        found = cat.log_abs_det_jacobian(x, cat(x))
        assert found.shape == expected.shape
        factor = 1 if found.ndim == 2 else math.log(2)
        assert lib.allclose(found, expected * factor)


def test_bounds_of_uniform_are_scalars(lib: ModuleType) -> None:
    for bound in lib.distributions.Uniform(0.0, 1.0).arg_constraints.values():
        assert bound.event_dim == 0 and not bound.is_discrete


def test_values_at_the_ends_of_gamma(lib: ModuleType) -> None:
    """Where the density is not 0, or not infinite, at 0; a number is a value too."""
    d = lib.distributions
    assert d.Gamma(1.0, 2.0).log_prob(lib.tensor(0.0)).item() == pytest.approx(math.log(2))
    assert d.Gamma(1.0, 2.0).log_prob(0).item() == pytest.approx(math.log(2))
    assert d.Gamma(2.0, 2.0).log_prob(0).item() == -math.inf
    assert d.Chi2(2.0).log_prob(0).item() == pytest.approx(math.log(0.5))


@pytest.mark.filterwarnings("ignore:Singular sample")
def test_matrices_of_whole_numbers_of_degrees(lib: ModuleType) -> None:
    made = lib.distributions.Wishart(lib.tensor(3), lib.eye(2))
    assert made.sample().shape == (2, 2) and made.sample().dtype is lib.float32


def test_precisions_that_are_nearly_singular(lib: ModuleType) -> None:
    x = lib.linspace(-1, 1, 10)
    precision = lib.exp(-((x - x.unsqueeze(-1)) ** 2) * 10) + 1e-4 * lib.eye(10)
    made = lib.distributions.MultivariateNormal(lib.zeros(10), precision_matrix=precision)
    flipped = lib.linalg.cholesky(precision.double().flip(-2, -1)).flip(-2, -1).mT.inverse()
    assert lib.allclose(made.scale_tril.double(), flipped, rtol=1e-2, atol=1e-2)


def test_what_was_not_asked_for_is_not_computed(lib: ModuleType) -> None:
    made = lib.distributions.Bernoulli(lib.tensor([0.25]))
    made.sample()
    made.enumerate_support()
    assert "logits" not in vars(made)


def test_classes_that_do_not_tell_are_warned_of(lib: ModuleType) -> None:
    class Silent(lib.distributions.Distribution):
        def log_prob(self, value: object) -> None:
            self._validate_sample(value)

    with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
        made = Silent(validate_args=True)
    with pytest.warns(UserWarning, match="does not define `support`"):
        made.log_prob(lib.tensor(0.0))


@pytest.mark.filterwarnings("ignore:(Singular sample|Low df)")
def test_matrices_side_by_side_are_checked_one_by_one(lib: ModuleType) -> None:
    d = lib.distributions
    pair = lib.stack([lib.eye(2), lib.ones(2, 2) - 2 * lib.eye(2)])
    assert d.constraints.positive_definite.check(pair).tolist() == [True, False]
    with pytest.warns(UserWarning, match="Low df values detected"):
        d.Wishart(2.5, lib.eye(3))
    with pytest.raises(ValueError, match="expected to be greater than ndim - 1 = 2"):
        d.Wishart(2.0, lib.eye(3), validate_args=False)
    lib.manual_seed(0)
    made = d.Wishart(lib.tensor([2.5, 2.1, 2.9]), lib.eye(3).repeat(3, 1, 1))
    drawn = made.sample((40,))
    assert made.support.check(drawn).all()
    assert not made.log_prob(drawn).isnan().any()


FAMILIES = (
    "Normal", "Bernoulli", "Bernoulli of logits", "Exponential", "Poisson", "Gamma", "Dirichlet",
    "Beta", "ContinuousBernoulli",
)  # fmt: skip


@pytest.mark.parametrize("name", FAMILIES)
def test_families_by_natural_parameters(name: str, torch: ModuleType) -> None:
    found = []
    for lib in (nnkit, torch):
        d = CASES[name][0](dist(lib), lib)
        natural = d._natural_params
        values = [*natural, d._log_normalizer(*natural)]
        found.append(flat([v.double().tolist() for v in values]))
    assert found[0] == pytest.approx(found[1], rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("logits", [math.inf, 0.0]), ("logits", [-math.inf, -math.inf]), ("probs", [0.0, 0.0]),
        ("probs", [math.inf, 1.0]), ("probs", [-1.0, 3.0]),
    ],
)  # fmt: skip
def test_classes_are_held_to_what_their_parameters_add_up_to(
    lib: ModuleType, name: str, values: list[float]
) -> None:
    what = "Simplex()" if name == "probs" else "IndependentConstraint(Real(), 1)"
    for make in (lib.distributions.Categorical, lib.distributions.OneHotCategorical):
        with pytest.raises(ValueError, match=re.escape(f"to satisfy the constraint {what}")):
            make(**{name: lib.tensor(values)})
    shares = lib.distributions.Categorical(lib.tensor([-1.0, -3.0])).probs
    assert shares.tolist() == [0.25, 0.75]


def test_bounds_of_uniform_numbers(lib: ModuleType) -> None:
    D = lib.distributions
    found = D.Uniform(0.0, 1.0).arg_constraints
    assert str(found["low"]) == "LessThan(upper_bound=1.0)"
    assert found["high"].check(lib.tensor([0.5, -0.5])).tolist() == [True, False]
    with pytest.raises(ValueError):
        D.Uniform(lib.tensor([0.0, 1.0]), lib.tensor([1.0, 0.5]))
    with pytest.raises(ValueError):
        D.Uniform(0.0, float("nan"))


def test_what_a_mixture_supports(lib: ModuleType) -> None:
    D = lib.distributions
    ranges = D.Uniform(lib.zeros(2), lib.tensor([1.0, 2.0]))
    mixture = D.MixtureSameFamily(D.Categorical(lib.ones(2)), ranges)
    values = lib.tensor([0.5, 1.5, 0.25])
    assert mixture.support.check(values).tolist() == [True, False, True]
    assert str(mixture.support).startswith("MixtureSameFamilyConstraint(Interval(")
    assert mixture.log_prob(values[::2]).tolist() == pytest.approx([math.log(0.75)] * 2)
    assert mixture.expand([3]).log_prob(values / 2).shape == (3,)
    with pytest.raises(ValueError):
        mixture.log_prob(values)
    vectors = D.MixtureSameFamily(D.Categorical(lib.ones(3)), D.Dirichlet(lib.ones(3, 2)))
    assert (vectors.support.event_dim, vectors.support.is_discrete) == (1, False)
    assert vectors.support.check(lib.tensor([[0.5, 0.5], [0.1, 0.2]])).tolist() == [True, False]
    for found in (D.biject_to, D.transform_to):
        with pytest.raises(NotImplementedError):
            found(mixture.support)
