"""What the table's rows cannot say of reductions: warnings, and where torch has no good answer."""

from __future__ import annotations

import numpy as np
import pytest

import nnkit


@pytest.mark.parametrize("name", ["var", "std", "var_mean", "std_mean"])
def test_a_variance_without_degrees_of_freedom_warns(name):
    with pytest.warns(UserWarning, match="degrees of freedom"):
        result = getattr(nnkit, name)(nnkit.ones(3, 1), 1)
    first = result[0] if isinstance(result, tuple) else result
    assert first.isnan().all()


def test_correction_and_unbiased_exclude_each_other():
    with pytest.raises(TypeError, match="correction"):
        nnkit.ones(3).var(0, unbiased=True, correction=1)


def test_results_of_max_are_named():
    found = nnkit.tensor([[1.0, 3.0], [2.0, 0.0]]).max(1)
    assert isinstance(found, nnkit.return_types.max)
    assert found.values.tolist() == [3, 2] and found.indices.tolist() == [1, 0]
    text = "nnkit.return_types.max(\nvalues=tensor([3., 2.]),\nindices=tensor([1, 0]))"
    assert repr(found) == text


def test_leading_infinities_do_not_spoil_the_gradient_of_logcumsumexp():
    """torch's is NaN up to the first finite element."""
    x = nnkit.tensor([-np.inf, -np.inf, 1.0, 2.0], requires_grad=True)
    (gradient,) = nnkit.autograd.grad(x.logcumsumexp(0).sum(), x)
    weight = np.exp(1 - np.logaddexp(1, 2))
    np.testing.assert_allclose(gradient.numpy(), [0, 0, 1 + weight, 1 - weight], rtol=1e-6)


# What 128 roundings amount to where they are independent: no more terms than that are added one
# after the other.
ROUNDING = 128**0.5 * 2**-24


@pytest.mark.parametrize("axis", [0, 1, 2, (0, 2), None])
@pytest.mark.parametrize("order", ["C", "F"])
def test_sums_of_many_numbers_are_as_exact_as_pairwise_ones(axis, order):
    array = np.random.default_rng(0).random((300, 70, 40), np.float32)
    x = nnkit.from_numpy(np.asarray(array, order=order))
    exact = array.astype(np.float64).sum(axis)
    np.testing.assert_allclose(x.sum(axis).numpy(), exact, rtol=ROUNDING)


def test_a_long_column_is_summed_in_blocks():
    array = np.random.default_rng(0).random((500_001, 3), np.float32)
    exact = array.astype(np.float64).sum(0)
    np.testing.assert_allclose(nnkit.from_numpy(array).sum(0).numpy(), exact, rtol=ROUNDING)
