"""`TransformedDistribution`: what becomes of draws that are mapped."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Size, Tensor, no_grad
from nnkit.distributions import constraints
from nnkit.distributions.distribution import Distribution
from nnkit.distributions.independent import Independent, sum_rightmost
from nnkit.distributions.transform import ComposeTransform, Transform


class TransformedDistribution(Distribution):
    """The distribution of ``transform(x)`` for x of a distribution.

    Args:
        base_distribution: the distribution of x.
        transforms: a transform, or a list of them, applied in order.
        validate_args: check values.

    Raises:
        ValueError: ``transforms`` is neither, or x has too few dimensions.

    Source: ``torch.distributions.TransformedDistribution``.

    Example:
        >>> import nnkit
        >>> d = nnkit.distributions
        >>> d.TransformedDistribution(d.Normal(0.0, 1.0), d.ExpTransform()).log_prob(
        ...     nnkit.tensor(1.0))
        tensor(-0.9189)
    """

    arg_constraints: Any = {}
    base_dist: Any

    def __init__(
        self, base_distribution: Distribution, transforms: Any, validate_args: bool | None = None
    ) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else transforms
        alike = isinstance(self.transforms, list)
        if not alike or not all(isinstance(t, Transform) for t in self.transforms):
            raise ValueError(
                f"TransformedDistribution: expected a Transform or a list, got {transforms}"
            )
        whole = ComposeTransform(self.transforms)
        shape = base_distribution.batch_shape + base_distribution.event_shape
        if len(shape) < whole.domain.event_dim:
            raise ValueError(
                f"TransformedDistribution: base_distribution must have a shape of at least "
                f"{whole.domain.event_dim} dimensions, got {tuple(shape)}"
            )
        forward = whole.forward_shape(shape)
        before = whole.inverse_shape(forward)
        base = base_distribution.expand(before[: len(before) - len(base_distribution.event_shape)])
        further = whole.domain.event_dim - len(base.event_shape)
        self.base_dist = Independent(base, further) if further > 0 else base
        dims = max(
            whole.codomain.event_dim,
            len(base_distribution.event_shape) + whole.codomain.event_dim - whole.domain.event_dim,
        )
        cut = len(forward) - dims
        super().__init__(Size(forward[:cut]), Size(forward[cut:]), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(type(self), _instance)
        new.__dict__.update(self.__dict__)
        whole = ComposeTransform(self.transforms)
        shape = whole.inverse_shape(Size(batch_shape) + self.event_shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        new._batch_shape = Size(batch_shape)
        for name in self.arg_names:
            if name in self.__dict__:
                new.__dict__[name] = self.__dict__[name].expand(batch_shape)
        return new

    has_rsample = property(lambda self: self.base_dist.has_rsample)

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        found = self.transforms[-1].codomain
        extra = len(self.event_shape) - found.event_dim
        return constraints.independent(found, extra) if extra > 0 else found

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            x = self.base_dist.sample(sample_shape)
            for transform in self.transforms:
                x = transform(x)
            return x

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        x = self.base_dist.rsample(sample_shape)
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        dims, total, y = len(self.event_shape), 0.0, value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            dims += transform.domain.event_dim - transform.codomain.event_dim
            term = transform.log_abs_det_jacobian(x, y)
            total = total - sum_rightmost(term, dims - transform.domain.event_dim)
            y = x
        base = self.base_dist.log_prob(y)
        return total + sum_rightmost(base, dims - len(self.base_dist.event_shape))

    def _sign(self) -> Any:
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return sign

    def _turned(self, value: Any) -> Any:
        """A probability of values at most as large, or at least where the map turns them round."""
        sign = self._sign()
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        return self._turned(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        value = self.base_dist.icdf(self._turned(value))
        for transform in self.transforms:
            value = transform(value)
        return value
