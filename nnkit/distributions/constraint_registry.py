"""A map from real numbers onto a set of values, for each kind of set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.distributions import constraints, transforms
from nnkit.distributions.constraints import Constraint

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Finds the map from real numbers onto a set.

    Example:
        >>> import nnkit
        >>> transform_to(nnkit.distributions.constraints.positive)(nnkit.zeros(1))
        tensor([1.])
    """

    def __init__(self) -> None:
        self._registry: dict[type, Callable] = {}

    def register(self, constraint: Any, factory: Callable | None = None) -> Any:
        """Say which map belongs to a kind of set; a decorator without ``factory``.

        Raises:
            TypeError: it is no constraint.
        """
        if factory is None:
            return lambda function: self.register(constraint, function)
        kind = type(constraint) if isinstance(constraint, Constraint) else constraint
        if not (isinstance(kind, type) and issubclass(kind, Constraint)):
            raise TypeError(f"Expected constraint to be a Constraint, but got {constraint}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        """The map onto a set.

        Raises:
            NotImplementedError: none is known.
        """
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(
                f"Cannot transform {type(constraint).__name__} constraints: none is registered"
            )
        return factory(constraint)


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()


def _both(constraint: Any, factory: Callable) -> None:
    biject_to.register(constraint, factory)
    transform_to.register(constraint, factory)


def _bounded(constraint: Any) -> Any:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, (int, float)) and low == 0 and isinstance(high, (int, float)) and high == 1:
        return transforms.SigmoidTransform()
    parts = [transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)]
    return transforms.ComposeTransform(parts)


def _above(constraint: Any) -> Any:
    parts = [transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)]
    return transforms.ComposeTransform(parts)


def _below(constraint: Any) -> Any:
    parts = [transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)]
    return transforms.ComposeTransform(parts)


def _within(registry: ConstraintRegistry) -> None:
    @registry.register(constraints.independent)
    def _independent(constraint: Any) -> Any:
        base = registry(constraint.base_constraint)
        return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)

    @registry.register(constraints.cat)
    def _cat(constraint: Any) -> Any:
        parts = [registry(each) for each in constraint.cseq]
        return transforms.CatTransform(parts, constraint.dim, constraint.lengths)

    @registry.register(constraints.stack)
    def _stack(constraint: Any) -> Any:
        parts = [registry(each) for each in constraint.cseq]
        return transforms.StackTransform(parts, constraint.dim)


_within(biject_to)
_within(transform_to)
_both(constraints.real, lambda constraint: transforms.identity_transform)
_both(constraints.positive, _above)
_both(constraints.nonnegative, _above)
_both(constraints.less_than, _below)
_both(constraints.interval, _bounded)
_both(constraints.half_open_interval, _bounded)
biject_to.register(constraints.simplex, lambda c: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda c: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda c: transforms.LowerCholeskyTransform())
for _each in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_each, lambda c: transforms.PositiveDefiniteTransform())
_both(constraints.corr_cholesky, lambda c: transforms.CorrCholeskyTransform())
