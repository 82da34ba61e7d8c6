"""Sets of values: what a parameter may be, and what a distribution can give.

``constraint.check(value)`` tells for each event whether it is in the set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.batch.examples import lowest
from nnkit.autograd.ops.creation.factories import ones
from nnkit.autograd.ops.shape.joining import cat as concatenate
from nnkit.autograd.ops.shape.joining import stack as stacked
from nnkit.linalg import cholesky_ex, eigvalsh

__all__ = [
    "Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent",
    "dependent_property", "greater_than", "greater_than_eq", "half_open_interval", "independent",
    "integer_interval", "interval", "is_dependent", "less_than", "lower_cholesky",
    "lower_triangular", "multinomial", "nonnegative", "nonnegative_integer", "one_hot", "positive",
    "positive_definite", "positive_integer", "positive_semidefinite", "real", "real_vector",
    "simplex", "square", "stack", "symmetric", "unit_interval",
]


class Constraint:
    """A set of values.

    Attributes:
        is_discrete: whether it is a set of integers.
        event_dim: how many of the last dimensions make one value.
    """

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Tensor) -> Tensor:
        """Whether each value is in the set."""
        raise NotImplementedError(f"{type(self).__name__} does not say what is in it")

    def __repr__(self) -> str:
        return type(self).__name__.removeprefix("_") + "()"


class _Where(Constraint):
    """The values for which a formula of them, and of some numbers, holds; `_where` derives it."""

    _holds: Callable[..., Tensor]
    _numbers: tuple[str, ...]

    def __init__(self, *given: Any, **named: Any) -> None:
        values = dict(zip(self._numbers, given)) | named
        if len(given) + len(named) != len(values) or values.keys() != set(self._numbers):
            name = type(self).__name__[1:]
            raise TypeError(f"{name} takes {self._numbers}, got {given} and {named}")
        self.__dict__.update(values)

    def check(self, value: Tensor) -> Tensor:
        return self._holds(value, *[getattr(self, name) for name in self._numbers])

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)}" for name in self._numbers)
        return f"{type(self).__name__[1:]}({shown})"


def _where(
    name: str, about: str, holds: Callable[..., Tensor], *numbers: str, event_dim: int = 0,
    is_discrete: bool = False,
) -> type[_Where]:
    members = {
        "_holds": staticmethod(holds), "_numbers": numbers, "event_dim": event_dim,
        "is_discrete": is_discrete, "__doc__": about, "__module__": __name__,
    }
    return type(f"_{name}", (_Where,), members)


class _Dependent(Constraint):
    """A set that depends on other parameters: only the distribution knows it."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented):
        self._is_discrete, self._event_dim = is_discrete, event_dim

    is_discrete = property(lambda self: _known(self._is_discrete, "is_discrete"))
    event_dim = property(lambda self: _known(self._event_dim, "event_dim"))

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented):
        """The constraint, with what is known of it."""
        discrete = self._is_discrete if is_discrete is NotImplemented else is_discrete
        dims = self._event_dim if event_dim is NotImplemented else event_dim
        return _Dependent(is_discrete=discrete, event_dim=dims)

    def check(self, value: Tensor) -> Tensor:
        raise ValueError("a constraint that depends on parameters cannot be checked by itself")


def _known(value: Any, name: str) -> Any:
    if value is NotImplemented:
        raise NotImplementedError(f"{name} cannot be told without the distribution")
    return value


class _DependentProperty(property, _Dependent):
    """A property of a distribution that gives a constraint; of the class, a dependent one."""

    def __init__(
        self,
        fn: Any = None,
        *,
        is_discrete: Any = NotImplemented,
        event_dim: Any = NotImplemented,
    ) -> None:
        property.__init__(self, fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn: Callable) -> Any:  # type: ignore[override]
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _IndependentConstraint(Constraint):
    """Values of which some further dimensions belong together: all must be in the set."""

    def __init__(self, base_constraint: Any, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    is_discrete = property(lambda self: self.base_constraint.is_discrete)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        found = self.base_constraint.check(value)
        if found.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(
                f"independent: expected a value of at least {self.event_dim} dimensions, got "
                f"{value.dim()}"
            )
        kept = found.dim() - self.reinterpreted_batch_ndims
        return found.reshape(*found.shape[:kept], -1).all(-1)

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """Values that each component of a mixture can give, along whose batch they are repeated."""

    def __init__(self, base_constraint: Any) -> None:
        self.base_constraint = base_constraint

    is_discrete = property(lambda self: self.base_constraint.is_discrete)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return self.base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        events = self.event_dim
        found = self.base_constraint.check(value.unsqueeze(-1 - events))
        if value.dim() < events:
            raise ValueError(
                f"mixture: expected a value of at least {events} dimensions, got {value.dim()}"
            )
        return found.reshape(*found.shape[: value.dim() - events], -1).all(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


class _Cat(Constraint):
    """Values side by side along a dimension, ``lengths`` of each set."""

    def __init__(
        self, cseq: Iterable[Any], dim: int = 0, lengths: Iterable[int] | None = None
    ) -> None:
        self.cseq, self.dim = list(cseq), dim
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)

    is_discrete = property(lambda self: any(each.is_discrete for each in self.cseq))
    event_dim = property(lambda self: max(each.event_dim for each in self.cseq))

    def check(self, value: Tensor) -> Tensor:
        parts = value.split(self.lengths, self.dim)
        found = [each.check(part) for each, part in zip(self.cseq, parts, strict=True)]
        return concatenate(found, self.dim)


class _Stack(_Cat):
    """Values along a dimension, one of each set."""

    def check(self, value: Tensor) -> Tensor:
        parts = value.unbind(self.dim)
        found = [each.check(part) for each, part in zip(self.cseq, parts, strict=True)]
        return stacked(found, self.dim)


def _whole(x: Tensor) -> Tensor:
    return x % 1 == 0


def _on_last_two(holds: Tensor) -> Tensor:
    return holds.flatten(-2).all(-1)


def _is_square(x: Tensor) -> Tensor:
    return ones(x.shape[:-2]).bool() & (x.shape[-2] == x.shape[-1])


def _is_symmetric(x: Tensor) -> Tensor:
    return _is_square(x) & _on_last_two(x.isclose(x.mT, atol=1e-6)) if _alike(x) else _is_square(x)


def _alike(x: Tensor) -> bool:
    return x.shape[-2] == x.shape[-1]


def _is_lower(x: Tensor) -> Tensor:
    return _on_last_two(x.tril() == x)


def _has_positive_diagonal(x: Tensor) -> Tensor:
    return (x.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


def _is_definite(x: Tensor) -> Tensor:
    symmetric = _is_symmetric(x)
    return cholesky_ex(x).info == 0 if bool(lowest(symmetric).all()) else symmetric


def _is_semidefinite(x: Tensor) -> Tensor:
    return _is_symmetric(x) & (eigvalsh(x) >= 0).all(-1) if _alike(x) else _is_square(x)


def _has_unit_rows(x: Tensor) -> Tensor:
    tolerance = 1e-5 if x.dtype.itemsize < 8 else 1e-12
    return ((x**2).sum(-1) - 1).abs().lt(tolerance * 10 * x.shape[-1]).all(-1)


_BOUNDS = ("lower_bound", "upper_bound")
_Interval = _where(
    "Interval", "The numbers from one to another.",
    lambda x, low, high: (x >= low) & (x <= high), *_BOUNDS,
)
_HalfOpenInterval = _where(
    "HalfOpenInterval", "The numbers from one to another, without the last.",
    lambda x, low, high: (x >= low) & (x < high), *_BOUNDS,
)
_IntegerInterval = _where(
    "IntegerInterval", "The integers from one to another.",
    lambda x, low, high: _whole(x) & (x >= low) & (x <= high), *_BOUNDS, is_discrete=True,
)
_GreaterThan = _where(
    "GreaterThan", "The numbers above one.", lambda x, low: x > low, "lower_bound"
)
_GreaterThanEq = _where(
    "GreaterThanEq", "The numbers from one on.", lambda x, low: x >= low, "lower_bound"
)
_LessThan = _where("LessThan", "The numbers below one.", lambda x, high: x < high, "upper_bound")
_IntegerGreaterThan = _where(
    "IntegerGreaterThan", "The integers from one on.",
    lambda x, low: _whole(x) & (x >= low), "lower_bound", is_discrete=True,
)
_Multinomial = _where(
    "Multinomial", "Counts that add up to at most a number.",
    lambda x, most: (x >= 0).all(-1) & (x.sum(-1) <= most), "upper_bound",
    event_dim=1, is_discrete=True,
)
_Real = _where("Real", "All numbers but NaN.", lambda x: x == x)
_Boolean = _where("Boolean", "0 and 1.", lambda x: (x == 0) | (x == 1), is_discrete=True)
_Simplex = _where(
    "Simplex", "Probabilities that add up to 1.",
    lambda x: (x >= 0).all(-1) & ((x.sum(-1) - 1).abs() < 1e-6), event_dim=1,
)
_OneHot = _where(
    "OneHot", "A 1 among zeros.",
    lambda x: ((x == 0) | (x == 1)).all(-1) & (x.sum(-1) == 1), event_dim=1, is_discrete=True,
)
_LowerTriangular = _where("LowerTriangular", "Lower triangular matrices.", _is_lower, event_dim=2)
_LowerCholesky = _where(
    "LowerCholesky", "Lower triangular matrices with a positive diagonal.",
    lambda x: _is_lower(x) & _has_positive_diagonal(x), event_dim=2,
)
_CorrCholesky = _where(
    "CorrCholesky", "Cholesky factors of correlations.",
    lambda x: _is_lower(x) & _has_positive_diagonal(x) & _has_unit_rows(x), event_dim=2,
)
_Square = _where("Square", "Square matrices.", _is_square, event_dim=2)
_Symmetric = _where("Symmetric", "Symmetric matrices.", _is_symmetric, event_dim=2)
_PositiveSemidefinite = _where(
    "PositiveSemidefinite", "Positive semidefinite matrices.", _is_semidefinite, event_dim=2
)
_PositiveDefinite = _where(
    "PositiveDefinite", "Positive definite matrices.", _is_definite, event_dim=2
)


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint depends on other parameters."""
    return isinstance(constraint, _Dependent)


dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = _IndependentConstraint(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
