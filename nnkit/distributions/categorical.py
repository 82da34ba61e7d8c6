"""Distributions over a few values: `Categorical` and `Bernoulli`."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor, no_grad
from nnkit.autograd.limits import finfo
from nnkit.autograd.ops.creation import arange
from nnkit.autograd.ops.random import bernoulli
from nnkit.distributions import constraints
from nnkit.distributions.distribution import Distribution, parameters
from nnkit.nn.functional import binary_cross_entropy_with_logits


def _one_of(name: str, probs: Any, logits: Any) -> None:
    if (probs is None) == (logits is None):
        raise ValueError(f"{name}: either probs or logits must be given, but not both")


def _clamped(probs: Tensor) -> Tensor:
    eps = finfo(probs.dtype).eps
    return probs.clamp(eps, 1 - eps)


class Categorical(Distribution):
    """One of n classes.

    Args:
        probs: (*, n), not negative; they need not add up to 1.
        logits: (*, n), instead: their logarithms, up to a constant.
        validate_args: check parameters and values.

    Raises:
        ValueError: not exactly one of them is given, it has no dimension, or is out of range.

    Source: ``torch.distributions.Categorical``.

    Example:
        >>> import nnkit
        >>> distribution = nnkit.distributions.Categorical(nnkit.tensor([1.0, 1.0, 2.0]))
        >>> distribution.log_prob(nnkit.tensor(2)).exp()
        tensor(0.5000)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    arg_names = ("probs", "logits")

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        _one_of("Categorical", probs, logits)
        given = probs if logits is None else logits
        if given.ndim < 1:
            raise ValueError("Categorical: probs or logits must be at least one-dimensional")
        super().__init__(given.shape[:-1], (), validate_args)
        if logits is None:
            total = probs.sum(-1, keepdim=True)
            self._check_parameter(
                "probs", probs, (probs >= 0).all(-1, True) & (total > 0), "a distribution"
            )
            self.probs = probs / total
        else:
            self._check_parameter("logits", logits, logits == logits, "real")
            self.logits = logits - logits.logsumexp(-1, keepdim=True)
        self._num_events = given.shape[-1]

    def __getattr__(self, name: str) -> Tensor:
        if name == "probs":
            self.probs = self.logits.softmax(-1)
        elif name == "logits":
            self.logits = _clamped(self.probs).log()
        else:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return self.__dict__[name]

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        rows = self.probs.detach().reshape(-1, self._num_events)
        count = 1
        for size in sample_shape:
            count *= size
        with no_grad():
            drawn = rows.multinomial(count, True).T
        return drawn.reshape(self._extended_shape(sample_shape))

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(arange(self._num_events, device=self.logits.device), expand)

    def log_prob(self, value: Tensor) -> Tensor:
        n = self._num_events
        self._validate_sample(value)
        index = value.long().unsqueeze(-1)
        shape = (index[..., 0] + self.logits[..., 0].detach() * 0).shape
        logits = self.logits.expand(*shape, n)
        return logits.gather(-1, index.expand(*shape, 1)).squeeze(-1)

    def entropy(self) -> Tensor:
        least = -3.4028234663852886e38 if self.logits.dtype.itemsize == 4 else -1.7e308
        return -(self.logits.clamp(min=least) * self.probs).sum(-1)

    @property
    def mean(self) -> Tensor:
        return self.probs.new_full(self._batch_shape, float("nan"))

    @property
    def variance(self) -> Tensor:
        return self.mean

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(-1)


class Bernoulli(Distribution):
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

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    arg_names = ("probs", "logits")

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        _one_of("Bernoulli", probs, logits)
        (given,) = parameters(probs if logits is None else logits)
        super().__init__(given.shape, (), validate_args)
        if logits is None:
            self._check_parameter("probs", given, (given >= 0) & (given <= 1), "from 0 to 1")
            self.probs = given
        else:
            self._check_parameter("logits", given, given == given, "real")
            self.logits = given

    def __getattr__(self, name: str) -> Tensor:
        if name == "probs":
            self.probs = self.logits.sigmoid()
        elif name == "logits":
            clamped = _clamped(self.probs)
            self.logits = clamped.log() - (-clamped).log1p()
        else:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return self.__dict__[name]

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def enumerate_support(self, expand: bool = True) -> Tensor:
        like = self.logits
        return self._enumerated(arange(2, dtype=like.dtype, device=like.device), expand)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        logits, value = parameters(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    @property
    def mode(self) -> Tensor:
        mode = (self.probs >= 0.5).to(self.probs.dtype)
        return mode.masked_fill(self.probs == 0.5, float("nan"))
