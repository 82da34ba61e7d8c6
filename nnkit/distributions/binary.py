"""Distributions of trials that succeed or fail: `Bernoulli`, `Binomial`, `NegativeBinomial` and
`Geometric`."""

from __future__ import annotations

import math
from typing import Any

from nnkit.autograd import Size, Tensor, no_grad
from nnkit.autograd.ops.creation.factories import arange
from nnkit.autograd.ops.elementwise.transcendental import lgamma
from nnkit.autograd.ops.random.factories import bernoulli, binomial, poisson
from nnkit.autograd.surface.limits import finfo
from nnkit.distributions import constraints
from nnkit.distributions.distribution import Distribution, parameters
from nnkit.distributions.exp_family import ExponentialFamily
from nnkit.distributions.gamma import Gamma
from nnkit.distributions.utils import lazy_property, logits_to_probs, probs_to_logits
from nnkit.nn.functional import binary_cross_entropy_with_logits, logsigmoid


def one_of(name: str, probs: Any, logits: Any) -> None:
    """ValueError unless exactly one of them is given."""
    if (probs is None) == (logits is None):
        raise ValueError(f"{name}: either probs or logits must be given, but not both")


def given_of(distribution: Distribution) -> Tensor:
    """Its probs if those were given, else its logits."""
    kept = vars(distribution)
    return kept["probs"] if "probs" in kept else kept["logits"]


class BinaryDistribution(Distribution):
    """Base class of distributions given by the probability of a success or by its logit.

    Args:
        probs: the probability.
        logits: instead: ``log(p / (1 - p))``.
        validate_args: check parameters and values.
        others: further parameters, which get the dtype of this one.

    Raises:
        ValueError: not exactly one of probs and logits is given, or one is out of range.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    arg_names = ("probs", "logits")

    def __init__(
        self, probs: Any, logits: Any, validate_args: bool | None = None, **others: Any
    ) -> None:
        one_of(type(self).__name__, probs, logits)
        given, *counts = parameters(probs if logits is None else logits, *others.values())
        self.__dict__["probs" if logits is None else "logits"] = given
        self.__dict__.update(zip(others, [count.type_as(given) for count in counts], strict=True))
        super().__init__(given.shape, validate_args=validate_args)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits, is_binary=True)

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, is_binary=True)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return given_of(self).size()


class Bernoulli(BinaryDistribution, ExponentialFamily):
    """1 with probability ``probs``, else 0.

    Args:
        probs: numbers or a tensor, from 0 to 1.
        logits: instead: ``log(p / (1 - p))``.
        validate_args: check parameters and values.

    Raises:
        ValueError: not exactly one of them is given, or it is out of range.

    Source: ``torch.distributions.Bernoulli``.

    Example:
        >>> import nnkit
        >>> nnkit.distributions.Bernoulli(0.25).log_prob(nnkit.tensor(1.0)).exp()
        tensor(0.2500)
    """

    support = constraints.boolean
    has_enumerate_support = True

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(probs, logits, validate_args)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def enumerate_support(self, expand: bool = True) -> Tensor:
        like = given_of(self)
        return self._enumerated(arange(2, dtype=like.dtype, device=like.device), expand)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        logits, value = parameters(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    _mean_carrier_measure = 0.0

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.probs.logit(),)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return x.exp().log1p()

    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    @property
    def mode(self) -> Tensor:
        mode = (self.probs >= 0.5).to(self.probs.dtype)
        return mode.masked_fill(self.probs == 0.5, math.nan)


class Binomial(BinaryDistribution):
    """The number of successes among ``total_count`` trials.

    Args:
        total_count: an int, or a tensor of them.
        probs: the probability of success.
        logits: instead: ``log(p / (1 - p))``.
        validate_args: check parameters and values.

    Raises:
        ValueError: not exactly one of probs and logits is given, or one is out of range.

    Source: ``torch.distributions.Binomial``.

    Example:
        >>> import nnkit
        >>> nnkit.distributions.Binomial(4, 0.5).log_prob(nnkit.tensor(2.0)).exp()
        tensor(0.3750)
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    arg_names = ("total_count", "probs", "logits")
    has_enumerate_support = True

    total_count: Tensor

    def __init__(
        self,
        total_count: Any = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(probs, logits, validate_args, total_count=total_count)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    mean = property(lambda self: self.total_count * self.probs)

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        n, logits = self.total_count, self.logits
        constant = -n * logsigmoid(-logits) - lgamma(n + 1)
        return value * logits - lgamma(value + 1) - lgamma(n - value + 1) - constant

    def entropy(self) -> Tensor:
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        total = int(self.total_count.max())
        if not bool((self.total_count == total).all()):
            raise NotImplementedError("Binomial: the counts differ, so there is no common support")
        like = given_of(self)
        return self._enumerated(arange(1 + total, dtype=like.dtype, device=like.device), expand)


class NegativeBinomial(BinaryDistribution):
    """The number of successes before ``total_count`` trials have failed.

    Args:
        total_count: not negative.
        probs: the probability of success, below 1.
        logits: instead: ``log(p / (1 - p))``.
        validate_args: check parameters and values.

    Raises:
        ValueError: not exactly one of probs and logits is given, or one is out of range.

    Source: ``torch.distributions.NegativeBinomial``.

    Example:
        >>> import nnkit
        >>> nnkit.distributions.NegativeBinomial(2, 0.5).mean
        tensor(2.)
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    arg_names = ("total_count", "probs", "logits")

    total_count: Tensor

    def __init__(
        self,
        total_count: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(probs, logits, validate_args, total_count=total_count)

    mean = property(lambda self: self.total_count * self.logits.exp())

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    variance = property(lambda self: self.mean / (-self.logits).sigmoid())

    def sample(self, sample_shape: Any = ()) -> Tensor:
        rate = Gamma(self.total_count, (-self.logits).exp(), validate_args=False)
        with no_grad():
            return poisson(rate.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        n, logits = self.total_count, self.logits
        arrangements = lgamma(n + value) - lgamma(1 + value) - lgamma(n)
        arrangements = arrangements.masked_fill(n + value == 0, 0.0)
        return n * logsigmoid(-logits) + value * logsigmoid(logits) + arrangements


class Geometric(BinaryDistribution):
    """The probability ``probs * (1 - probs)**k`` of k failures before the first success.

    Args:
        probs: the probability of success.
        logits: instead: ``log(p / (1 - p))``.
        validate_args: check parameters and values.

    Raises:
        ValueError: not exactly one of them is given, or it is out of range.

    Source: ``torch.distributions.Geometric``.

    Example:
        >>> import nnkit
        >>> nnkit.distributions.Geometric(0.25).mean
        tensor(3.)
    """

    support = constraints.nonnegative_integer

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(probs, logits, validate_args)
        if logits is None:
            self._check_parameter("probs", self.probs, constraints.positive)

    mean = property(lambda self: 1.0 / self.probs - 1.0)
    mode = property(lambda self: self.probs.new_zeros(self.probs.shape))
    variance = property(lambda self: (1.0 / self.probs - 1.0) / self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            u = self.probs.new_empty(shape).uniform_(finfo(self.probs.dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        value, probs = parameters(value, self.probs)
        failure = (-probs.masked_fill((probs == 1) & (value == 0), 0.0)).log1p()
        return value * failure + self.probs.log()

    def entropy(self) -> Tensor:
        crossed = binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
        return crossed / self.probs
