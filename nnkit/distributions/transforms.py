"""Maps of values onto values, with the logarithms of how they stretch space."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from nnkit.autograd import Size, Tensor
from nnkit.autograd.ops.creation.factories import eye
from nnkit.autograd.ops.shape.joining import cat as concatenate
from nnkit.autograd.ops.shape.joining import stack as stacked
from nnkit.autograd.ops.shape.reshaping import broadcast_shapes
from nnkit.autograd.surface.limits import finfo
from nnkit.distributions import constraints
from nnkit.distributions.constraints import Constraint
from nnkit.distributions.independent import sum_rightmost
from nnkit.distributions.transform import (
    ComposeTransform,
    IndependentTransform,
    ReshapeTransform,
    Transform,
    identity_transform,
)
from nnkit.distributions.utils import broadcast_all, tril_matrix_to_vec, vec_to_tril_matrix
from nnkit.linalg import cholesky
from nnkit.nn.functional import logsigmoid, pad, softplus

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform",
    "CorrCholeskyTransform", "CumulativeDistributionTransform", "ExpTransform",
    "IndependentTransform", "LowerCholeskyTransform", "PositiveDefiniteTransform",
    "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform",
    "identity_transform",
]  # fmt: skip


class _Plain(Transform):
    """A map without parameters: all objects of its class are equal."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    __hash__ = object.__hash__


class _Elementwise(_Plain):
    """A growing map of single numbers, one onto the other."""

    bijective = True
    sign = 1
    domain = constraints.real


class ExpTransform(_Elementwise):
    """``y = exp(x)``."""

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x


class PowerTransform(Transform):
    """``y = x ** exponent`` of positive numbers."""

    bijective = True
    domain = codomain = constraints.positive

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        (self.exponent,) = broadcast_all(exponent)

    sign = property(lambda self: self.exponent.sign())

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else PowerTransform(self.exponent, cache_size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool((self.exponent == other.exponent).all())

    __hash__ = object.__hash__

    def _call(self, x: Any) -> Any:
        return x.pow(self.exponent)

    def _inverse(self, y: Any) -> Any:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


class SigmoidTransform(_Elementwise):
    """``y = 1 / (1 + exp(-x))``."""

    codomain = constraints.unit_interval

    def _call(self, x: Any) -> Any:
        info = finfo(x.dtype)
        return x.sigmoid().clamp(info.tiny, 1 - info.eps)

    def _inverse(self, y: Any) -> Any:
        info = finfo(y.dtype)
        y = y.clamp(info.tiny, 1 - info.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Elementwise):
    """``y = log(1 + exp(x))``."""

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return softplus(x)

    def _inverse(self, y: Any) -> Any:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -softplus(-x)


class TanhTransform(_Elementwise):
    """``y = tanh(x)``."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(_Plain):
    """``y = |x|``."""

    domain, codomain = constraints.real, constraints.positive

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


class AffineTransform(Transform):
    """``y = loc + scale * x``."""

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    event_dim = property(lambda self: self._event_dim)

    @property
    def domain(self) -> Any:  # type: ignore[override]
        dims = self._event_dim
        return constraints.independent(constraints.real, dims) if dims else constraints.real

    codomain = domain  # type: ignore[assignment]

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return AffineTransform(self.loc, self.scale, self.event_dim, cache_size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        pairs = ((self.loc, other.loc), (self.scale, other.scale))
        return all(
            bool(alike if isinstance(alike := a == b, bool) else alike.all()) for a, b in pairs
        )

    __hash__ = object.__hash__

    @property
    def sign(self) -> Any:  # type: ignore[override]
        if isinstance(self.scale, Tensor):
            return self.scale.sign()
        return int(self.scale > 0) - int(self.scale < 0)

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if isinstance(self.scale, Tensor):
            result = self.scale.abs().log().expand(broadcast_shapes(x.shape, self.scale.shape))
        else:
            result = x.new_full(x.shape, math.log(abs(self.scale)))
        return sum_rightmost(result, self.event_dim)

    def forward_shape(self, shape: Any) -> Any:
        return broadcast_shapes(shape, *(getattr(v, "shape", ()) for v in (self.loc, self.scale)))

    inverse_shape = forward_shape


class CorrCholeskyTransform(Transform):
    """Real numbers to the Cholesky factor of a matrix of correlations."""

    bijective = True
    domain = constraints.real_vector
    codomain = constraints.corr_cholesky

    def _call(self, x: Any) -> Any:
        eps = finfo(x.dtype).eps
        r = vec_to_tril_matrix(x.tanh().clamp(-1 + eps, 1 - eps), diag=-1)
        squared = r**2
        rest = (1 - squared).sqrt().cumprod(-1)
        r = r + eye(r.shape[-1], dtype=r.dtype, device=r.device)
        return r * pad(rest[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        rest = pad((1 - (y * y).cumsum(-1))[..., :-1], [1, 0], value=1)
        y, rest = tril_matrix_to_vec(y, diag=-1), tril_matrix_to_vec(rest, diag=-1)
        t = y / rest.sqrt()
        return (t.log1p() - (-t).log1p()) / 2

    def log_abs_det_jacobian(self, x: Any, y: Any, intermediates: Any = None) -> Any:
        rest = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)
        stick = 0.5 * rest.log().sum(-1)
        return stick - 2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        size = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return Size((*shape[:-1], size, size))

    def inverse_shape(self, shape: Any) -> Any:
        if shape[-1] != shape[-2]:
            raise ValueError("Input is not square")
        return Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))


class SoftmaxTransform(_Plain):
    """Real numbers to probabilities that add up to 1."""

    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x: Any) -> Any:
        return x.softmax(-1)

    def _inverse(self, y: Any) -> Any:
        return y.log()


class StickBreakingTransform(_Plain):
    """Real numbers to one more probability, each a part of what is left."""

    bijective = True
    domain, codomain = constraints.real_vector, constraints.simplex

    @staticmethod
    def _left(x: Any) -> Any:
        return x.shape[-1] + 1 - x.new_ones(x.shape[-1]).cumsum(-1)

    def _call(self, x: Any) -> Any:
        info = finfo(x.dtype)
        z = (x - self._left(x).log()).sigmoid().clamp(info.tiny, 1 - info.eps)
        return pad(z, [0, 1], value=1) * pad((1 - z).cumprod(-1), [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        cut = y[..., :-1]
        rest = (1 - cut.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return cut.log() - rest.log() + self._left(cut).log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        x = x - self._left(x).log()
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        return Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Any) -> Any:
        return Size((*shape[:-1], shape[-1] - 1))


class LowerCholeskyTransform(_Plain):
    """A matrix to a lower triangular one with a positive diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(_Plain):
    """A matrix to a positive definite one."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(cholesky(y))


class CatTransform(Transform):
    """A map for each of some parts along a dimension."""

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        super().__init__(cache_size)
        self.transforms = [t.with_cache(cache_size) if cache_size else t for t in tseq]
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        self.dim = dim

    length = property(lambda self: sum(self.lengths))
    domain = property(lambda self: self._constraint([t.domain for t in self.transforms]))
    codomain = property(lambda self: self._constraint([t.codomain for t in self.transforms]))
    bijective = property(lambda self: all(t.bijective for t in self.transforms))

    def _constraint(self, parts: list[Constraint]) -> Constraint:
        return constraints.cat(parts, self.dim, self.lengths)

    def _parts(self, x: Tensor) -> Sequence[Tensor]:
        return x.split(self.lengths, self.dim)

    _joined: Callable = staticmethod(concatenate)

    def _call(self, x: Any) -> Any:
        pairs = zip(self.transforms, self._parts(x), strict=True)
        return self._joined([t(part) for t, part in pairs], self.dim)

    def _inverse(self, y: Any) -> Any:
        pairs = zip(self.transforms, self._parts(y), strict=True)
        return self._joined([t.inv(part) for t, part in pairs], self.dim)

    def _parts_of_jacobian(self, x: Any, y: Any) -> list[Tensor]:
        rows = zip(self.transforms, self._parts(x), self._parts(y), strict=True)
        return [t.log_abs_det_jacobian(a, b) for t, a, b in rows]

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        dims = max(t.event_dim for t in self.transforms)
        parts = [
            sum_rightmost(part, dims - t.event_dim)
            for t, part in zip(self.transforms, self._parts_of_jacobian(x, y), strict=True)
        ]
        dim = self.dim % x.ndim - x.ndim + dims  # from behind, among the dimensions that are left
        return self._joined(parts, dim) if dim < 0 else sum(parts)


class StackTransform(CatTransform):
    """A map for each position along a dimension."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, None, cache_size)

    def _constraint(self, parts: list[Constraint]) -> Constraint:
        return constraints.stack(parts, self.dim)

    def _parts(self, x: Tensor) -> Sequence[Tensor]:
        return x.unbind(self.dim)

    _joined = staticmethod(stacked)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self._joined(self._parts_of_jacobian(x, y), self.dim)


class CumulativeDistributionTransform(Transform):
    """Values to the probabilities of values at most as large."""

    bijective = True
    codomain = constraints.unit_interval
    sign = 1

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    domain = property(lambda self: self.distribution.support)

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return CumulativeDistributionTransform(self.distribution, cache_size)

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self.distribution.log_prob(x)
