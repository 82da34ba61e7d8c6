"""`Cauchy`, `HalfCauchy`, `HalfNormal` and `Gumbel`."""

from __future__ import annotations

import math
from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.limits import finfo
from nnkit.distributions import constraints
from nnkit.distributions.continuous import Uniform
from nnkit.distributions.distribution import Distribution, parameters
from nnkit.distributions.normal import Normal
from nnkit.distributions.transformed import TransformedDistribution
from nnkit.distributions.transforms import AbsTransform, AffineTransform, ExpTransform
from nnkit.distributions.utils import euler_constant


class Cauchy(Distribution):
    """The density ``1 / (pi * scale * (1 + ((x - loc) / scale)**2))``.

    Raises:
        ValueError: ``scale`` is not positive.

    Source: ``torch.distributions.Cauchy``.

    Example:
        >>> import nnkit
        >>> nnkit.distributions.Cauchy(0.0, 1.0).cdf(nnkit.tensor(1.0))
        tensor(0.7500)
    """

    has_rsample = True
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    arg_names = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = parameters(loc, scale)
        super().__init__(self.loc.shape, (), validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc.new_full(self._extended_shape(), math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self.loc.new_full(self._extended_shape(), math.inf)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        drawn = self.loc.new_empty(self._extended_shape(sample_shape)).cauchy_()
        return self.loc + drawn * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        squared = ((value - self.loc) / self.scale) ** 2
        return -math.log(math.pi) - self.scale.log() - squared.log1p()

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()


class _Half(TransformedDistribution):
    """The size of what is symmetric around 0."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    arg_names = ("scale",)

    base_dist: Any

    @property
    def scale(self) -> Tensor:
        """The scale of the whole."""
        return self.base_dist.scale

    @property
    def mode(self) -> Tensor:
        return self.scale.new_zeros(self.scale.shape)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        found = self.base_dist.log_prob(value) + math.log(2)
        return found.where(value >= 0, found.new_full((), -math.inf))

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Half):
    """The size of a normal number with mean 0.

    Source: ``torch.distributions.HalfNormal``.

    Example:
        >>> import nnkit
        >>> nnkit.distributions.HalfNormal(1.0).mean
        tensor(0.7979)
    """

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), AbsTransform(), validate_args)
        self._check_parameter("scale", self.scale, self.scale > 0, "positive")

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)


class HalfCauchy(_Half):
    """The size of a Cauchy number around 0.

    Source: ``torch.distributions.HalfCauchy``.

    Example:
        >>> import nnkit
        >>> nnkit.distributions.HalfCauchy(1.0).cdf(nnkit.tensor(1.0))
        tensor(0.5000)
    """

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args)
        self._check_parameter("scale", self.scale, self.scale > 0, "positive")

    @property
    def mean(self) -> Tensor:
        return self.scale.new_full(self.scale.shape, math.inf)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance


class Gumbel(TransformedDistribution):
    """The distribution function ``exp(-exp(-(x - loc) / scale))``.

    Source: ``torch.distributions.Gumbel``.

    Example:
        >>> import nnkit
        >>> nnkit.distributions.Gumbel(0.0, 1.0).mean
        tensor(0.5772)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    arg_names = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = parameters(loc, scale)
        limits = finfo(self.loc.dtype)
        low = self.loc.new_full(self.loc.shape, limits.tiny)
        base = Uniform(low, low.new_full(low.shape, 1 - limits.eps), validate_args=False)
        ones = low.new_ones(low.shape)
        parts = [
            ExpTransform().inv, AffineTransform(0, -ones), ExpTransform().inv,
            AffineTransform(self.loc, -self.scale),
        ]  # fmt: skip
        super().__init__(base, parts, validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new.loc, new.scale = self.loc.expand(batch_shape), self.scale.expand(batch_shape)
        return new

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)
