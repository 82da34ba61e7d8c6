"""`Categorical`: one of a few classes."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Size, Tensor, no_grad
from nnkit.autograd.ops.creation.factories import arange
from nnkit.distributions import constraints
from nnkit.distributions.binary import given_of, one_of
from nnkit.distributions.distribution import Distribution
from nnkit.distributions.utils import lazy_property, logits_to_probs, probs_to_logits


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
    has_enumerate_support = True

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        one_of("Categorical", probs, logits)
        given = probs if logits is None else logits
        if given.ndim < 1:
            raise ValueError("Categorical: probs or logits must be at least one-dimensional")
        if logits is None:
            self.__dict__["probs"] = probs / probs.sum(-1, keepdim=True)
        else:
            self.__dict__["logits"] = logits - logits.logsumexp(-1, keepdim=True)
        self._num_events = given.shape[-1]
        super().__init__(given.shape[:-1], validate_args=validate_args)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits)

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return given_of(self).size()

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
        return self._enumerated(arange(self._num_events, device=given_of(self).device), expand)

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

    mean = property(lambda self: self.probs.new_full(self._batch_shape, float("nan")))
    variance = property(lambda self: self.mean)
    mode = property(lambda self: self.probs.argmax(-1))


class CategoricalParameters(Distribution):
    """Base class of distributions given by the parameters of a `Categorical`, whose classes lie
    along the dimension of its events."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(self, categorical: Categorical, validate_args: bool | None = None) -> None:
        self._categorical = categorical
        events = Size((categorical._num_events,))
        super().__init__(categorical.batch_shape, events, validate_args)

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
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return self._categorical.param_shape
