"""The Kullback-Leibler divergence of two distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.autograd import Tensor
from nnkit.distributions.binary import Bernoulli
from nnkit.distributions.categorical import Categorical
from nnkit.distributions.continuous import Exponential, Laplace, Uniform
from nnkit.distributions.distribution import Distribution
from nnkit.distributions.independent import Independent, sum_rightmost
from nnkit.distributions.normal import LogNormal, MultivariateNormal, Normal
from nnkit.linalg import solve_triangular

_FORMULAS: dict[tuple[type, type], Callable[[Any, Any], Tensor]] = {}


def register_kl(p: type, q: type) -> Callable:
    """Decorate the function that computes the divergence of a ``p`` and a ``q``.

    Raises:
        TypeError: one of them is no class of distributions.

    Example:
        >>> import nnkit
        >>> class Point(nnkit.distributions.Distribution): ...
        >>> @nnkit.distributions.register_kl(Point, Point)
        ... def divergence(p, q):
        ...     return nnkit.zeros(())
        >>> nnkit.distributions.kl_divergence(Point(), Point())
        tensor(0.)
    """

    for kind in (p, q):
        if not isinstance(kind, type):
            raise TypeError(f"register_kl: expected a class of distributions, got {kind!r}")

    def register(function: Callable) -> Callable:
        _FORMULAS[p, q] = function
        return function

    return register


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The mean of ``log(p(x) / q(x))`` over x drawn from p.

    Raises:
        NotImplementedError: no formula is known for these two.

    Example:
        >>> import nnkit
        >>> Normal = nnkit.distributions.Normal
        >>> nnkit.distributions.kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
        tensor(0.5000)
    """
    for one in type(p).__mro__:
        for other in type(q).__mro__:
            if (one, other) in _FORMULAS:
                return _FORMULAS[one, other](p, q)
    raise NotImplementedError(
        f"kl_divergence: no formula for {type(p).__name__} and {type(q).__name__}"
    )


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale) ** 2
    distance = ((p.loc - q.loc) / q.scale) ** 2
    return 0.5 * (ratio + distance - 1 - ratio.log())


@register_kl(LogNormal, LogNormal)
def _log_normal(p: LogNormal, q: LogNormal) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    spread = solve_triangular(q._unbroadcasted_scale_tril, p._unbroadcasted_scale_tril, upper=False)
    shift = solve_triangular(
        q._unbroadcasted_scale_tril, (q.loc - p.loc).unsqueeze(-1), upper=False
    )
    squares = (spread**2).sum((-2, -1)) + (shift**2).sum((-2, -1))
    return q._half_log_det() - p._half_log_det() + 0.5 * (squares - p.loc.shape[-1])


@register_kl(Categorical, Categorical)
def _categorical(p: Categorical, q: Categorical) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    terms = terms.masked_fill((q.probs == 0).expand_as(terms), float("inf"))
    return terms.masked_fill((p.probs == 0).expand_as(terms), 0.0).sum(-1)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    def part(one: Tensor, other: Tensor) -> Tensor:
        term = one * (one / other).log()
        return term.masked_fill(other == 0, float("inf")).masked_fill(one == 0, 0.0)

    return part(p.probs, q.probs) + part(1 - p.probs, 1 - q.probs)


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return result.masked_fill((q.low > p.low) | (q.high < p.high), float("inf"))


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio = p.scale / q.scale
    distance = (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * (-distance / p.scale).exp() - 1


@register_kl(Independent, Independent)
def _independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("kl_divergence: both must have reinterpreted as many dimensions")
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)
