"""`Uniform`, `Exponential`, `Laplace` and `Kumaraswamy`."""

from __future__ import annotations

import math
from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.ops.creation.factories import ones_like, zeros_like
from nnkit.autograd.ops.elementwise.transcendental import digamma, lgamma, log1p
from nnkit.autograd.ops.random.factories import rand
from nnkit.autograd.surface.limits import finfo
from nnkit.distributions import constraints
from nnkit.distributions.distribution import Distribution, parameters
from nnkit.distributions.exp_family import ExponentialFamily
from nnkit.distributions.transformed import TransformedDistribution
from nnkit.distributions.transforms import AffineTransform, PowerTransform
from nnkit.distributions.utils import euler_constant


class Uniform(Distribution):
    """Every number from ``low`` to ``high`` alike.

    Raises:
        ValueError: ``low`` is not below ``high``.

    Source: ``torch.distributions.Uniform``.

    Example:
        >>> import nnkit
        >>> nnkit.distributions.Uniform(0.0, 4.0).mean
        tensor(2.)
    """

    has_rsample = True
    arg_names = ("low", "high")

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = parameters(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)

    @property
    def arg_constraints(self) -> Any:
        """Each bound by the other one."""
        low, high = constraints.less_than(self.high), constraints.greater_than(self.low)
        return {"low": low, "high": high}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    mean = property(lambda self: (self.high + self.low) / 2)
    mode = property(lambda self: self.high * float("nan"))
    variance = property(lambda self: (self.high - self.low) ** 2 / 12)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        drawn = rand(shape, dtype=self.low.dtype, device=self.low.device)
        return self.low + drawn * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        inside = (self.low <= value) & (self.high > value)
        return inside.to(self.low.dtype).log() - (self.high - self.low).log()

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    def icdf(self, value: Tensor) -> Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        return (self.high - self.low).log()


class Exponential(ExponentialFamily):
    """The density ``rate * exp(-rate * x)`` for x of at least 0.

    Raises:
        ValueError: ``rate`` is not positive.

    Source: ``torch.distributions.Exponential``.

    Example:
        >>> import nnkit
        >>> nnkit.distributions.Exponential(4.0).mean
        tensor(0.2500)
    """

    has_rsample = True
    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    arg_names = ("rate",)

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = parameters(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    mean = property(lambda self: self.rate.reciprocal())
    mode = property(lambda self: self.rate.new_zeros(self.rate.shape))
    stddev = property(lambda self: self.rate.reciprocal())
    variance = property(lambda self: self.rate.pow(-2))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.rate.new_empty(shape).exponential_() / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return 1 - (-self.rate * value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        return -log1p(-value) / self.rate

    def entropy(self) -> Tensor:
        return 1 - self.rate.log()

    _mean_carrier_measure = 0.0

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (-self.rate,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return -(-x).log()


class Laplace(Distribution):
    """The density ``exp(-abs(x - loc) / scale) / (2 * scale)``.

    Raises:
        ValueError: ``scale`` is not positive.

    Source: ``torch.distributions.Laplace``.

    Example:
        >>> import nnkit
        >>> nnkit.distributions.Laplace(0.0, 1.0).log_prob(nnkit.tensor(0.0))
        tensor(-0.6931)
    """

    has_rsample = True
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    arg_names = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = parameters(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)
    variance = property(lambda self: 2 * self.scale**2)
    stddev = property(lambda self: math.sqrt(2) * self.scale)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        eps = finfo(self.loc.dtype).eps
        u = self.loc.new_empty(self._extended_shape(sample_shape)).uniform_(eps - 1, 1)
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        distance = value - self.loc
        return 0.5 - 0.5 * distance.sign() * (-distance.abs() / self.scale).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * (-2 * term.abs()).log1p()

    def entropy(self) -> Tensor:
        return 1 + (2 * self.scale).log()


class Kumaraswamy(TransformedDistribution):
    """The distribution function ``1 - (1 - x**a)**b`` for x from 0 to 1.

    Args:
        concentration1, concentration0: a and b.
        validate_args: check parameters and values.

    Raises:
        ValueError: one of them is not positive.

    Source: ``torch.distributions.Kumaraswamy``.

    Example:
        >>> import nnkit
        >>> nnkit.distributions.Kumaraswamy(1.0, 3.0).mean
        tensor(0.2500)
    """

    arg_constraints = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    arg_names = ("concentration1", "concentration0")

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        a, b = parameters(concentration1, concentration0)
        self.concentration1, self.concentration0 = a, b
        base = Uniform(zeros_like(b), ones_like(b), validate_args=validate_args)
        parts = [
            PowerTransform(b.reciprocal()),
            AffineTransform(1.0, -1.0),
            PowerTransform(a.reciprocal()),
        ]
        super().__init__(base, parts, validate_args)

    def _moment(self, n: int) -> Tensor:
        a, b = self.concentration1, self.concentration0
        raised = 1 + n / a
        return b * (lgamma(raised) + lgamma(b) - lgamma(raised + b)).exp()

    mean = property(lambda self: self._moment(1))

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        log_mode = b.reciprocal() * (-b).log1p() - (-a * b).log1p()
        return log_mode.exp().masked_fill((a < 1) | (b < 1), math.nan)

    variance = property(lambda self: self._moment(2) - self.mean.pow(2))

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = digamma(b + 1) + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()
