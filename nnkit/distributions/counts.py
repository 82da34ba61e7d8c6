"""Counts of events and of classes: `Poisson`, `Multinomial` and `OneHotCategorical`."""

from __future__ import annotations

import math
from typing import Any

from nnkit.autograd import Tensor, no_grad
from nnkit.autograd.ops.creation.factories import eye, ones_like
from nnkit.autograd.ops.elementwise.transcendental import lgamma
from nnkit.autograd.ops.random.factories import poisson
from nnkit.distributions import constraints
from nnkit.distributions.binary import Binomial
from nnkit.distributions.categorical import Categorical, CategoricalParameters
from nnkit.distributions.distribution import parameters
from nnkit.distributions.exp_family import ExponentialFamily
from nnkit.nn.functional import one_hot


class Poisson(ExponentialFamily):
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
        super().__init__(self.rate.shape, validate_args=validate_args)

    mean = property(lambda self: self.rate)
    mode = property(lambda self: self.rate.floor())
    variance = property(lambda self: self.rate)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        rate, value = parameters(self.rate, value)
        return value.xlogy(rate) - rate - lgamma(value + 1)

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.rate.log(),)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return x.exp()


class Multinomial(CategoricalParameters):
    """The number of times that each of n classes comes in ``total_count`` draws.

    Args:
        total_count: how many draws.
        probs, logits: (*, n), see `Categorical`.
        validate_args: check parameters and values.

    Raises:
        NotImplementedError: ``total_count`` is no int.
        ValueError: see `Categorical`.

    Source: ``torch.distributions.Multinomial``.

    Example:
        >>> import nnkit
        >>> distribution = nnkit.distributions.Multinomial(2, nnkit.tensor([0.5, 0.5]))
        >>> distribution.log_prob(nnkit.tensor([1.0, 1.0])).exp()
        tensor(0.5000)
    """

    def __init__(
        self,
        total_count: int = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            got = type(total_count).__name__
            raise NotImplementedError(f"Multinomial: total_count must be an int, got {got}")
        self.total_count = total_count
        categorical = Categorical(probs, logits)
        self._binomial = Binomial(total_count, categorical.probs)
        super().__init__(categorical, validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        draws = self._categorical.sample((self.total_count, *sample_shape)).movedim(0, -1)
        counts = self.probs.new_zeros(self._extended_shape(sample_shape), dtype=draws.dtype)
        counts.scatter_add_(-1, draws, ones_like(draws))
        return counts.to(self.probs.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        logits, value = parameters(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0.0)
        arrangements = lgamma(value.sum(-1) + 1) - lgamma(value + 1).sum(-1)
        return arrangements + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        n = self.probs.new_full((), self.total_count)
        counts = self._binomial.enumerate_support(expand=False)[1:]
        repeated = (self._binomial.log_prob(counts).exp() * lgamma(counts + 1)).sum((0, -1))
        return n * self._categorical.entropy() - lgamma(n + 1) + repeated


class OneHotCategorical(CategoricalParameters):
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

    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(Categorical(probs, logits, validate_args), validate_args)

    mean = property(lambda self: self.probs)

    @property
    def mode(self) -> Tensor:
        return one_hot(self.probs.argmax(-1), self.probs.shape[-1]).to(self.probs.dtype)

    variance = property(lambda self: self.probs * (1 - self.probs))

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
