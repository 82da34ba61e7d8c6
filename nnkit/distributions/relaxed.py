"""Discrete choices made continuous: `RelaxedBernoulli`, `RelaxedOneHotCategorical`,
`ContinuousBernoulli` and `LogisticNormal`."""

from __future__ import annotations

import math
from typing import Any

from nnkit.autograd import Tensor, no_grad
from nnkit.autograd.ops.elementwise.transcendental import lgamma
from nnkit.autograd.ops.random.factories import rand
from nnkit.distributions import constraints
from nnkit.distributions.binary import BinaryDistribution
from nnkit.distributions.categorical import Categorical, CategoricalParameters
from nnkit.distributions.distribution import parameters
from nnkit.distributions.exp_family import ExponentialFamily
from nnkit.distributions.normal import Normal
from nnkit.distributions.transformed import TransformedDistribution
from nnkit.distributions.transforms import ExpTransform, SigmoidTransform, StickBreakingTransform
from nnkit.distributions.utils import clamp_probs, lazy_property, logits_to_probs
from nnkit.nn.functional import binary_cross_entropy_with_logits


def _uniforms(shape: Any, like: Tensor) -> Tensor:
    return clamp_probs(rand(shape, dtype=like.dtype, device=like.device))


class _Relaxed(TransformedDistribution):
    """A relaxed choice, with the parameters of the one that it is made of."""

    @property
    def temperature(self) -> Tensor:
        """The temperature."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """The logits of the choice at temperature 0."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities of the choice at temperature 0."""
        return self.base_dist.probs


class LogitRelaxedBernoulli(BinaryDistribution):
    """The logit of `RelaxedBernoulli`: a logistic number around ``logits``, over ``temperature``.

    Source: Maddison et al. 2017, "The concrete distribution".

    Example:
        >>> import nnkit
        >>> from nnkit.distributions.relaxed import LogitRelaxedBernoulli
        >>> LogitRelaxedBernoulli(nnkit.tensor(1.0), 0.5).log_prob(nnkit.tensor(0.0)).exp()
        tensor(0.2500)
    """

    has_rsample = True
    support = constraints.real

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(probs, logits, validate_args)
        self.temperature = temperature

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new.temperature = self.temperature
        return new

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = _uniforms(shape, probs)
        logits = u.log() - (-u).log1p() + probs.log() - (-probs).log1p()
        return logits / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        logits, value = parameters(self.logits, value)
        difference = logits - value.mul(self.temperature)
        return self.temperature.log() + difference - 2 * difference.exp().log1p()


class RelaxedBernoulli(_Relaxed):
    """Numbers between 0 and 1, the nearer to 0 or 1 the lower the temperature is.

    Args:
        temperature: a tensor, positive.
        probs: the probability of 1 at temperature 0.
        logits: instead: ``log(p / (1 - p))``.
        validate_args: check parameters and values.

    Source: ``torch.distributions.RelaxedBernoulli``; Maddison et al. 2017, "The concrete
    distribution".

    Example:
        >>> import nnkit
        >>> distribution = nnkit.distributions.RelaxedBernoulli(nnkit.tensor(1.0), 0.5)
        >>> distribution.log_prob(nnkit.tensor(0.25))
        tensor(0.)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args)


class ExpRelaxedCategorical(CategoricalParameters):
    """The logarithm of `RelaxedOneHotCategorical`.

    Source: Maddison et al. 2017, "The concrete distribution", appendix C.3.
    """

    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(Categorical(probs, logits), validate_args)
        self.temperature = temperature

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new.temperature = self.temperature
        return new

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        gumbel = -((-(_uniforms(shape, self.logits).log())).log())
        scores = (self.logits + gumbel) / self.temperature
        return scores - scores.logsumexp(-1, True)

    def log_prob(self, value: Tensor) -> Tensor:
        n = self._categorical._num_events
        self._validate_sample(value)
        logits, value = parameters(self.logits, value)
        scale = lgamma(self.temperature.new_full(self.temperature.shape, float(n)))
        scale = scale - self.temperature.log().mul(-(n - 1))
        score = logits - value.mul(self.temperature)
        return (score - score.logsumexp(-1, True)).sum(-1) + scale


class RelaxedOneHotCategorical(_Relaxed):
    """Points of a simplex, the nearer to its corners the lower the temperature is.

    Args:
        temperature: a tensor, positive.
        probs, logits: see `Categorical`.
        validate_args: check parameters and values.

    Source: ``torch.distributions.RelaxedOneHotCategorical``; Maddison et al. 2017, "The concrete
    distribution".

    Example:
        >>> import nnkit
        >>> temperature, probs = nnkit.tensor(1.0), nnkit.tensor([0.5, 0.5])
        >>> distribution = nnkit.distributions.RelaxedOneHotCategorical(temperature, probs)
        >>> distribution.log_prob(nnkit.tensor([0.25, 0.75])).exp()
        tensor(1.)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args)


class ContinuousBernoulli(BinaryDistribution, ExponentialFamily):
    """The density ``p**x * (1 - p)**(1 - x)``, up to a constant, for x from 0 to 1.

    Args:
        probs: p, no probability here.
        logits: instead: ``log(p / (1 - p))``.
        lims: between them, near 1/2, series take the place of what would divide by 0.
        validate_args: check parameters and values.

    Raises:
        ValueError: not exactly one of probs and logits is given, or one is out of range.

    Source: ``torch.distributions.ContinuousBernoulli``; Loaiza-Ganem and Cunningham 2019, "The
    continuous Bernoulli".

    Example:
        >>> import nnkit
        >>> nnkit.distributions.ContinuousBernoulli(0.5).mean
        tensor(0.5000)
    """

    has_rsample = True
    support = constraints.unit_interval

    def __init__(
        self, probs: Any = None, logits: Any = None, lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(probs, logits, validate_args)
        if logits is None:
            self.__dict__["probs"] = clamp_probs(self.probs)
        self._lims = lims

    @lazy_property
    def probs(self) -> Tensor:
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _outside(self) -> Tensor:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut(self) -> Tensor:
        """The parameter, where it is so near to 1/2 the end of that region."""
        return self.probs.where(self._outside(), self.probs.new_full((), self._lims[0]))

    def _log_constant(self) -> Tensor:
        p = self._cut()
        below = p.where(p <= 0.5, p.new_zeros(()))
        above = p.where(p >= 0.5, p.new_ones(()))
        log_ratio = ((-p).log1p() - p.log()).abs().log()
        scale = (-2.0 * below).log1p().where(p <= 0.5, (2.0 * above - 1.0).log())
        x = (self.probs - 0.5).pow(2)
        near = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return (log_ratio - scale).where(self._outside(), near)

    @property
    def mean(self) -> Tensor:
        p = self._cut()
        far = p / (2.0 * p - 1.0) + 1.0 / ((-p).log1p() - p.log())
        x = self.probs - 0.5
        near = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x
        return far.where(self._outside(), near)

    stddev = property(lambda self: self.variance.sqrt())

    @property
    def variance(self) -> Tensor:
        p = self._cut()
        far = p * (p - 1.0) / (1.0 - 2.0 * p).pow(2) + 1.0 / ((-p).log1p() - p.log()).pow(2)
        x = (self.probs - 0.5).pow(2)
        near = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x
        return far.where(self._outside(), near)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        logits, value = parameters(self.logits, value)
        crossed = binary_cross_entropy_with_logits(logits, value, reduction="none")
        return -crossed + self._log_constant()

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        p = self._cut()
        far = (p.pow(value) * (1.0 - p).pow(1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        inside = far.where(self._outside(), value)
        inside = inside.masked_fill((value <= 0.0).expand_as(inside), 0.0)
        return inside.masked_fill((value >= 1.0).expand_as(inside), 1.0)

    def icdf(self, value: Tensor) -> Tensor:
        p = self._cut()
        far = ((-p + value * (2.0 * p - 1.0)).log1p() - (-p).log1p()) / (p.log() - (-p).log1p())
        return far.where(self._outside(), value)

    def entropy(self) -> Tensor:
        log0, log1 = (-self.probs).log1p(), self.probs.log()
        return self.mean * (log0 - log1) - self._log_constant() - log0

    _mean_carrier_measure = 0.0

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.probs.logit(),)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        outside = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = x.where(outside, x.new_full((), self._lims[0] - 0.5))
        far = (cut.exp() - 1).abs().log() - cut.abs().log()
        return far.where(outside, 0.5 * x + x.pow(2) / 24 - x.pow(4) / 2880)


class LogisticNormal(TransformedDistribution):
    """Points of a simplex: what stick breaking makes of normal numbers.

    Args:
        loc, scale: of the normal numbers.
        validate_args: check values.

    Source: ``torch.distributions.LogisticNormal``.

    Example:
        >>> import nnkit
        >>> distribution = nnkit.distributions.LogisticNormal(nnkit.zeros(3), nnkit.ones(3))
        >>> distribution.event_shape
        nnkit.Size([4])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args)

    @property
    def loc(self) -> Tensor:
        """The means of the normal numbers."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviations of the normal numbers."""
        return self.base_dist.base_dist.scale
