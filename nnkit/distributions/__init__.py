"""Probability distributions, under the names of ``torch.distributions``."""

from __future__ import annotations

from nnkit.distributions import constraints as constraints
from nnkit.distributions import transforms as transforms
from nnkit.distributions import utils as utils
from nnkit.distributions.categorical import Bernoulli, Categorical
from nnkit.distributions.constraint_registry import biject_to, transform_to
from nnkit.distributions.continuous import Exponential, Laplace, Uniform
from nnkit.distributions.counts import (
    Geometric,
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
    Poisson,
)
from nnkit.distributions.distribution import Distribution
from nnkit.distributions.gamma import Beta, Chi2, Dirichlet, Gamma, StudentT
from nnkit.distributions.independent import Independent
from nnkit.distributions.kl import kl_divergence, register_kl
from nnkit.distributions.normal import LogNormal, MultivariateNormal, Normal
from nnkit.distributions.tails import Cauchy, Gumbel, HalfCauchy, HalfNormal
from nnkit.distributions.transformed import TransformedDistribution
from nnkit.distributions.transforms import *  # noqa: F403
from nnkit.distributions.transforms import __all__ as _transforms

__all__ = [
    "Bernoulli", "Beta", "Categorical", "Cauchy", "Chi2", "Dirichlet", "Distribution",
    "Exponential", "Gamma", "Geometric", "Gumbel", "HalfCauchy", "HalfNormal", "Independent",
    "Laplace", "LogNormal", "MultivariateNormal", "Normal", "OneHotCategorical",
    "OneHotCategoricalStraightThrough", "Poisson", "StudentT", "TransformedDistribution",
    "Uniform", "biject_to", "kl_divergence", "register_kl", "transform_to", *_transforms,
]  # fmt: skip
