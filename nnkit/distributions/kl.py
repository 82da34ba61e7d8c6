"""The Kullback-Leibler divergence of two distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.engine.grad import grad
from nnkit.autograd.ops.elementwise.transcendental import digamma, lgamma
from nnkit.distributions.binary import Bernoulli, Binomial, Geometric
from nnkit.distributions.categorical import Categorical
from nnkit.distributions.continuous import Exponential, Laplace, Uniform
from nnkit.distributions.counts import OneHotCategorical, Poisson
from nnkit.distributions.distribution import Distribution
from nnkit.distributions.exp_family import ExponentialFamily
from nnkit.distributions.gamma import Beta, Dirichlet, Gamma
from nnkit.distributions.independent import Independent, sum_rightmost
from nnkit.distributions.normal import LowRankMultivariateNormal, MultivariateNormal, Normal
from nnkit.distributions.relaxed import ContinuousBernoulli
from nnkit.distributions.tails import Cauchy, Gumbel, HalfNormal, Pareto
from nnkit.distributions.transformed import TransformedDistribution
from nnkit.distributions.utils import euler_constant as EULER
from nnkit.linalg import solve_triangular

_KL_REGISTRY: dict[tuple[type, type], Callable[[Any, Any], Tensor]] = {}


def register_kl(type_p: type, type_q: type) -> Callable:
    """Decorate the function that computes the divergence of a ``type_p`` and a ``type_q``.

    Raises:
        TypeError: one of them is no class of distributions.

    Example:
        >>> import nnkit
        >>> class Point(nnkit.distributions.Distribution): arg_constraints = {}
        >>> @nnkit.distributions.register_kl(Point, Point)
        ... def divergence(p, q):
        ...     return nnkit.zeros(())
        >>> nnkit.distributions.kl_divergence(Point(), Point())
        tensor(0.)
    """

    for kind in (type_p, type_q):
        if not isinstance(kind, type):
            raise TypeError(f"register_kl: expected a class of distributions, got {kind!r}")

    def register(function: Callable) -> Callable:
        _KL_REGISTRY[type_p, type_q] = function
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
            if (one, other) in _KL_REGISTRY:
                return _KL_REGISTRY[one, other](p, q)
    raise NotImplementedError(
        f"kl_divergence: no formula for {type(p).__name__} and {type(q).__name__}"
    )


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale) ** 2
    distance = ((p.loc - q.loc) / q.scale) ** 2
    return 0.5 * (ratio + distance - 1 - ratio.log())


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("kl_divergence: both must be transformed in the same way")
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    """The Bregman divergence of the log normalizer, of their natural parameters."""
    if type(p) is not type(q):
        raise NotImplementedError(
            f"kl_divergence: no formula for {type(p).__name__} and {type(q).__name__}"
        )
    ours = [n.detach().requires_grad_() for n in p._natural_params]
    theirs = q._natural_params
    normalizer = p._log_normalizer(*ours)
    slopes = grad(normalizer.sum(), ours, create_graph=True)
    found = q._log_normalizer(*theirs) - normalizer
    events = len(q.event_shape)
    for n, other, slope in zip(ours, theirs, slopes):
        term = (other - n) * slope
        found = found - (term.reshape(*term.shape[:-events], -1).sum(-1) if events else term)
    return found


@register_kl(MultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _multivariate_normal(p: Any, q: Any) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(
            f"kl_divergence: the events must have one shape, got {tuple(p.event_shape)} and "
            f"{tuple(q.event_shape)}"
        )
    squares = _standardized(q, p) + _squared(q, (q.loc - p.loc).unsqueeze(-1))
    return q._half_log_det() - p._half_log_det() + 0.5 * (squares - p.loc.shape[-1])


def _standardized(q: Any, p: Any) -> Tensor:
    """The trace of q's precision times p's covariance."""
    if isinstance(p, MultivariateNormal):
        return _squared(q, p._unbroadcasted_scale_tril)
    return _squared(q, p.cov_factor) + _squared(q, p.cov_diag.sqrt().diag_embed())


def _squared(q: Any, columns: Tensor) -> Tensor:
    """The sum of ``c^T P c`` over the columns c of a matrix; P is q's precision."""
    if isinstance(q, MultivariateNormal):
        solved = solve_triangular(q._unbroadcasted_scale_tril, columns, upper=False)
        return solved.pow(2).sum((-2, -1))
    scaled = q.cov_factor.mT / q.cov_diag.unsqueeze(-2)
    mapped = solve_triangular(q._capacitance_tril, scaled @ columns, upper=False)
    plain = (columns.pow(2) / q.cov_diag.unsqueeze(-1)).sum((-2, -1))
    return plain - mapped.pow(2).sum((-2, -1))


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


@register_kl(Beta, Beta)
def _beta(p: Beta, q: Beta) -> Tensor:
    ours, theirs = p.concentration1 + p.concentration0, q.concentration1 + q.concentration0
    found = lgamma(ours) - lgamma(theirs) + (theirs - ours) * digamma(ours)
    for name in ("concentration1", "concentration0"):
        found = found + _of_shapes(getattr(p, name), getattr(q, name))
    return found


def _of_shapes(ours: Tensor, theirs: Tensor) -> Tensor:
    return lgamma(theirs) - lgamma(ours) + (ours - theirs) * digamma(ours)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    ours, theirs = p.concentration.sum(-1), q.concentration.sum(-1)
    parts = _of_shapes(p.concentration, q.concentration).sum(-1)
    return lgamma(ours) - lgamma(theirs) + (theirs - ours) * digamma(ours) + parts


@register_kl(Gamma, Gamma)
def _gamma(p: Gamma, q: Gamma) -> Tensor:
    ratio = p.rate / q.rate
    scaled = (q.rate - p.rate) * (p.concentration / p.rate)
    return q.concentration * ratio.log() + _of_shapes(p.concentration, q.concentration) + scaled


@register_kl(Binomial, Binomial)
def _binomial(p: Binomial, q: Binomial) -> Tensor:
    if bool((p.total_count < q.total_count).any()):
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    each = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return (p.total_count * each).masked_fill(p.total_count > q.total_count, float("inf"))


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    ours = p._log_constant() + (-p.probs).log1p()
    return p.mean * (p.logits - q.logits) + ours - q._log_constant() - (-q.probs).log1p()


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio, shift = p.scale / q.scale, (p.loc - q.loc) / q.scale
    tail = (lgamma(1 + ratio) - shift).exp()
    return shift - ratio.log() + ratio * EULER + tail - (1 + EULER)


@register_kl(Geometric, Geometric)
def _geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(Pareto, Pareto)
def _pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return result.masked_fill(p.scale < q.scale, float("inf"))


@register_kl(Poisson, Poisson)
def _poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    squares = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return squares.log() - (4 * p.scale * q.scale).log()
