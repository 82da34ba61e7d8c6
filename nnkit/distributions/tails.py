"""Distributions with long tails, on one side or both: `Cauchy`, `HalfCauchy`, `HalfNormal`,
`Gumbel`, `Pareto`, `GeneralizedPareto` and `Weibull`."""

from __future__ import annotations

import math
from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.ops.creation.factories import ones_like
from nnkit.autograd.ops.elementwise.transcendental import lgamma
from nnkit.autograd.ops.random.factories import rand
from nnkit.autograd.surface.limits import finfo
from nnkit.distributions import constraints
from nnkit.distributions.continuous import Exponential, Uniform
from nnkit.distributions.distribution import Distribution, parameters
from nnkit.distributions.normal import Normal
from nnkit.distributions.transformed import TransformedDistribution
from nnkit.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    ExpTransform,
    PowerTransform,
)
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
        super().__init__(self.loc.shape, validate_args=validate_args)

    mean = property(lambda self: self.loc.new_full(self._extended_shape(), math.nan))
    mode = property(lambda self: self.loc)
    variance = property(lambda self: self.loc.new_full(self._extended_shape(), math.inf))

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

    @property
    def scale(self) -> Tensor:
        """The scale of the whole."""
        return self.base_dist.scale

    mode = property(lambda self: self.scale.new_zeros(self.scale.shape))

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
        self._check_parameter("scale", self.scale, constraints.positive)

    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance = property(lambda self: self.scale.pow(2) * (1 - 2 / math.pi))


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
        self._check_parameter("scale", self.scale, constraints.positive)

    mean = property(lambda self: self.scale.new_full(self.scale.shape, math.inf))
    variance = property(lambda self: self.base_dist.variance)


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

    mean = property(lambda self: self.loc + self.scale * euler_constant)
    mode = property(lambda self: self.loc)
    stddev = property(lambda self: math.pi / math.sqrt(6) * self.scale)
    variance = property(lambda self: self.stddev.pow(2))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)


class Pareto(TransformedDistribution):
    """The density ``alpha * scale**alpha / x**(alpha + 1)`` for x of at least ``scale``.

    Raises:
        ValueError: one of them is not positive.

    Source: ``torch.distributions.Pareto``.

    Example:
        >>> import nnkit
        >>> nnkit.distributions.Pareto(1.0, 3.0).mean
        tensor(1.5000)
    """

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}
    arg_names = ("alpha", "scale")

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = parameters(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        parts = [ExpTransform(), AffineTransform(0, self.scale)]
        super().__init__(base, parts, validate_args)

    @property
    def mean(self) -> Tensor:
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    mode = property(lambda self: self.scale)

    @property
    def variance(self) -> Tensor:
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class Weibull(TransformedDistribution):
    """The distribution function ``1 - exp(-(x / scale)**concentration)`` for positive x.

    Raises:
        ValueError: one of them is not positive.

    Source: ``torch.distributions.Weibull``.

    Example:
        >>> import nnkit
        >>> nnkit.distributions.Weibull(2.0, 1.0).mean
        tensor(2.)
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    arg_names = ("scale", "concentration")

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = parameters(scale, concentration)
        base = Exponential(ones_like(self.scale), validate_args=validate_args)
        parts = [
            PowerTransform(self.concentration_reciprocal),
            AffineTransform(0, self.scale),
        ]
        super().__init__(base, parts, validate_args)

    @property
    def concentration_reciprocal(self) -> Tensor:
        """One over the concentration."""
        return self.concentration.reciprocal()

    mean = property(lambda self: self.scale * lgamma(1 + self.concentration_reciprocal).exp())

    @property
    def mode(self) -> Tensor:
        k = self.concentration
        return self.scale * ((k - 1) / k) ** k.reciprocal()

    @property
    def variance(self) -> Tensor:
        first, second = (lgamma(1 + n * self.concentration_reciprocal) for n in (1, 2))
        return self.scale.pow(2) * (second.exp() - (2 * first).exp())

    def entropy(self) -> Tensor:
        inverse = self.concentration_reciprocal
        return euler_constant * (1 - inverse) + (self.scale * inverse).log() + 1


class GeneralizedPareto(Distribution):
    """The distribution function ``1 - (1 + c * z)**(-1 / c)`` of ``z = (x - loc) / scale``.

    Args:
        loc, scale: as above.
        concentration: c; for 0 the function is ``1 - exp(-z)``.
        validate_args: check parameters and values.

    Raises:
        ValueError: ``scale`` is not positive.

    Source: ``torch.distributions.GeneralizedPareto``.

    Example:
        >>> import nnkit
        >>> nnkit.distributions.GeneralizedPareto(0.0, 1.0, 0.5).mean
        tensor(2.)
    """

    has_rsample = True
    arg_constraints = {
        "loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real,
    }  # fmt: skip
    arg_names = ("loc", "scale", "concentration")

    def __init__(
        self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale, self.concentration = parameters(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def _split(self, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """``z``, whether c is 0, and c where it is not."""
        z, c = parameters((value - self.loc) / self.scale, self.concentration)
        zero = c.isclose(c.new_zeros(()))
        return z, zero, c.where(~zero, c.new_ones(()))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        z, zero, c = self._split(value)
        return -self.scale.log() - z.where(zero, (1 + 1 / c) * (c * z).log1p())

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of a draw of more than ``value``."""
        self._validate_sample(value)
        z, zero, c = self._split(value)
        return -z.where(zero, (c * z).log1p() / c)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of `cdf`."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return self.log_cdf(value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        c, survival = parameters(self.concentration, (-value).log1p())
        zero = c.isclose(c.new_zeros(()))
        safe = c.where(~zero, c.new_ones(()))
        z = (-survival).where(zero, (-safe * survival).expm1() / safe)
        return self.loc + self.scale * z

    @property
    def mean(self) -> Tensor:
        c = self.concentration
        return (self.loc + self.scale / (1 - c)).masked_fill(c >= 1, math.nan)

    mode = property(lambda self: self.loc)

    @property
    def variance(self) -> Tensor:
        c = self.concentration
        found = self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c))
        return found.masked_fill(c >= 0.5, math.nan)

    def entropy(self) -> Tensor:
        return self.scale.log() + self.concentration + 1

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        c = self.concentration
        end = (self.loc - self.scale / c).where(c < 0, c.new_full((), math.inf))
        return constraints.interval(self.loc, end)
