"""What the table's rows cannot say of the decompositions: derivatives of symmetric matrices and of
singular ones, and factors that are only determined up to signs."""

from __future__ import annotations

import numpy as np
import pytest

import nnkit


@pytest.fixture
def square() -> nnkit.Tensor:
    nnkit.manual_seed(0)
    return nnkit.randn(4, 4, dtype=nnkit.float64, requires_grad=True)


def definite(x: nnkit.Tensor) -> nnkit.Tensor:
    return x @ x.mT + 2 * nnkit.eye(4, dtype=x.dtype)


@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_of_symmetric_matrices(square, upper):
    def factor(x):
        return nnkit.linalg.cholesky(definite(x), upper=upper)

    assert nnkit.autograd.gradcheck(factor, square)
    assert nnkit.autograd.gradgradcheck(factor, square)


@pytest.mark.parametrize("upper", [False, True])
def test_solutions_from_a_cholesky_factor(square, upper):
    right = nnkit.ones(4, 2, dtype=nnkit.float64, requires_grad=True)

    def solve(x, b):
        return nnkit.cholesky_solve(b, x + 3 * nnkit.eye(4, dtype=x.dtype), upper)

    def invert(x):
        return nnkit.cholesky_inverse(x + 3 * nnkit.eye(4, dtype=x.dtype), upper)

    assert nnkit.autograd.gradcheck(solve, (square, right))
    assert nnkit.autograd.gradcheck(invert, square)


def test_vander_has_a_gradient(square):
    assert nnkit.autograd.gradcheck(nnkit.vander, square[0].detach().requires_grad_())


def test_eigenvalues_of_symmetric_matrices(square):
    assert nnkit.autograd.gradcheck(lambda x: nnkit.linalg.eigvalsh(x + x.mT), square)
    assert nnkit.autograd.gradgradcheck(lambda x: nnkit.linalg.eigvalsh(x + x.mT), square)


def test_eigenvectors_reconstruct(square):
    def rebuild(x):
        values, vectors = nnkit.linalg.eigh(x + x.mT)
        return vectors * values.exp() @ vectors.mT

    expected = nnkit.linalg.matrix_exp(square + square.mT).detach().numpy()
    np.testing.assert_allclose(rebuild(square).detach().numpy(), expected, rtol=1e-10)
    assert nnkit.autograd.gradcheck(rebuild, square)


def test_eig_reconstructs(square):
    def rebuild(x):
        values, vectors = nnkit.linalg.eig(x)
        return ((vectors * values) @ nnkit.linalg.inv(vectors)).real

    np.testing.assert_allclose(
        rebuild(square).detach().numpy(), square.detach().numpy(), atol=1e-12
    )
    assert nnkit.autograd.gradcheck(rebuild, square)
    assert nnkit.autograd.gradcheck(lambda x: nnkit.linalg.eigvals(x).abs(), square)


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3), (2, 4, 3)])
@pytest.mark.parametrize("dtype", [nnkit.float64, nnkit.complex128])
def test_svd_reconstructs(shape, dtype):
    nnkit.manual_seed(1)
    x = nnkit.randn(*shape, dtype=dtype, requires_grad=True)

    def rebuild(x):
        u, s, vh = nnkit.linalg.svd(x, full_matrices=False)
        return u * s.square().unsqueeze(-2) @ vh

    u, s, vh = nnkit.linalg.svd(x, full_matrices=False)
    back = (u * s.unsqueeze(-2) @ vh).detach().numpy()
    np.testing.assert_allclose(back, x.detach().numpy(), atol=1e-12)
    assert nnkit.autograd.gradcheck(rebuild, x)


def test_svd_of_torch_gives_v_not_its_transpose(square):
    u, s, v = nnkit.svd(square)
    np.testing.assert_allclose((u * s @ v.mT).detach().numpy(), square.detach().numpy(), atol=1e-12)
    assert nnkit.svd(square, compute_uv=False).U.abs().sum() == 0


def test_full_svd_of_a_rectangle_has_no_derivative():
    x = nnkit.randn(3, 2, dtype=nnkit.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="full_matrices"):
        nnkit.linalg.svd(x).S.sum().backward()


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3)])
def test_qr_modes(shape):
    x = nnkit.randn(*shape, dtype=nnkit.float64, requires_grad=True)
    for mode in ("reduced", "complete"):
        q, r = nnkit.linalg.qr(x, mode)
        np.testing.assert_allclose((q @ r).detach().numpy(), x.detach().numpy(), atol=1e-12)
    assert nnkit.linalg.qr(x, "r").Q.shape == (0,)
    with pytest.raises(RuntimeError, match="mode"):
        nnkit.linalg.qr(x, "raw")


def test_complete_qr_of_a_tall_matrix_has_no_derivative():
    x = nnkit.randn(4, 2, dtype=nnkit.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="complete"):
        nnkit.linalg.qr(x, "complete").R.sum().backward()


def test_det_of_singular_matrices_has_a_gradient():
    """The derivative is the transposed adjugate; torch returns zeros where all elements are 1."""
    x = nnkit.ones(2, 2, dtype=nnkit.float64, requires_grad=True)
    (gradient,) = nnkit.autograd.grad(nnkit.det(x), x)
    np.testing.assert_allclose(gradient.numpy(), [[1, -1], [-1, 1]], atol=1e-12)
    x = nnkit.tensor([[1.0, 2, 3], [4, 5, 6], [7, 8, 9]], dtype=nnkit.float64, requires_grad=True)
    assert nnkit.autograd.gradcheck(nnkit.det, x)
    assert nnkit.det(nnkit.zeros(0, 0)).item() == 1


def test_cond_in_all_norms(square):
    x = square.detach()
    for p in (None, 1, -1, 2, -2, np.inf, "fro", "nuc"):
        expected = np.linalg.cond(x.numpy(), p)
        np.testing.assert_allclose(nnkit.linalg.cond(x, p).item(), expected, rtol=1e-10)


def test_reflections_of_geqrf_rebuild_the_matrix():
    x = nnkit.randn(5, 3, dtype=nnkit.float64)
    a, tau = nnkit.geqrf(x)
    q = nnkit.orgqr(a, tau)
    np.testing.assert_allclose((q @ a[:3].triu()).numpy(), x.numpy(), atol=1e-12)
    full = nnkit.ormqr(a, tau, nnkit.eye(5, dtype=x.dtype))
    np.testing.assert_allclose(full[:, :3].numpy(), q.numpy(), atol=1e-12)


def test_lstsq_solves_the_normal_equations():
    a, b = nnkit.randn(6, 3, dtype=nnkit.float64), nnkit.randn(6, 2, dtype=nnkit.float64)
    found = nnkit.linalg.lstsq(a, b)
    expected, *_ = np.linalg.lstsq(a.numpy(), b.numpy())
    np.testing.assert_allclose(found.solution.numpy(), expected, atol=1e-12)
    assert found.rank.item() == 3
