"""Draws of gamma and Dirichlet distributions that move with their parameters.

A draw x of a distribution with density p and distribution function F moves with a parameter a so
that the probability of smaller draws stays what it is::

    dx/da = -(dF/da) / p

There is no closed form for either distribution. As torch does, three approximations are computed,
each for a part of the plane: Taylor series for small draws, saddle point expansions for large
parameters, and rational functions fitted to the rest; together they are right to some 0.001 of the
derivative, and differ from torch's by rounding alone.

Source: Figurnov et al. 2018, "Implicit reparameterization gradients"; Jankowiak and Obermeyer 2018,
"Pathwise derivatives beyond the reparameterization trick".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.function import Function, once_differentiable
from nnkit.autograd.ops.elementwise.transcendental import digamma
from nnkit.autograd.ops.random.sampling import draw_standard_gamma
from nnkit.autograd.surface.limits import finfo
from nnkit.backend.dtype import float32, float64

# The logarithm of the derivative of a gamma draw: P / Q, each of them by rising powers of
# log(alpha), whose coefficients go by rising powers of log(x / alpha).
_GAMMA_NUMERATOR = (
    (0.16009398, 0.53487893, 0.040121004), (-0.094634809, 0.1298071, -0.0065914022),
    (0.025146376, 0.065735949, -0.0026286047), (-0.0030648343, -0.0015649758, -0.0013441777),
)  # fmt: skip
_GAMMA_DENOMINATOR = (
    (1.0, 0.16639465, 0.017050642), (0.32668115, 0.020070113, -0.0021309326),
    (0.10406089, -0.0035938915, 0.00085092367), (0.0014179084, -0.00058392623, -1.5247877e-07),
)  # fmt: skip
# What corrects an estimate of the derivative of a beta draw: P / Q, by rising powers of log(x),
# then of log(alpha / x), then of log(total x / alpha).
_BETA_NUMERATOR = (
    ((1.003668233, -0.01061107488, -0.0657888334, 0.01201642863),
     (0.6336835991, -0.3557432599, 0.05486251648, -0.001465281033),
     (-0.03276231906, 0.004474107445, 0.002429354597, -0.0001557569013)),
    ((0.221950385, -0.3187676331, 0.01799915743, 0.01074823814),
     (-0.2951249643, 0.06219954479, 0.01535556598, 0.001550077057),
     (0.02155310298, 0.004170831599, 0.001292462449, 6.976601077e-05)),
    ((-0.05980841433, 0.008441916499, 0.01085618172, 0.002319392565),
     (0.02911413504, 0.01400243777, -0.002721828457, 0.000751041181),
     (0.005900514878, -0.001936558688, -9.495446725e-06, 5.385558597e-05)),
)  # fmt: skip
_BETA_DENOMINATOR = (
    ((1.0, -0.02924021934, -0.04438342661, 0.007285809825),
     (0.6357567472, -0.3473456711, 0.05454656494, -0.002407477521),
     (-0.03301322327, 0.004845219414, 0.00231480583, -0.0002307248149)),
    ((0.5925320577, -0.1757678135, 0.01505928619, 0.000564515273),
     (0.1014815858, -0.06589186703, 0.01272886114, -0.0007316646956),
     (-0.007258481865, 0.001096195486, 0.0003934994223, -4.12701925e-05)),
    ((0.06469649321, -0.0236701437, 0.002902096474, -5.896963079e-05),
     (0.001925008108, -0.002869809258, 0.0008000589141, -6.063713228e-05),
     (-0.0003477407336, 6.959756487e-05, 1.097287507e-05, -1.650964693e-06)),
)  # fmt: skip


def _polynomial(coefficients: Sequence, x: Tensor, *others: Tensor) -> Any:
    """The polynomial in ``x`` whose coefficients are polynomials in ``others``."""
    value: Any = 0.0
    for each in reversed(coefficients):
        value = value * x + (_polynomial(each, *others) if others else each)
    return value


def _gamma_of_small(x: Tensor, alpha: Tensor) -> Tensor:
    """The derivative of a gamma draw by the Taylor series of F at 0."""
    factor: Any = 1.0
    first, second = 1 / alpha, 1 / (alpha * alpha)
    for i in range(1, 6):
        factor = factor * (-x / i)
        below = alpha + i
        first = first + factor / below
        second = second + factor / (below * below)
    power = x.pow(alpha)
    moved = (x.log() - digamma(alpha)) * (power * first) - power * second
    density = x.pow(alpha - 1) * (-x).exp()
    return (-moved / density).nan_to_num(0.0, float("inf"), -float("inf"))


def _gamma_of_large(x: Tensor, alpha: Tensor) -> Tensor:
    """The derivative of a gamma draw by the saddle point expansion for large ``alpha``; near the
    mean, where that is singular, by its own series."""
    square = alpha * alpha
    near = 1440 * square + 6 * x * (53 - 120 * x) - 65 * x * x / alpha
    near = (1 + 24 * alpha * (1 + 12 * alpha)) * (near + alpha * (107 + 3600 * x))
    near = near / (1244160 * square * square)
    scale, ratio, rest = (8 * alpha).sqrt(), (x / alpha).log(), alpha - x
    tail = (x - alpha - alpha * ratio).pow(-1.5)
    inner = scale / rest + tail.where(x >= alpha, -tail)
    inner = ratio * inner - (2 / alpha).sqrt() * (alpha + x) / (rest * rest)
    far = -(1 + (1 + 1 / (24 * alpha)) / (12 * alpha)) * x * inner / scale
    return near.where((0.9 * alpha <= x) & (x <= 1.1 * alpha), far)


def standard_gamma_grad(alpha: Tensor, x: Tensor) -> Tensor:
    """dx / d alpha for draws ``x`` of gamma distributions of rate 1, computed in double."""
    a, drawn = alpha.double(), x.double()
    u, v = (drawn / a).log(), a.log()
    fitted = (_polynomial(_GAMMA_NUMERATOR, v, u) / _polynomial(_GAMMA_DENOMINATOR, v, u)).exp()
    found = _gamma_of_large(drawn, a).where(a > 8, fitted)
    return _gamma_of_small(drawn, a).where(drawn < 0.8, found).to(alpha.dtype)


def _beta_of_small(x: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
    """The derivative of a beta draw near 0 with respect to ``alpha``, over ``1 - x``."""
    factor = digamma(alpha) - digamma(alpha + beta) - x.log()
    power: Any = 1.0
    series = 1 / alpha * (factor + 1 / alpha)
    for i in range(1, 11):
        power = power * ((i - beta) * x / i)
        below = alpha + i
        series = series + power / below * (factor + 1 / below)
    found = x * (1 - x).pow(-beta) * series
    return found.where(~found.isnan(), 0.0)


def _beta_of_other_small(x: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
    """The derivative of a beta draw near 0 with respect to ``beta``, over ``x``."""
    factor = digamma(alpha + beta) - digamma(beta)
    power, falling, slope = 1.0, beta.new_ones(()), beta.new_zeros(())
    series = factor / alpha
    for i in range(1, 9):
        power = power * (-x / i)
        slope = slope * (beta - i) + falling
        falling = falling * (beta - i)
        series = series + power / (alpha + i) * (slope + factor * falling)
    found = -(1 - x).pow(1 - beta) * series
    return found.where(~found.isnan(), 0.0)


def _beta_of_large(x: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
    """The derivative of a beta draw with respect to ``alpha``, over ``1 - x``, by the saddle point
    expansion for large parameters; near the mean, where that is singular, by its own series."""
    total = alpha + beta
    mean, product = alpha / total, alpha * beta
    spread = 0.1 * (product / (total + 1)).sqrt() / total
    b2 = beta * beta
    near = 8 * (1 - x) * (135 * beta - 11)
    near = alpha * near + (453 + 1620 * beta * (1 - x) - 455 * x) * beta
    near = alpha * near + 3 * (59 + 180 * beta - 90 * x) * b2
    near = alpha * near + (43 + 20 * (16 + 27 * beta) * x) * b2 * beta
    near = alpha * near + 47 * x * b2 * b2
    near = near * (1 + 12 * alpha) * (1 + 12 * beta) / (total * total * (1 - x))
    near = near / (12960 * alpha * product * product * (1 + 12 * total))

    def stirling(a: Tensor) -> Tensor:
        return 1 + 1 / (12 * a) + 1 / (288 * a * a)

    apart = beta * x + alpha * (x - 1)
    first = 2 * (alpha * alpha) * (x - 1) + product * (x - 1) - x * b2
    first = first / ((2 * alpha / beta).sqrt() * total.pow(1.5) * apart * apart)
    known = alpha * (mean / x).log()
    tail = (beta * (beta / (total * (1 - x))).log() + known).pow(-1.5)
    second = 0.5 * (mean / x).log()
    inner = (8 * product / total).sqrt() / apart + tail.where(x < mean, -tail)
    scale = stirling(alpha) * stirling(beta) / stirling(total)
    far = scale * (-x / (2 * product / total).sqrt()) * (first + second * inner)
    return near.where((mean - spread <= x) & (x <= mean + spread), far)


def dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    """dx / d alpha, over ``1 - x``, for elements ``x`` of Dirichlet draws, each with its own
    ``alpha``; ``total`` is the sum of all of the draw."""
    beta = total - alpha
    boundary = total * x * (1 - x)
    x_, a, t = x.double(), alpha.double(), total.double()
    u = x_.log()
    v = a.log() - u
    w = t.log() - v
    fitted = _polynomial(_BETA_NUMERATOR, u, v, w) / _polynomial(_BETA_DENOMINATOR, u, v, w)
    fitted = fitted * x_ * (digamma(t) - digamma(a)) / (t - a)
    found = _beta_of_large(x_, a, t - a).where((alpha > 6) & (beta > 6), fitted).to(x.dtype)
    other = -_beta_of_other_small(1 - x, beta, alpha)
    found = other.where((x >= 0.5) & (boundary < 0.75), found)
    return _beta_of_small(x, alpha, beta).where((x <= 0.5) & (boundary < 2.5), found)


class StandardGamma(Function):
    """A draw of a gamma distribution of rate 1."""

    generate_vmap_rule = True

    @staticmethod
    def forward(alpha: Tensor, generator: Any) -> Tensor:
        return draw_standard_gamma(alpha, generator)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Tensor) -> None:
        ctx.save_for_backward(inputs[0], output)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple:
        return grad * standard_gamma_grad(*ctx.saved_tensors), None


class _Dirichlet(Function):
    """A draw of a Dirichlet distribution."""

    @staticmethod
    def forward(ctx: Any, concentration: Tensor) -> Tensor:
        drawn = sample_dirichlet(concentration)
        ctx.save_for_backward(drawn, concentration)
        return drawn

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        x, concentration = ctx.saved_tensors
        total = concentration.sum(-1, True).expand_as(concentration)
        return dirichlet_grad(x, concentration, total) * (grad - (x * grad).sum(-1, True))


def standard_gamma(alpha: Tensor, generator: Any = None) -> Tensor:
    """Draws of gamma distributions of rate 1, differentiable in their concentrations.

    Raises:
        NotImplementedError: ``alpha`` is neither float32 nor float64.
    """
    _check_dtype("standard_gamma", alpha)
    return StandardGamma.apply(alpha, generator)


def sample_dirichlet(concentration: Tensor, generator: Any = None) -> Tensor:
    """Draws of Dirichlet distributions, without a derivative; drawn in double, as torch does.

    Raises:
        NotImplementedError: ``concentration`` is neither float32 nor float64.
    """
    _check_dtype("sample_dirichlet", concentration)
    drawn = draw_standard_gamma(concentration.detach().double(), generator)
    limits = finfo(concentration.dtype)
    shares = (drawn / drawn.sum(-1, True)).to(concentration.dtype)
    return shares.clamp(limits.tiny, 1 - limits.eps / 2)


def dirichlet(concentration: Tensor) -> Tensor:
    """Draws of Dirichlet distributions, differentiable in their concentrations."""
    return _Dirichlet.apply(concentration)


def _check_dtype(name: str, tensor: Tensor) -> None:
    if tensor.dtype not in (float32, float64):
        raise NotImplementedError(f"{name}(): not implemented for '{tensor.dtype.name}' tensors")
