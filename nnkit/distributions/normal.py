"""Normal distributions: of numbers, of their logarithms, of vectors."""

from __future__ import annotations

import math
from typing import Any

from nnkit.autograd import Size, Tensor, no_grad
from nnkit.autograd.ops.creation.factories import eye, ones, zeros
from nnkit.autograd.ops.elementwise.transcendental import erfinv
from nnkit.autograd.ops.random.factories import normal
from nnkit.autograd.ops.shape.reshaping import broadcast_shapes
from nnkit.distributions import constraints
from nnkit.distributions.distribution import Distribution, parameters
from nnkit.distributions.exp_family import ExponentialFamily
from nnkit.distributions.transformed import TransformedDistribution
from nnkit.distributions.transforms import ExpTransform
from nnkit.distributions.utils import lazy_property
from nnkit.linalg import cholesky, solve_triangular

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def standard_normal(shape: Any, like: Tensor) -> Tensor:
    """Draws of mean 0 and deviation 1, by torch's way of drawing them."""
    options = {"dtype": like.dtype, "device": like.device}
    return normal(zeros(shape, **options), ones(shape, **options))


class Normal(ExponentialFamily):
    """The normal distribution of mean ``loc`` and standard deviation ``scale``.

    Args:
        loc, scale: numbers or tensors that broadcast; ``scale`` positive.
        validate_args: check parameters and values.

    Raises:
        ValueError: ``scale`` is not positive.

    Source: ``torch.distributions.Normal``.

    Example:
        >>> import nnkit
        >>> nnkit.distributions.Normal(0.0, 1.0).log_prob(nnkit.tensor(0.0))
        tensor(-0.9189)
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
    stddev = property(lambda self: self.scale)
    variance = property(lambda self: self.scale**2)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.loc + standard_normal(shape, self.loc) * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        squared = (value - self.loc) ** 2 / (2 * self.scale**2)
        return -squared - self.scale.log() - HALF_LOG_2PI

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return 0.5 * (1 + ((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)).erf())

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Tensor:
        return 0.5 + HALF_LOG_2PI + self.scale.log()

    _mean_carrier_measure = 0.0

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.loc / self.scale**2, -0.5 * self.scale.pow(-2)

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return -(x**2) / (4 * y) + 0.5 * (-math.pi / y).log()


class LogNormal(TransformedDistribution):
    """The log-normal distribution: its logarithm is normal of mean ``loc`` and deviation ``scale``.

    Source: ``torch.distributions.LogNormal``.

    Example:
        >>> import nnkit
        >>> nnkit.distributions.LogNormal(0.0, 1.0).mean
        tensor(1.6487)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    arg_names = ()

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args), ExpTransform(), validate_args)

    @property
    def loc(self) -> Tensor:
        """The mean of the logarithm."""
        return self.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviation of the logarithm."""
        return self.base_dist.scale

    mean = property(lambda self: (self.loc + self.scale**2 / 2).exp())
    mode = property(lambda self: (self.loc - self.scale**2).exp())

    @property
    def variance(self) -> Tensor:
        squared = self.scale**2
        return squared.expm1() * (2 * self.loc + squared).exp()

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc


def _precision_to_scale_tril(P: Tensor) -> Tensor:
    """The lower triangle L with L L' = P^-1."""
    inverse = cholesky(P.flip(-2, -1)).flip(-2, -1).mT
    return solve_triangular(inverse, eye(P.shape[-1], dtype=P.dtype, device=P.device), upper=False)


class CholeskyParameters(Distribution):
    """Base class of distributions given by a positive definite matrix, by its inverse, or by its
    lower Cholesky factor; the others follow."""

    arg_constraints = {
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }

    _unbroadcasted_scale_tril: Tensor  # torch's name, which subclasses replace

    def _keep_matrix(
        self, covariance: Tensor | None, precision: Tensor | None, tril: Tensor | None, batch: Any
    ) -> Size:
        """Keep the one that is given, for each of ``batch``; returns the common batch shape."""
        names = ("covariance_matrix", "precision_matrix", "scale_tril")
        given = {n: m for n, m in zip(names, (covariance, precision, tril)) if m is not None}
        if len(given) != 1:
            raise ValueError(
                f"{type(self).__name__}: exactly one of covariance_matrix, precision_matrix and "
                "scale_tril must be given"
            )
        ((name, matrix),) = given.items()
        if matrix.ndim < 2:
            raise ValueError(
                f"{type(self).__name__}: {name} must have at least 2 dimensions, got {matrix.ndim}"
            )
        shape = (zeros(matrix.shape[:-2]) + zeros(batch)).shape
        self.__dict__[name] = matrix.expand(*shape, -1, -1)
        return shape

    def _find_factor(self) -> None:
        kept = self.__dict__
        if "scale_tril" in kept:
            self._unbroadcasted_scale_tril = kept["scale_tril"]
        elif "covariance_matrix" in kept:
            self._unbroadcasted_scale_tril = cholesky(kept["covariance_matrix"])
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(kept["precision_matrix"])

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._unbroadcasted_scale_tril

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        return self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT

    @lazy_property
    def precision_matrix(self) -> Tensor:
        return (self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT).inverse()

    def _half_log_det(self) -> Tensor:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


class MultivariateNormal(CholeskyParameters):
    """The normal distribution of vectors.

    Args:
        loc: (*, n), the mean.
        covariance_matrix, precision_matrix, scale_tril: (*, n, n), exactly one of them: the
            covariance, its inverse, or its lower Cholesky factor.
        validate_args: check parameters and values.

    Raises:
        ValueError: not exactly one of the matrices is given, or ``loc`` has no dimension, or a
            matrix is not of its kind.

    Source: ``torch.distributions.MultivariateNormal``.

    Example:
        >>> import nnkit
        >>> distribution = nnkit.distributions.MultivariateNormal(nnkit.zeros(2), nnkit.eye(2))
        >>> distribution.log_prob(nnkit.zeros(2))
        tensor(-1.8379)
    """

    has_rsample = True
    arg_constraints = {"loc": constraints.real_vector, **CholeskyParameters.arg_constraints}
    support = constraints.real_vector
    arg_names = ("loc", "covariance_matrix", "precision_matrix", "scale_tril")

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.ndim < 1:
            raise ValueError("MultivariateNormal: loc must have a dimension")
        matrices = (covariance_matrix, precision_matrix, scale_tril)
        batch = self._keep_matrix(*matrices, loc.shape[:-1])
        self.loc = loc.expand(*batch, -1)
        super().__init__(batch, loc.shape[-1:], validate_args)
        self._find_factor()

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)
    variance = property(lambda self: (self._unbroadcasted_scale_tril**2).sum(-1))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        noise = standard_normal(self._extended_shape(sample_shape), self.loc)
        return self.loc + (self._unbroadcasted_scale_tril @ noise.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        difference = (value - self.loc).unsqueeze(-1)
        shape = Size((*difference.shape[:-2], *self._unbroadcasted_scale_tril.shape[-2:]))
        scaled = solve_triangular(
            self._unbroadcasted_scale_tril.expand(shape), difference, upper=False
        )
        squared = (scaled**2).sum((-2, -1))
        return -0.5 * squared - self._half_log_det() - self.loc.shape[-1] * HALF_LOG_2PI

    def entropy(self) -> Tensor:
        return self._half_log_det() + self.loc.shape[-1] * (0.5 + HALF_LOG_2PI)


class LowRankMultivariateNormal(Distribution):
    """The normal distribution of vectors whose covariance is ``W W^T + D``, with D diagonal.

    Args:
        loc: (*, n), the mean.
        cov_factor: (*, n, k), W; k small.
        cov_diag: (*, n), the diagonal of D, positive.
        validate_args: check parameters and values.

    Raises:
        ValueError: the shapes do not fit, or ``cov_diag`` is not positive.

    Source: ``torch.distributions.LowRankMultivariateNormal``; the determinant and the inverse by
    the lemmas of Sylvester and Woodbury, in O(n k**2).

    Example:
        >>> import nnkit
        >>> loc, factor, diagonal = nnkit.zeros(2), nnkit.ones(2, 1), nnkit.ones(2)
        >>> nnkit.distributions.LowRankMultivariateNormal(loc, factor, diagonal).covariance_matrix
        tensor([[2., 1.],
                [1., 2.]])
    """

    has_rsample = True
    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    arg_names = ("loc", "cov_factor", "cov_diag")

    def __init__(
        self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None
    ) -> None:
        name = "LowRankMultivariateNormal"
        if loc.dim() < 1:
            raise ValueError(f"{name}: loc must be at least one-dimensional.")
        events = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError(f"{name}: cov_factor must be at least two-dimensional")
        if cov_factor.shape[-2:-1] != events:
            raise ValueError(
                f"{name}: cov_factor must be a batch of matrices with {events[0]} rows, got the "
                f"shape {tuple(cov_factor.shape)}"
            )
        if cov_diag.shape[-1:] != events:
            raise ValueError(
                f"{name}: cov_diag must be a batch of vectors of {events[0]} elements, got the "
                f"shape {tuple(cov_diag.shape)}"
            )
        try:
            batch = broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        except RuntimeError as error:
            raise ValueError(f"{name}: the batch shapes do not fit: {error}") from None
        self.loc = loc.expand(*batch, -1)
        self.cov_factor = cov_factor.expand(*batch, -1, -1)
        self.cov_diag = cov_diag.expand(*batch, -1)
        super().__init__(batch, events, validate_args)
        # The Cholesky factor of I + W^T D^-1 W.
        scaled = self.cov_factor / self.cov_diag.unsqueeze(-1)
        ranks = eye(cov_factor.shape[-1], dtype=loc.dtype, device=loc.device)
        self._capacitance_tril = cholesky(self.cov_factor.mT @ scaled + ranks)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)
    variance = property(lambda self: self.cov_factor.pow(2).sum(-1) + self.cov_diag)

    @property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance."""
        return cholesky(self.covariance_matrix)

    @property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        return self.cov_factor @ self.cov_factor.mT + self.cov_diag.diag_embed()

    @property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        scaled = self.cov_factor.mT / self.cov_diag.unsqueeze(-2)
        solved = solve_triangular(self._capacitance_tril, scaled, upper=False)
        return self.cov_diag.reciprocal().diag_embed() - solved.mT @ solved

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        small = standard_normal((*shape[:-1], self.cov_factor.shape[-1]), self.loc)
        large = standard_normal(shape, self.loc)
        mapped = (self.cov_factor @ small.unsqueeze(-1)).squeeze(-1)
        return self.loc + mapped + self.cov_diag.sqrt() * large

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        difference = value - self.loc
        mapped = (self.cov_factor.mT / self.cov_diag.unsqueeze(-2)) @ difference.unsqueeze(-1)
        shape = Size((*mapped.shape[:-2], *self._capacitance_tril.shape[-2:]))
        solved = solve_triangular(self._capacitance_tril.expand(shape), mapped, upper=False)
        squared = (difference.pow(2) / self.cov_diag).sum(-1) - solved.pow(2).sum((-2, -1))
        return -0.5 * squared - self._half_log_det() - self.loc.shape[-1] * HALF_LOG_2PI

    def entropy(self) -> Tensor:
        return self._half_log_det() + self.loc.shape[-1] * (0.5 + HALF_LOG_2PI)

    def _half_log_det(self) -> Tensor:
        diagonal = self._capacitance_tril.diagonal(dim1=-2, dim2=-1)
        return diagonal.log().sum(-1) + 0.5 * self.cov_diag.log().sum(-1)
