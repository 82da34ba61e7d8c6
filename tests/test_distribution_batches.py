"""Distributions in `vmap`: torch's numbers, parameter by parameter, for what is drawn, for what is
computed, and for the gradients of both."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit

DISTRIBUTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "Bernoulli": lambda T, D, v: D.Bernoulli(v),
    "Beta": lambda T, D, v: D.Beta(v + 0.5, v + 1),
    "Binomial": lambda T, D, v: D.Binomial(3, v),
    "Categorical": lambda T, D, v: D.Categorical(v),
    "Categorical of logits": lambda T, D, v: D.Categorical(logits=v),
    "Cauchy": lambda T, D, v: D.Cauchy(v, v + 1),
    "Chi2": lambda T, D, v: D.Chi2(v + 1),
    "ContinuousBernoulli": lambda T, D, v: D.ContinuousBernoulli(v),
    "Dirichlet": lambda T, D, v: D.Dirichlet(v + 1),
    "Exponential": lambda T, D, v: D.Exponential(v + 1),
    "FisherSnedecor": lambda T, D, v: D.FisherSnedecor(v + 1, v + 2),
    "Gamma": lambda T, D, v: D.Gamma(v + 0.5, v + 1),
    "Gumbel": lambda T, D, v: D.Gumbel(v, v + 1),
    "HalfNormal": lambda T, D, v: D.HalfNormal(v + 1),
    "Independent": lambda T, D, v: D.Independent(D.Normal(v, v + 1), 1),
    "InverseGamma": lambda T, D, v: D.InverseGamma(v + 1, v + 1),
    "Kumaraswamy": lambda T, D, v: D.Kumaraswamy(v + 1, v + 1),
    "Laplace": lambda T, D, v: D.Laplace(v, v + 1),
    "LogNormal": lambda T, D, v: D.LogNormal(v, v + 1),
    "LowRankMultivariateNormal": lambda T, D, v: D.LowRankMultivariateNormal(
        v, T.ones(3, 1), v + 1
    ),
    "MixtureSameFamily": lambda T, D, v: D.MixtureSameFamily(D.Categorical(v), D.Normal(v, v + 1)),
    "Multinomial": lambda T, D, v: D.Multinomial(3, v),
    "MultivariateNormal": lambda T, D, v: D.MultivariateNormal(v, T.eye(3)),
    "MultivariateNormal by scale_tril": lambda T, D, v: D.MultivariateNormal(
        v, scale_tril=T.diag_embed(v + 1)
    ),
    "NegativeBinomial": lambda T, D, v: D.NegativeBinomial(3, v),
    "Normal": lambda T, D, v: D.Normal(v, v + 1),
    "OneHotCategorical": lambda T, D, v: D.OneHotCategorical(v),
    "Pareto": lambda T, D, v: D.Pareto(v + 1, v + 1),
    "Poisson": lambda T, D, v: D.Poisson(v + 1),
    "RelaxedBernoulli": lambda T, D, v: D.RelaxedBernoulli(T.tensor(2.0), v),
    "StudentT": lambda T, D, v: D.StudentT(v + 3, v, v + 1),
    "TransformedDistribution": lambda T, D, v: D.TransformedDistribution(
        D.Normal(v, v + 1), [D.SigmoidTransform()]
    ),
    "Uniform": lambda T, D, v: D.Uniform(v, v + 1),
    "VonMises": lambda T, D, v: D.VonMises(v, v + 1),
    "Weibull": lambda T, D, v: D.Weibull(v + 1, v + 1),
}
# Of a function that makes the distribution, and its parameter.
USES: dict[str, Callable[[Any, Callable, Any], Any]] = {
    "sample": lambda T, of, v: of(v).sample(),
    "rsample": lambda T, of, v: of(v).rsample(),
    "rsample of a shape": lambda T, of, v: of(v).rsample((2,)),
    "log_prob": lambda T, of, v: of(v).log_prob(of(v).sample()),
    "entropy": lambda T, of, v: of(v).entropy(),
    "mean": lambda T, of, v: of(v).mean,
    "variance": lambda T, of, v: of(v).variance,
    "cdf": lambda T, of, v: of(v).cdf(of(v).sample()),
    "kl_divergence": lambda T, of, v: T.distributions.kl_divergence(of(v), of(v * 0.5)),
    "gradient of rsample": lambda T, of, v: T.func.grad(
        lambda v: of(v).rsample().square().sum()
    )(v),
    "gradient of log_prob": lambda T, of, v: T.func.grad(
        lambda v: of(v).log_prob(of(v).sample().detach()).sum()
    )(v),
}  # fmt: skip


def found(T: ModuleType, name: str, use: str, randomness: str) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of each example, and those that the generator gives next."""

    def each(v: Any) -> Any:
        return USES[use](T, lambda v: DISTRIBUTIONS[name](T, T.distributions, v), v)

    T.manual_seed(1)
    parameters = T.rand(4, 3) * 0.8 + 0.1
    out = T.func.vmap(each, randomness=randomness)(parameters)
    return out.numpy(), T.rand(2).numpy()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions_are_mapped(name: str, torch: ModuleType) -> None:
    compared = 0
    for use in USES:
        for randomness in ("different", "same"):
            try:
                numbers, following = found(torch, name, use, randomness)
            except (RuntimeError, NotImplementedError, ValueError):  # torch has no rule for it
                continue
            ours, ours_following = found(nnkit, name, use, randomness)
            np.testing.assert_allclose(ours, numbers, 1e-4, 1e-5, err_msg=f"{use} {randomness}")
            np.testing.assert_array_equal(ours_following, following, f"{use} {randomness}")
            compared += 1
    assert compared
