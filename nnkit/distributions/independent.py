"""`Independent`: some dimensions of a batch become dimensions of one draw."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Size, Tensor
from nnkit.distributions import constraints
from nnkit.distributions.distribution import Distribution


def sum_rightmost(x: Tensor, dims: int) -> Tensor:
    """The sum over the last ``dims`` dimensions."""
    return x.sum(list(range(-dims, 0))) if dims else x


class Independent(Distribution):
    """The last dimensions of a distribution's batch as parts of one draw: their densities multiply.

    Args:
        base_distribution: the distribution.
        reinterpreted_batch_ndims: how many dimensions.
        validate_args: check values.

    Raises:
        ValueError: the batch has fewer dimensions.

    Source: ``torch.distributions.Independent``.

    Example:
        >>> import nnkit
        >>> d = nnkit.distributions
        >>> d.Independent(d.Normal(nnkit.zeros(3), 1.0), 1).log_prob(nnkit.zeros(3))
        tensor(-2.7568)
    """

    arg_constraints: Any = {}

    def __init__(
        self,
        base_distribution: Distribution,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        batch = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ValueError(
                "Independent: reinterpreted_batch_ndims must be at most the number of batch "
                f"dimensions, {len(batch)}, got {reinterpreted_batch_ndims}"
            )
        cut = len(batch) - reinterpreted_batch_ndims
        event = batch[cut:] + base_distribution.event_shape
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__(batch[:cut], event, validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Whether the distribution has an rsample."""
        return self.base_dist.has_rsample

    @constraints.dependent_property
    def support(self) -> Any:
        found = self.base_dist.support
        dims = self.reinterpreted_batch_ndims
        return constraints.independent(found, dims) if dims else found

    mean = property(lambda self: self.base_dist.mean)
    mode = property(lambda self: self.base_dist.mode)
    variance = property(lambda self: self.base_dist.variance)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(type(self), _instance)
        new.__dict__.update(self.__dict__)
        shape = Size(batch_shape)
        event = self.base_dist.batch_shape[len(self.batch_shape) :]
        new.base_dist = self.base_dist.expand(shape + event)
        new._batch_shape = shape
        return new

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"
