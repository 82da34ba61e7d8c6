"""Probability distributions, under the names of ``torch.distributions``."""

from __future__ import annotations

from nnkit.distributions import constraints as constraints
from nnkit.distributions import transforms as transforms
from nnkit.distributions import utils as utils
from nnkit.distributions.binary import Bernoulli, Binomial, Geometric, NegativeBinomial
from nnkit.distributions.categorical import Categorical
from nnkit.distributions.circular import VonMises
from nnkit.distributions.constraint_registry import biject_to, transform_to
from nnkit.distributions.continuous import Exponential, Kumaraswamy, Laplace, Uniform
from nnkit.distributions.counts import (
    Multinomial,
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
    Poisson,
)
from nnkit.distributions.distribution import Distribution
from nnkit.distributions.exp_family import ExponentialFamily
from nnkit.distributions.gamma import (
    Beta,
    Chi2,
    Dirichlet,
    FisherSnedecor,
    Gamma,
    InverseGamma,
    StudentT,
)
from nnkit.distributions.independent import Independent
from nnkit.distributions.kl import kl_divergence, register_kl
from nnkit.distributions.kl_pairs import register_kl as _register_pairs  # noqa: F401
from nnkit.distributions.matrices import LKJCholesky, Wishart
from nnkit.distributions.mixture import MixtureSameFamily
from nnkit.distributions.normal import (
    LogNormal,
    LowRankMultivariateNormal,
    MultivariateNormal,
    Normal,
)
from nnkit.distributions.relaxed import (
    ContinuousBernoulli,
    LogisticNormal,
    RelaxedBernoulli,
    RelaxedOneHotCategorical,
)
from nnkit.distributions.tails import (
    Cauchy,
    GeneralizedPareto,
    Gumbel,
    HalfCauchy,
    HalfNormal,
    Pareto,
    Weibull,
)
from nnkit.distributions.transformed import TransformedDistribution
from nnkit.distributions.transforms import *  # noqa: F403
from nnkit.distributions.transforms import __all__ as _transforms

__all__ = [
    "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "ContinuousBernoulli",
    "Dirichlet", "Distribution", "Exponential", "ExponentialFamily", "FisherSnedecor", "Gamma",
    "GeneralizedPareto", "Geometric", "Gumbel", "HalfCauchy", "HalfNormal", "Independent",
    "InverseGamma", "Kumaraswamy", "LKJCholesky", "Laplace", "LogNormal", "LogisticNormal",
    "LowRankMultivariateNormal", "MixtureSameFamily", "Multinomial", "MultivariateNormal",
    "NegativeBinomial", "Normal", "OneHotCategorical", "OneHotCategoricalStraightThrough",
    "Pareto", "Poisson", "RelaxedBernoulli", "RelaxedOneHotCategorical", "StudentT",
    "TransformedDistribution", "Uniform", "VonMises", "Weibull", "Wishart", "biject_to",
    "kl_divergence", "register_kl", "transform_to", *_transforms,
]  # fmt: skip
