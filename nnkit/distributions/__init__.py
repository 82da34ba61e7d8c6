"""Probability distributions, under the names of ``torch.distributions``."""

from __future__ import annotations

from nnkit.distributions.categorical import Bernoulli, Categorical
from nnkit.distributions.continuous import Exponential, Laplace, Uniform
from nnkit.distributions.distribution import Distribution
from nnkit.distributions.independent import Independent
from nnkit.distributions.kl import kl_divergence, register_kl
from nnkit.distributions.normal import LogNormal, MultivariateNormal, Normal

__all__ = [
    "Bernoulli",
    "Categorical",
    "Distribution",
    "Exponential",
    "Independent",
    "Laplace",
    "LogNormal",
    "MultivariateNormal",
    "Normal",
    "Uniform",
    "kl_divergence",
    "register_kl",
]
