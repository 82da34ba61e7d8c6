"""The divergence of two distributions of different families, ``-H(p) - E[log q(x)]``, x from p.

``E[log q(x)]`` needs of p a few means: of x, of ``x**2``, of ``log(x)``, of ``exp(-x / scale)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.ops.creation.factories import full_like
from nnkit.autograd.ops.elementwise.transcendental import digamma, erf, lgamma, xlogy
from nnkit.distributions.binary import Bernoulli, Binomial
from nnkit.distributions.continuous import Exponential, Laplace, Uniform
from nnkit.distributions.counts import Poisson
from nnkit.distributions.gamma import Beta, Gamma
from nnkit.distributions.kl import register_kl
from nnkit.distributions.normal import Normal
from nnkit.distributions.relaxed import ContinuousBernoulli
from nnkit.distributions.tails import Gumbel, Pareto
from nnkit.distributions.utils import euler_constant as EULER

Mean = Callable[[Any], Tensor]


def _x_log_x(x: Tensor) -> Tensor:
    return xlogy(x, x)


_MEAN_LOG: dict[type, Mean] = {
    Beta: lambda p: digamma(p.concentration1) - digamma(p.concentration1 + p.concentration0),
    Exponential: lambda p: -EULER - p.rate.log(),
    Gamma: lambda p: digamma(p.concentration) - p.rate.log(),
    Pareto: lambda p: p.scale.log() + p.alpha.reciprocal(),
    Uniform: lambda p: (_x_log_x(p.high) - _x_log_x(p.low)) / (p.high - p.low) - 1,
}


def _mean_log_rest(p: Uniform) -> Tensor:
    """The mean of ``log(1 - x)``."""
    return (_x_log_x(1 - p.low) - _x_log_x(1 - p.high)) / (p.high - p.low) - 1


_MEAN_EXP: dict[type, Callable[[Any, Tensor], Tensor]] = {  # of exp(-x / scale)
    Exponential: lambda p, scale: p.rate * scale / (p.rate * scale + 1),
    Gamma: lambda p, scale: (1 + (p.rate * scale).reciprocal()).pow(-p.concentration),
    Normal: lambda p, scale: ((p.scale / scale).pow(2) / 2 - p.loc / scale).exp(),
    Uniform: lambda p, scale: (
        ((-p.low / scale).exp() - (-p.high / scale).exp()) * scale / (p.high - p.low)
    ),
}


def _mean_distance(p: Normal, loc: Tensor) -> Tensor:
    """The mean of ``|x - loc|``."""
    distance = p.loc - loc
    apart = distance / p.scale
    near = math.sqrt(2 / math.pi) * p.scale * (-0.5 * apart.pow(2)).exp()
    return near + distance * erf(math.sqrt(0.5) * apart)


def _log_beta(p: Any, q: Beta) -> Tensor:
    a, b = q.concentration1, q.concentration0
    constant = lgamma(a + b) - lgamma(a) - lgamma(b)
    return constant + (a - 1) * _MEAN_LOG[type(p)](p) + (b - 1) * _mean_log_rest(p)


def _log_gamma(p: Any, q: Gamma) -> Tensor:
    a, b = q.concentration, q.rate
    return a * b.log() - lgamma(a) + (a - 1) * _kind(_MEAN_LOG, p)(p) - b * p.mean


def _log_gumbel(p: Any, q: Gumbel) -> Tensor:
    tail = (q.loc / q.scale).exp() * _kind(_MEAN_EXP, p)(p, q.scale)
    return (q.loc - p.mean) / q.scale - tail - q.scale.log()


def _log_normal(p: Any, q: Normal) -> Tensor:
    square = (p.variance + (p.mean - q.loc).pow(2)) / q.scale.pow(2)
    return -0.5 * (square + math.log(2 * math.pi)) - q.scale.log()


def _kind(table: dict[type, Any], p: Any) -> Any:
    """The entry of the class of ``p``, or of the one that it is derived from."""
    return next(found for kind, found in table.items() if isinstance(p, kind))


# By q: E[log q(x)], and the families p that it can be computed for.
_MEAN_LOG_DENSITY: dict[type, tuple[Callable[[Any, Any], Tensor], tuple[type, ...]]] = {
    Beta: (_log_beta, (Uniform,)),
    ContinuousBernoulli: (
        lambda p, q: p.mean * q.logits + (-q.probs).log1p() + q._log_constant(),
        (Beta, Uniform),
    ),
    Exponential: (
        lambda p, q: q.rate.log() - q.rate * p.mean,
        (Beta, ContinuousBernoulli, Gamma, Pareto, Uniform),
    ),
    Gamma: (_log_gamma, (Beta, Exponential, Pareto, Uniform)),
    Gumbel: (_log_gumbel, (Exponential, Gamma, Normal, Uniform)),
    Laplace: (
        lambda p, q: -_mean_distance(p, q.loc) / q.scale - (2 * q.scale).log(),
        (Normal,),
    ),
    Normal: (
        _log_normal,
        (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform),
    ),
    Pareto: (
        lambda p, q: (q.alpha * q.scale.pow(q.alpha)).log() - (q.alpha + 1) * _MEAN_LOG[Uniform](p),
        (Uniform,),
    ),
    Poisson: (lambda p, q: p.probs * q.rate.log() - q.rate, (Bernoulli,)),
    Uniform: (lambda p, q: -(q.high - q.low).log(), (Beta, ContinuousBernoulli)),
}
# Where a family has values outside of another's: for which parameters. As in torch, ends that
# meet count as outside between a ContinuousBernoulli and a Uniform.
_OUTSIDE: dict[tuple[type, type], Callable[[Any, Any], Tensor]] = {
    (Beta, Uniform): lambda p, q: (q.low > 0) | (q.high < 1),
    (ContinuousBernoulli, Uniform): lambda p, q: (q.low >= 0) | (q.high <= 1),
    (Uniform, Beta): lambda p, q: (p.high > 1) | (p.low < 0),
    (Uniform, ContinuousBernoulli): lambda p, q: (p.high >= 1) | (p.low <= 0),
    (Uniform, Exponential): lambda p, q: p.low < 0,
    (Uniform, Gamma): lambda p, q: p.low < 0,
    (Uniform, Pareto): lambda p, q: p.low < q.scale,
}
# Families that always have; the shape of the result is that of the parameter.
_INFINITE: dict[type, tuple[str, tuple[type, ...]]] = {
    Beta: ("concentration1", (Pareto,)),
    ContinuousBernoulli: ("probs", (Pareto,)),
    Exponential: ("rate", (Beta, ContinuousBernoulli, Pareto, Uniform)),
    Gamma: ("concentration", (Beta, ContinuousBernoulli, Pareto, Uniform)),
    Pareto: ("scale", (Beta, ContinuousBernoulli, Uniform)),
    Poisson: ("rate", (Bernoulli, Binomial)),
    **dict.fromkeys(
        (Gumbel, Laplace, Normal),
        ("loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    ),
}


def _register(one: type, other: type, mean_log: Callable[[Any, Any], Tensor]) -> None:
    outside = _OUTSIDE.get((one, other))

    @register_kl(one, other)
    def divergence(p: Any, q: Any) -> Tensor:
        result = -p.entropy() - mean_log(p, q)
        return result if outside is None else result.masked_fill(outside(p, q), math.inf)


def _register_infinite(one: type, other: type, name: str) -> None:
    register_kl(one, other)(lambda p, q: full_like(getattr(p, name), math.inf))


for _other, (_mean_log, _families) in _MEAN_LOG_DENSITY.items():
    for _one in _families:
        _register(_one, _other, _mean_log)
for _one, (_name, _others) in _INFINITE.items():
    for _other in _others:
        _register_infinite(_one, _other, _name)
