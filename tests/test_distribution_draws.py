"""Draws that move with the parameters of their distribution, beside torch's."""

from __future__ import annotations

from types import ModuleType

import pytest

import nnkit
from nnkit.distributions import reparameterization
from nnkit.distributions.reparameterization import standard_gamma
from tests.test_distributions import flat

# The parameters of distributions whose draws move with them.
MOVING: dict[str, tuple] = {
    "Beta": ([0.5, 2.0, 7.0, 1.5], [1.5, 8.0, 9.0, 0.2]), "Cauchy": ([0.0, 1.0], [1.0, 2.0]),
    "Chi2": ([1.0, 9.0],), "ContinuousBernoulli": ([0.3, 0.5, 0.8],), "Exponential": ([1.0, 2.0],),
    "Dirichlet": ([[0.5, 2.0, 9.0], [7.0, 8.0, 9.0], [30.0, 0.1, 300.0]],),
    "FisherSnedecor": ([3.0, 4.0], [6.0, 9.0]), "Gamma": ([0.3, 2.0, 7.0, 9.0, 300.0], [1.0]),
    "GeneralizedPareto": ([0.0, 1.0], [1.0, 2.0], [0.2, -0.3]), "Gumbel": ([0.0, 1.0], [1.0, 2.0]),
    "HalfCauchy": ([1.0, 2.0],), "HalfNormal": ([1.0, 2.0],), "InverseGamma": ([3.0], [1.0, 2.0]),
    "Kumaraswamy": ([1.0, 2.0], [2.0, 3.0]), "Laplace": ([0.0, 1.0], [1.0, 2.0]),
    "LogNormal": ([0.0, 1.0], [1.0, 0.5]), "LogisticNormal": ([0.0, 1.0], [1.0, 2.0]),
    "LowRankMultivariateNormal": ([0.0, 1.0], [[0.5], [0.2]], [1.0, 2.0]),
    "MultivariateNormal": ([0.0, 1.0], [[2.0, 0.3], [0.3, 1.0]]), "Normal": ([0.0], [1.0, 2.0]),
    "OneHotCategoricalStraightThrough": ([0.3, 0.8, 0.2],), "Pareto": ([1.0, 2.0], [2.0, 3.0]),
    "RelaxedBernoulli": ([0.5], [0.3, 0.8]), "RelaxedOneHotCategorical": ([0.5], [0.3, 0.8, 0.2]),
    "StudentT": ([3.0, 10.0], [0.0, 1.0], [1.0, 2.0]), "Uniform": ([0.0, 1.0], [2.0, 3.0]),
    "Weibull": ([1.0, 2.0], [2.0, 3.0]),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", MOVING)
def test_draws_move_with_their_parameters(name: str, dtype: str, torch: ModuleType) -> None:
    found = []
    for lib in (nnkit, torch):
        lib.manual_seed(5)
        kind = getattr(lib, dtype)
        leaves = [lib.tensor(p, dtype=kind, requires_grad=True) for p in MOVING[name]]
        drawn = getattr(lib.distributions, name)(*leaves).rsample((200,))
        weights = lib.linspace(1, 2, drawn.numel(), dtype=kind).view(drawn.shape)
        grads = lib.autograd.grad((drawn * weights).sum(), leaves)
        found.append(flat([drawn.tolist(), *(g.tolist() for g in grads)]))
    exact = dtype == "float64"
    bound = 1e-8 if exact else 1e-4
    assert found[0] == pytest.approx(found[1], rel=bound, abs=bound)


def test_a_draw_moves_so_that_the_probability_of_smaller_ones_stays() -> None:
    nnkit.manual_seed(0)
    a = nnkit.tensor([0.3, 1.0, 2.5, 20.0], dtype=nnkit.float64).expand(20000, 4).clone()
    drawn = standard_gamma(a.requires_grad_())
    drawn.sum().backward()
    assert drawn.mean(0).tolist() == pytest.approx(a[0].tolist(), rel=0.03)
    assert drawn.var(0).tolist() == pytest.approx(a[0].tolist(), rel=0.06)
    assert a.grad is not None
    a, x, moved = a.detach(), drawn.detach(), a.grad
    step = 1e-4 * a
    change = nnkit.special.gammainc(a + step, x) - nnkit.special.gammainc(a - step, x)
    density = ((a - 1) * x.log() - x - nnkit.lgamma(a)).exp()
    exact = -change / (2 * step) / density
    sure = (density > 1e-3) & (x < 50)  # the quotient of differences is not exact elsewhere
    assert moved[sure].tolist() == pytest.approx(exact[sure].tolist(), rel=2e-3)


@pytest.mark.parametrize("name", ["standard_gamma", "sample_dirichlet"])
def test_draws_of_half_precision_are_refused(name: str) -> None:
    with pytest.raises(NotImplementedError, match="not implemented for 'float16'"):
        getattr(reparameterization, name)(nnkit.ones(2, dtype=nnkit.float16))
