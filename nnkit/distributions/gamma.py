"""`Gamma`, and what is made of it: `Chi2`, `Beta`, `Dirichlet`, `StudentT`, `FisherSnedecor` and
`InverseGamma`."""

from __future__ import annotations

import math
from typing import Any

from nnkit.autograd import Tensor, no_grad
from nnkit.autograd.ops.elementwise.transcendental import digamma, lgamma, xlogy
from nnkit.autograd.ops.exchange.interchange import as_tensor
from nnkit.autograd.ops.random.factories import randn
from nnkit.autograd.ops.shape.joining import stack
from nnkit.autograd.surface.limits import finfo
from nnkit.distributions import constraints
from nnkit.distributions.distribution import Distribution, parameters
from nnkit.distributions.exp_family import ExponentialFamily
from nnkit.distributions.reparameterization import dirichlet, standard_gamma
from nnkit.distributions.transformed import TransformedDistribution
from nnkit.distributions.transforms import PowerTransform
from nnkit.special import gammainc


class Gamma(ExponentialFamily):
    """The density ``rate**a * x**(a - 1) * exp(-rate * x) / gamma(a)`` for positive x.

    Args:
        concentration: a.
        rate: as above.

    Raises:
        ValueError: one of them is not positive.

    Source: ``torch.distributions.Gamma``.

    Example:
        >>> import nnkit
        >>> nnkit.distributions.Gamma(2.0, 4.0).mean
        tensor(0.5000)
    """

    has_rsample = True
    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    arg_names = ("concentration", "rate")

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = parameters(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    mean = property(lambda self: self.concentration / self.rate)
    mode = property(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0))
    variance = property(lambda self: self.concentration / self.rate.pow(2))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        drawn = standard_gamma(self.concentration.expand(shape)) / self.rate
        drawn.detach().clamp_(min=finfo(drawn.dtype).tiny)
        return drawn

    def log_prob(self, value: Any) -> Tensor:
        value = as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        self._validate_sample(value)
        a = self.concentration
        return xlogy(a, self.rate) + xlogy(a - 1, value) - self.rate * value - lgamma(a)

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return gammainc(*parameters(self.concentration, self.rate * value))

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - self.rate.log() + lgamma(a) + (1 - a) * digamma(a)

    _mean_carrier_measure = 0.0

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return lgamma(x + 1) - (x + 1) * (-y).log()


class Chi2(Gamma):
    """The sum of ``df`` squared standard normal numbers.

    Source: ``torch.distributions.Chi2``.

    Example:
        >>> import nnkit
        >>> nnkit.distributions.Chi2(3.0).variance
        tensor(6.)
    """

    arg_constraints = {"df": constraints.positive}
    arg_names = ("df",)

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        (freedom,) = parameters(df)
        super().__init__(0.5 * freedom, freedom.new_full((), 0.5), validate_args)

    @property
    def df(self) -> Tensor:
        """The number of squares."""
        return self.concentration * 2


class Dirichlet(ExponentialFamily):
    """Probabilities that add up to 1, with the density ``prod(x**(a - 1))`` up to a constant.

    Args:
        concentration: (*, n), a.

    Raises:
        ValueError: it has no dimension, or is not positive.

    Source: ``torch.distributions.Dirichlet``.

    Example:
        >>> import nnkit
        >>> nnkit.distributions.Dirichlet(nnkit.tensor([1.0, 3.0])).mean
        tensor([0.2500, 0.7500])
    """

    has_rsample = True
    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    arg_names = ("concentration",)

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("Dirichlet: concentration must be at least one-dimensional")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    mean = property(lambda self: self.concentration / self.concentration.sum(-1, True))

    @property
    def mode(self) -> Tensor:
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        none = (self.concentration < 1).all(-1, True)
        largest = self.concentration.argmax(-1, True)
        corner = mode.new_zeros(mode.shape).scatter(-1, largest, 1.0)
        return corner.where(none, mode)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        a = self.concentration
        terms = ((a - 1) * value.log()).masked_fill((a == 1) & (value == 0), 0.0).sum(-1)
        return terms + lgamma(a.sum(-1)) - lgamma(a).sum(-1)

    def entropy(self) -> Tensor:
        a = self.concentration
        k, total = a.shape[-1], a.sum(-1)
        known = lgamma(a).sum(-1) - lgamma(total) - (k - total) * digamma(total)
        return known - ((a - 1) * digamma(a)).sum(-1)

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.concentration,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return lgamma(x).sum(-1) - lgamma(x.sum(-1))


class Beta(ExponentialFamily):
    """The density ``x**(a - 1) * (1 - x)**(b - 1)``, up to a constant, for x from 0 to 1.

    Args:
        concentration1, concentration0: a and b.

    Raises:
        ValueError: one of them is not positive.

    Source: ``torch.distributions.Beta``.

    Example:
        >>> import nnkit
        >>> nnkit.distributions.Beta(1.0, 3.0).mean
        tensor(0.2500)
    """

    has_rsample = True
    arg_constraints = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        self.concentration1, self.concentration0 = parameters(concentration1, concentration0)
        super().__init__(self.concentration1.shape, validate_args=validate_args)

    def _of_both(self) -> Dirichlet:
        both = stack([self.concentration1, self.concentration0], -1)
        return Dirichlet(both, validate_args=False)

    mean = property(lambda self: self.concentration1 / (self.concentration1 + self.concentration0))
    mode = property(lambda self: self._of_both().mode[..., 0])
    variance = property(lambda self: self._of_both().variance[..., 0])

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._of_both().rsample(sample_shape)[..., 0]

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return self._of_both().log_prob(stack([value, 1.0 - value], -1))

    def entropy(self) -> Tensor:
        return self._of_both().entropy()

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration1, self.concentration0

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return lgamma(x) + lgamma(y) - lgamma(x + y)


class StudentT(Distribution):
    """``loc + scale * x`` for a normal x over the root of a mean square of ``df`` others.

    Args:
        df: the degrees of freedom.
        loc, scale: as above.

    Raises:
        ValueError: ``df`` or ``scale`` is not positive.

    Source: ``torch.distributions.StudentT``.

    Example:
        >>> import nnkit
        >>> nnkit.distributions.StudentT(4.0).variance
        tensor(2.)
    """

    has_rsample = True
    arg_constraints = {
        "df": constraints.positive, "loc": constraints.real, "scale": constraints.positive,
    }  # fmt: skip
    support = constraints.real
    arg_names = ("df", "loc", "scale")

    def __init__(
        self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        self.df, self.loc, self.scale = parameters(df, loc, scale)
        super().__init__(self.df.shape, validate_args=validate_args)

    mean = property(lambda self: self.loc.masked_fill(self.df <= 1, math.nan))
    mode = property(lambda self: self.loc)

    @property
    def variance(self) -> Tensor:
        finite = self.scale.pow(2) * self.df / (self.df - 2)
        finite = finite.masked_fill((self.df <= 2) & (self.df > 1), math.inf)
        return finite.masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            x = randn(shape, dtype=self.df.dtype, device=self.df.device)
        squares = Chi2(self.df, validate_args=False).rsample(sample_shape)
        return self.loc + self.scale * (x * (squares / self.df).rsqrt())

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        y = (value - self.loc) / self.scale
        constant = self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi)
        constant = constant + lgamma(0.5 * self.df) - lgamma(0.5 * (self.df + 1))
        return -0.5 * (self.df + 1) * (y**2 / self.df).log1p() - constant

    def entropy(self) -> Tensor:
        half = 0.5 * self.df
        beta = lgamma(half) + math.lgamma(0.5) - lgamma(half + 0.5)
        slope = 0.5 * (self.df + 1) * (digamma(half + 0.5) - digamma(half))
        return self.scale.log() + slope + 0.5 * self.df.log() + beta


class FisherSnedecor(Distribution):
    """The ratio of the means of ``df1`` and of ``df2`` squared standard normal numbers.

    Raises:
        ValueError: one of them is not positive.

    Source: ``torch.distributions.FisherSnedecor``.

    Example:
        >>> import nnkit
        >>> nnkit.distributions.FisherSnedecor(2.0, 4.0).mean
        tensor(2.)
    """

    has_rsample = True
    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    arg_names = ("df1", "df2")

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = parameters(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._gamma1 = self._gamma1.expand(batch_shape)
        new._gamma2 = self._gamma2.expand(batch_shape)
        return new

    @property
    def mean(self) -> Tensor:
        df2 = self.df2.masked_fill(self.df2 <= 2, math.nan)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return mode.masked_fill(self.df1 <= 2, math.nan)

    @property
    def variance(self) -> Tensor:
        df1, df2 = self.df1, self.df2.masked_fill(self.df2 <= 4, math.nan)
        return 2 * df2.pow(2) * (df1 + df2 - 2) / (df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        above, below = self._gamma1.rsample(sample_shape), self._gamma2.rsample(sample_shape)
        tiny = finfo(below.dtype).tiny
        below.detach().clamp_(min=tiny)
        ratio = above / below
        ratio.detach().clamp_(min=tiny)
        return ratio

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        a, b, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        scale = lgamma(a + b) - lgamma(a) - lgamma(b)
        return scale + a * ratio.log() + (a - 1) * value.log() - (a + b) * (ratio * value).log1p()


class InverseGamma(TransformedDistribution):
    """One over a number of the `Gamma` distribution.

    Args:
        concentration, rate: of that distribution.
        validate_args: check parameters and values.

    Raises:
        ValueError: one of them is not positive.

    Source: ``torch.distributions.InverseGamma``.

    Example:
        >>> import nnkit
        >>> nnkit.distributions.InverseGamma(3.0, 4.0).mean
        tensor(2.)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        inverse = PowerTransform(-base.rate.new_ones(()))
        super().__init__(base, inverse, validate_args)

    @property
    def concentration(self) -> Tensor:
        """The concentration of the inverse."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        """The rate of the inverse."""
        return self.base_dist.rate

    @property
    def mean(self) -> Tensor:
        found = self.rate / (self.concentration - 1)
        return found.masked_fill(self.concentration <= 1, math.inf)

    mode = property(lambda self: self.rate / (self.concentration + 1))

    @property
    def variance(self) -> Tensor:
        a = self.concentration
        found = self.rate.square() / ((a - 1).square() * (a - 2))
        return found.masked_fill(a <= 2, math.inf)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + self.rate.log() + lgamma(a) - (1 + a) * digamma(a)
