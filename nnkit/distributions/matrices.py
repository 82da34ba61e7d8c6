"""Random matrices: `LKJCholesky` and `Wishart`."""

from __future__ import annotations

import math
from typing import Any

from nnkit.autograd import Size, Tensor, no_grad
from nnkit.autograd.batch.examples import lowest
from nnkit.autograd.ops.creation.factories import arange
from nnkit.autograd.ops.decomposition.matrix_functions import cholesky_solve
from nnkit.autograd.ops.elementwise.transcendental import digamma, lgamma
from nnkit.autograd.ops.random.factories import randn
from nnkit.autograd.ops.shape.triangles import tril_indices
from nnkit.autograd.surface.limits import finfo
from nnkit.backend.warning import warn
from nnkit.distributions import constraints
from nnkit.distributions.distribution import Distribution, parameters
from nnkit.distributions.exp_family import ExponentialFamily
from nnkit.distributions.gamma import Beta, Chi2
from nnkit.distributions.normal import CholeskyParameters
from nnkit.linalg import slogdet
from nnkit.special import multigammaln


class LKJCholesky(Distribution):
    """Lower Cholesky factors of correlation matrices C with the density ``det(C)**(a - 1)``.

    Args:
        dim: the number of rows, at least 2.
        concentration: a; 1 makes all correlation matrices alike probable.
        validate_args: check parameters and values.

    Raises:
        ValueError: ``dim`` is below 2, or ``concentration`` not positive.

    Source: ``torch.distributions.LKJCholesky``; Lewandowski, Kurowicka and Joe 2009, "Generating
    random correlation matrices based on vines and extended onion method".

    Example:
        >>> import nnkit
        >>> nnkit.distributions.LKJCholesky(3, 0.5).log_prob(nnkit.eye(3))
        tensor(-2.5310)
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    arg_names = ("concentration",)

    def __init__(
        self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise ValueError(f"LKJCholesky: expected dim of at least 2, got {dim}")
        self.dim = dim
        (self.concentration,) = parameters(concentration)
        super().__init__(self.concentration.shape, Size((dim, dim)), validate_args)
        a = self.concentration
        row = arange(dim, dtype=a.dtype, device=a.device)
        above = (row - 1).clamp(min=0)
        # The squared length of each row's part below the diagonal.
        self._beta = Beta(above + 0.5, (a + 0.5 * (dim - 2)).unsqueeze(-1) - 0.5 * above)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._beta = self._beta.expand((*batch_shape, self.dim))
        return new

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            squared = self._beta.sample(sample_shape).unsqueeze(-1)
            shape = self._extended_shape(sample_shape)
            like = self.concentration
            directions = randn(shape, dtype=like.dtype, device=like.device).tril(-1)
            directions = directions / directions.norm(dim=-1, keepdim=True)
            directions[..., 0, :] = 0.0
            factor = squared.sqrt() * directions
            rest = (1 - (factor**2).sum(-1)).clamp(min=finfo(factor.dtype).tiny).sqrt()
            return factor + rest.diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        n, a = self.dim, self.concentration
        order = arange(2, n + 1, device=a.device)
        order = 2 * (a - 1).unsqueeze(-1) + n - order
        terms = (order * value.diagonal(dim1=-1, dim2=-2)[..., 1:].log()).sum(-1)
        last = n - 1
        half = a + 0.5 * last
        scale = 0.5 * last * math.log(math.pi) + multigammaln(half - 0.5, last)
        return terms - (scale - lgamma(half) * last)


class Wishart(CholeskyParameters, ExponentialFamily):
    """Sums of ``df`` outer products of normal vectors with themselves.

    Args:
        df: above the number of rows less 1.
        covariance_matrix, precision_matrix, scale_tril: (*, n, n), exactly one of them: the
            covariance of the vectors, its inverse, or its lower Cholesky factor.
        validate_args: check parameters and values.

    Raises:
        ValueError: not exactly one of the matrices is given, or one is not of its kind, or ``df``
            is too small.

    Source: ``torch.distributions.Wishart``; draws: Bartlett's decomposition.

    Example:
        >>> import nnkit
        >>> nnkit.distributions.Wishart(nnkit.tensor(3.0), nnkit.eye(2)).mean
        tensor([[3., 0.],
                [0., 3.]])
    """

    has_rsample = True
    support = constraints.positive_definite
    arg_names = ("covariance_matrix", "precision_matrix", "scale_tril", "df")

    def __init__(
        self,
        df: Any,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        matrices = (covariance_matrix, precision_matrix, scale_tril)
        like = next((m for m in matrices if m is not None), None)
        (df,) = parameters(df if isinstance(df, Tensor) or like is None else like.new_tensor(df))
        batch = self._keep_matrix(*matrices, df.shape)
        rows = self.__dict__[next(n for n in self.arg_names if n in self.__dict__)].shape[-1]
        self.arg_constraints = {
            **CholeskyParameters.arg_constraints,
            "df": constraints.greater_than(rows - 1),
        }
        self.df = df.expand(batch)
        if bool(lowest(df <= rows - 1).any()):
            raise ValueError(
                f"Wishart: Value of df={df} expected to be greater than ndim - 1 = {rows - 1}"
            )
        if bool(lowest(df < rows).any()):
            warn(
                "Low df values detected. Singular samples are highly likely to occur for "
                "ndim - 1 < df < ndim."
            )
        super().__init__(batch, Size((rows, rows)), validate_args)
        self._find_factor()
        tril = self._unbroadcasted_scale_tril
        degrees = self.df.unsqueeze(-1) - arange(rows, dtype=tril.dtype, device=tril.device)
        self._chi2 = Chi2(degrees)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._chi2 = self._chi2.expand((*batch_shape, self.event_shape[-1]))
        return new

    mean = property(lambda self: self.df[..., None, None] * self.covariance_matrix)

    @property
    def mode(self) -> Tensor:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor = factor.masked_fill(factor <= 0, math.nan)
        return factor[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        both = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df[..., None, None] * (v.pow(2) + both)

    def rsample(self, sample_shape: Any = (), max_try_correction: int | None = None) -> Tensor:
        drawn = self._bartlett_sampling(sample_shape)
        # torch's numbers: it takes what is definite for singular here, and draws that again.
        wrong = self._of_any(self.support.check(drawn))
        for _ in range(10 if max_try_correction is None else max_try_correction):
            if not bool(wrong.any()):
                break
            again = self._bartlett_sampling((int(wrong.sum()),))
            drawn[wrong] = again
            wrong[wrong.clone()] = self._of_any(~self.support.check(again))
        return drawn

    def _of_any(self, found: Tensor) -> Tensor:
        """Of each draw, whether it holds for one of the distributions side by side."""
        dims = tuple(range(-len(self._batch_shape), 0))
        return found.amax(dims) if dims else found

    def _bartlett_sampling(self, sample_shape: Any) -> Tensor:
        rows = self.event_shape[-1]
        diagonal = self._chi2.rsample(sample_shape).sqrt()
        triangle = diagonal.clamp(min=finfo(diagonal.dtype).eps).diag_embed()
        count = rows * (rows - 1) // 2
        below = randn(
            (*sample_shape, *self._batch_shape, count), dtype=triangle.dtype, device=triangle.device
        )
        i, j = tril_indices(rows, rows, -1, device=self.df.device)
        triangle[..., i, j] = below
        product = self._unbroadcasted_scale_tril @ triangle
        return product @ product.mT

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        n, half = self.event_shape[-1], 0.5 * self.df
        solved = cholesky_solve(value, self._unbroadcasted_scale_tril)
        trace = solved.diagonal(dim1=-2, dim2=-1).sum(-1)
        log_det = value.slogdet().logabsdet
        return (
            -self.df * self._half_log_det() - n * half * math.log(2) - multigammaln(half, n)
            + 0.5 * (self.df - n - 1) * log_det - 0.5 * trace
        )  # fmt: skip

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        n = self._event_shape[-1]
        half = y + (n + 1) / 2
        return half * (n * math.log(2) - slogdet(-2 * x).logabsdet) + multigammaln(half, n)

    def entropy(self) -> Tensor:
        n, half = self.event_shape[-1], 0.5 * self.df
        levels = half.unsqueeze(-1) - 0.5 * arange(n, dtype=half.dtype, device=half.device)
        digammas = digamma(levels).sum(-1)
        log_det = 2 * self._half_log_det()
        return (
            0.5 * (n + 1) * log_det + 0.5 * n * (n + 1) * math.log(2) + multigammaln(half, n)
            - 0.5 * (self.df - n - 1) * digammas + half * n
        )  # fmt: skip
