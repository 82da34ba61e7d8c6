"""`Poisson`, `Geometric` and `OneHotCategorical`."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Size, Tensor, no_grad
from nnkit.autograd.limits import finfo
from nnkit.autograd.ops.creation import eye
from nnkit.autograd.ops.random import poisson
from nnkit.autograd.ops.transcendental import lgamma
from nnkit.distributions import constraints
from nnkit.distributions.categorical import Categorical
from nnkit.distributions.distribution import Distribution, parameters
from nnkit.distributions.utils import probs_to_logits
from nnkit.nn.functional import binary_cross_entropy_with_logits, one_hot


class Poisson(Distribution):
    """The probability ``rate**k * exp(-rate) / k!`` of k events.

    Raises:
        ValueError: ``rate`` is negative.

    Source: ``torch.distributions.Poisson``.

    Example:
        >>> import nnkit
        >>> nnkit.distributions.Poisson(2.0).log_prob(nnkit.tensor(0.0))
        tensor(-2.)
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    arg_names = ("rate",)

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = parameters(rate)
        super().__init__(self.rate.shape, (), validate_args)

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        return self.rate

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        rate, value = parameters(self.rate, value)
        return value.xlogy(rate) - rate - lgamma(value + 1)


class Geometric(Distribution):
    """The probability ``probs * (1 - probs)**k`` of k failures before the first success.

    Args:
        probs: the probability of success.
        logits: instead: ``log(p / (1 - p))``.

    Raises:
        ValueError: not exactly one of them is given, or it is out of range.

    Source: ``torch.distributions.Geometric``.

    Example:
        >>> import nnkit
        >>> nnkit.distributions.Geometric(0.25).mean
        tensor(3.)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer
    arg_names = ("probs", "logits")

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Geometric: either probs or logits must be given, but not both")
        (given,) = parameters(probs if logits is None else logits)
        self.__dict__["probs" if logits is None else "logits"] = given
        super().__init__(given.shape, (), validate_args)
        if logits is None:
            self._check_parameter("probs", given, given > 0, "positive")

    def __getattr__(self, name: str) -> Tensor:
        if name == "probs":
            self.probs = self.logits.sigmoid()
        elif name == "logits":
            self.logits = probs_to_logits(self.probs, is_binary=True)
        else:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return self.__dict__[name]

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return self.probs.new_zeros(self.probs.shape)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

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


class OneHotCategorical(Distribution):
    """One of n classes, as a vector with a 1 in its place.

    Args:
        probs, logits: see `Categorical`.

    Source: ``torch.distributions.OneHotCategorical``.

    Example:
        >>> import nnkit
        >>> distribution = nnkit.distributions.OneHotCategorical(nnkit.tensor([1.0, 3.0]))
        >>> distribution.log_prob(nnkit.tensor([0.0, 1.0])).exp()
        tensor(0.7500)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits, validate_args)
        events = Size((self._categorical._num_events,))
        super().__init__(self._categorical.batch_shape, events, validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._categorical = self._categorical.expand(batch_shape)
        return new

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return one_hot(self.probs.argmax(-1), self.probs.shape[-1]).to(self.probs.dtype)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        drawn = self._categorical.sample(sample_shape)
        return one_hot(drawn, self.probs.shape[-1]).to(self.probs.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self.event_shape[0]
        values = eye(n, dtype=self.probs.dtype, device=self.probs.device)
        values = values.view(n, *[1 for _ in self.batch_shape], n)
        return values.expand(n, *self.batch_shape, n) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """`OneHotCategorical` whose draws have the gradient of the probabilities.

    Source: ``torch.distributions.OneHotCategoricalStraightThrough``.
    """

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        drawn = self.sample(sample_shape)
        return drawn + (self.probs - self.probs.detach())
