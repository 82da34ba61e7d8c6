"""`MixtureSameFamily`."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Size, Tensor, no_grad
from nnkit.distributions import constraints
from nnkit.distributions.categorical import Categorical
from nnkit.distributions.distribution import Distribution


class MixtureSameFamily(Distribution):
    """A draw of one of several distributions of one kind, chosen by a `Categorical`.

    Args:
        mixture_distribution: chooses; its batch shape is that of the components without their
            last batch dimension, and it has as many classes as that dimension is long.
        component_distribution: those to choose from, along the last dimension of its batch.
        validate_args: check values.

    Raises:
        ValueError: one is of another class, or their shapes do not fit.

    Source: ``torch.distributions.MixtureSameFamily``.

    Example:
        >>> import nnkit
        >>> d = nnkit.distributions
        >>> two = d.Normal(nnkit.tensor([-1.0, 1.0]), 1.0)
        >>> d.MixtureSameFamily(d.Categorical(nnkit.ones(2)), two).mean
        tensor(0.)
    """

    arg_constraints: Any = {}

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        mixture, component = mixture_distribution, component_distribution
        for given, kind in ((mixture, Categorical), (component, Distribution)):
            if not isinstance(given, kind):
                raise ValueError(
                    f"MixtureSameFamily: expected a {kind.__name__}, got {type(given).__name__}"
                )
        batch = component.batch_shape[:-1]
        for size, other in zip(reversed(mixture.batch_shape), reversed(batch), strict=False):
            if size != 1 and other != 1 and size != other:
                raise ValueError(
                    f"MixtureSameFamily: the batch shape of mixture_distribution "
                    f"{tuple(mixture.batch_shape)} does not fit the components' {tuple(batch)}"
                )
        classes = mixture.logits.shape[-1]
        if classes != component.batch_shape[-1]:
            raise ValueError(
                f"MixtureSameFamily: mixture_distribution chooses of {classes}, and there are "
                f"{component.batch_shape[-1]} components"
            )
        self._mixture_distribution, self._component_distribution = mixture, component
        self._num_component = classes
        self._event_ndims = len(component.event_shape)
        super().__init__(batch, component.event_shape, validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(type(self), _instance)
        new.__dict__.update(self.__dict__)
        shape = Size(batch_shape)
        new._component_distribution = self._component_distribution.expand(
            (*shape, self._num_component)
        )
        new._mixture_distribution = self._mixture_distribution.expand(shape)
        new._batch_shape = shape
        return new

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """The distribution that chooses a component."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components, one of which is chosen."""
        return self._component_distribution

    def _chances(self) -> Tensor:
        chances = self.mixture_distribution.probs
        return chances.reshape((*chances.shape, *[1 for _ in self._event_shape]))

    def _along(self) -> int:
        """The dimension of the components."""
        return -1 - self._event_ndims

    @property
    def mean(self) -> Tensor:
        return (self._chances() * self.component_distribution.mean).sum(self._along())

    @property
    def variance(self) -> Tensor:
        within = (self._chances() * self.component_distribution.variance).sum(self._along())
        apart = self.component_distribution.mean - self.mean.unsqueeze(self._along())
        return within + (self._chances() * apart.pow(2.0)).sum(self._along())

    def cdf(self, value: Tensor) -> Tensor:
        found = self.component_distribution.cdf(value.unsqueeze(self._along()))
        return (found * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        found = self.component_distribution.log_prob(value.unsqueeze(self._along()))
        return (found + self.mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            chosen = self.mixture_distribution.sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            along = len(sample_shape) + len(self.batch_shape)
            ones = [1 for _ in self._event_shape]
            chosen = chosen.reshape((*chosen.shape, 1, *ones))
            chosen = chosen.expand(*chosen.shape[: along + 1], *self._event_shape)
            return drawn.gather(along, chosen).squeeze(along)

    def __repr__(self) -> str:
        parts = f"{self.mixture_distribution},\n  {self.component_distribution}"
        return f"MixtureSameFamily(\n  {parts})"
