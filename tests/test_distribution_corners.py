"""Distributions and maps at the ends of their parameters, and shapes of what they tell."""

from __future__ import annotations

import math
from types import ModuleType

import pytest


@pytest.mark.parametrize("logit", [-1e38, -200.0, 200.0, 1e38])
def test_continuous_bernoulli_of_large_logits(lib: ModuleType, logit: float) -> None:
    for x in (0.0, 0.5, 1.0):
        logits = lib.tensor(logit, requires_grad=True)
        density = lib.distributions.ContinuousBernoulli(logits=logits).log_prob(lib.tensor(x))
        density.backward()
        assert density.item() == pytest.approx((x - (logit > 0)) * logit + 2.768981, rel=1e-6)
        assert logits.grad.item() == pytest.approx(x - (logit > 0))


def test_jacobians_of_parts_side_by_side(lib: ModuleType) -> None:
    D = lib.distributions.transforms
    scales, x = lib.tensor([2.0, 4.0]), lib.ones(3, 4)
    whole = D.AffineTransform(0, scales, event_dim=1)
    each = D.AffineTransform(0, scales)
    for parts, dim, expected in (
        ([each, each], -1, scales.log().repeat(3, 2)), ([whole, whole], 1, lib.full((3,), 6.0)),
        ([each, whole], -1, lib.full((3,), 6.0)),
    ):  # fmt: skip
        cat = D.CatTransform(parts, dim=dim, lengths=[2, 2])
        found = cat.log_abs_det_jacobian(x, cat(x))
        assert found.shape == expected.shape
        factor = 1 if found.ndim == 2 else math.log(2)
        assert lib.allclose(found, expected * factor)


def test_bounds_of_uniform_are_scalars(lib: ModuleType) -> None:
    for bound in lib.distributions.Uniform(0.0, 1.0).arg_constraints.values():
        assert bound.event_dim == 0 and not bound.is_discrete
