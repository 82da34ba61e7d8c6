"""`VonMises`."""

from __future__ import annotations

import math
from typing import Any

from nnkit.autograd import Tensor, no_grad
from nnkit.autograd.ops.random.factories import rand
from nnkit.distributions import constraints
from nnkit.distributions.distribution import Distribution, parameters
from nnkit.special import i0e, i1e


class VonMises(Distribution):
    """Angles with the density ``exp(concentration * cos(x - loc))``, up to a constant.

    Args:
        loc: the mean, in radians.
        concentration: positive.
        validate_args: check parameters and values.

    Raises:
        ValueError: ``concentration`` is not positive.

    Source: ``torch.distributions.VonMises``; draws: Best and Fisher 1979, "Efficient simulation of
    the von Mises distribution".

    Example:
        >>> import nnkit
        >>> nnkit.distributions.VonMises(0.0, 1.0).log_prob(nnkit.tensor(0.0))
        tensor(-1.0738)
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    arg_names = ("loc", "concentration")

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = parameters(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)

    @property
    def variance(self) -> Tensor:
        """One less the length of the mean direction."""
        return 1 - i1e(self.concentration) / i0e(self.concentration)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            loc, k = self.loc.double(), self.concentration.double()
            tau = 1 + (1 + 4 * k**2).sqrt()
            rho = (tau - (2 * tau).sqrt()) / (2 * k)
            # Where k is small, the first terms of the series.
            r = ((1 + rho**2) / (2 * rho)).where(k >= 1e-5, 1 / k + k)
            angle = loc.new_zeros(shape)
            left = angle == 0
            while bool(left.any()):
                u1, u2, u3 = rand((3, *shape), dtype=loc.dtype, device=loc.device).unbind()
                z = (math.pi * u1).cos()
                f = (1 + r * z) / (r + z)
                c = k * (r - f)
                fits = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
                angle = ((u3 - 0.5).sign() * f.acos()).where(fits, angle)
                left = left & ~fits
            return ((angle + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        k = self.concentration
        return k * ((value - self.loc).cos() - 1) - math.log(2 * math.pi) - i0e(k).log()
