"""What the table's rows cannot say of the decompositions: derivatives of symmetric matrices and of
singular ones, and factors that are only determined up to signs."""

from __future__ import annotations

import math
from types import ModuleType

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
        return nnkit.cholesky_solve(b, triangle(x), upper)

    def invert(x):
        return nnkit.cholesky_inverse(triangle(x), upper)

    def triangle(x):
        return (x.triu() if upper else x.tril()) + 3 * nnkit.eye(4, dtype=x.dtype)

    assert nnkit.autograd.gradcheck(solve, (square, right))
    assert nnkit.autograd.gradcheck(invert, square)
    assert nnkit.autograd.gradgradcheck(solve, (square, right))


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


@pytest.mark.parametrize("shape", [(3, 2), (2, 3)])
def test_full_svd_of_a_rectangle_has_the_gradient_of_the_reduced_one(shape):
    x = nnkit.randn(*shape, dtype=nnkit.float64, requires_grad=True)
    gradients = []
    for full in (True, False):
        u, s, vh = nnkit.linalg.svd(x, full)
        total = (u[:, :2] ** 3).sum() + s.sum() + (vh[:2] ** 3).sum()
        gradients += nnkit.autograd.grad(total, x)
    np.testing.assert_allclose(*[g.numpy() for g in gradients], rtol=1e-12)


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


EMPTY = [
    ("matrix_rank(torch.zeros(0, 3))", 0),
    ("matrix_rank(torch.zeros(2, 0, 0))", [0, 0]),
    ("matrix_norm(torch.zeros(0, 0), 2)", 0),
    ("matrix_norm(torch.zeros(3, 0), 1)", 0),
    ("matrix_norm(torch.zeros(0, 3), math.inf)", 0),
    ("cond(torch.zeros(2, 0, 0))", [0, 0]),
    ("cond(torch.zeros(0, 0), 1)", 0),
    ("pinv(torch.zeros(0, 3)).shape", (3, 0)),
    ("lstsq(torch.zeros(0, 2), torch.zeros(0, 2)).solution", [[0, 0], [0, 0]]),
    ("vander(torch.tensor(3), N=3)", [[1, 3, 9]]),
    # Tolerances, and matrices of which one triangle is read.
    ("matrix_rank(torch.diag(torch.tensor([4.0, 2.0, 1.0])), 1.5)", 2),
    ("matrix_rank(torch.diag(torch.tensor([4.0, 2.0, 1.0])), rtol=0.4)", 2),
    ("matrix_rank(torch.eye(2).expand(2, 2, 2), atol=torch.tensor([0.5, 1.0]))", [2, 0]),
    ("matrix_rank(torch.tensor([[0.0, 9.0], [1.0, 0.0]]), hermitian=True)", 2),
    ("pinv(torch.tensor([[2.0, 0.0], [0.0, 1.0]]), 0.6)", [[0.5, 0], [0, 0]]),
    ("pinv(torch.tensor([[-2.0, 9.0], [0.0, 1.0]]), hermitian=True)", [[-0.5, 0], [0, 1]]),
    ("lstsq(torch.eye(2), torch.eye(2), driver='gels').rank", []),
]


@pytest.mark.parametrize(("call", "expected"), EMPTY, ids=[e[0] for e in EMPTY])
def test_corners(lib, call, expected):
    found = eval(f"torch.linalg.{call}", {"torch": lib, "math": math})
    assert (found if isinstance(found, tuple) else found.tolist()) == expected


COMPLEX = [
    "cholesky(x @ x.mH + 3 * torch.eye(3))",
    "qr(x).Q",
    "slogdet(x).sign",
    "det(x).log()",
    "pinv(x)",
    "eigh(x + x.mH).eigenvectors.abs()",
]


@pytest.mark.parametrize("call", COMPLEX)
def test_complex_gradients(lib, call):
    """For every direction of change: as torch's, they count what is not Hermitian too."""
    lib.manual_seed(3)
    x = lib.randn(3, 3, dtype=lib.complex128, requires_grad=True)
    assert lib.autograd.gradcheck(lambda x: eval(f"torch.linalg.{call}", {"torch": lib, "x": x}), x)


def test_pinv_of_deficient_rank_has_the_derivative_at_that_rank(lib):
    lib.manual_seed(0)
    left = lib.randn(5, 2, dtype=lib.float64, requires_grad=True)
    right = lib.randn(2, 4, dtype=lib.float64, requires_grad=True)
    assert lib.autograd.gradcheck(lambda x, y: lib.linalg.pinv(x @ y), (left, right))
    assert lib.autograd.gradgradcheck(lambda x, y: lib.linalg.pinv(x @ y), (left, right))


def test_gradients_of_eigenvalues_are_symmetric(lib):
    x = lib.tensor([[2.0, 1.0], [1.0, 5.0]], requires_grad=True)
    values = lib.linalg.eigvalsh(x)
    (g,) = lib.autograd.grad(values, x, lib.tensor([1.0, 2.0]), create_graph=True)
    (h,) = lib.autograd.grad(g, x, lib.tensor([[0.0, 1.0], [0.0, 0.0]]))
    assert h[0, 1] == pytest.approx(h[1, 0].item())


def test_gradients_of_eigenvalues_are_real(lib):
    x = lib.tensor([[2.0, 1.0], [0.0, 5.0]], requires_grad=True)
    lib.linalg.eigvals(x).real.sum().backward()
    assert x.grad.dtype == lib.float32
    assert x.grad.tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 0, 0)])
def test_factors_of_nothing_have_gradients(lib: ModuleType, shape: tuple[int, ...]) -> None:
    x = lib.zeros(shape, requires_grad=True)
    u, s, vh = lib.linalg.svd(x)
    (s.sum() + u.sum() * 0 + vh.sum() * 0).backward()
    assert x.grad.shape == shape


@pytest.mark.parametrize("shape", [(3, 3), (3, 2), (2, 3)])
def test_singular_values_of_0_have_gradients(lib: ModuleType, shape: tuple[int, int]) -> None:
    """A singular value of 0 spoils no gradient where only singular values are read."""
    for dtype in (lib.float64, lib.complex128):
        x = lib.zeros(shape, dtype=dtype, requires_grad=True)
        lib.linalg.svdvals(x).sum().backward()
        assert x.grad.tolist() == lib.eye(*shape).tolist()
        low = lib.ones(shape, dtype=dtype, requires_grad=True)
        lib.linalg.matrix_norm(low, 2).backward()
        want = lib.ones(shape) / (shape[0] * shape[1]) ** 0.5
        assert lib.allclose(low.grad, want.to(dtype))


def test_pivots_of_no_factorization_are_refused(framework) -> None:
    T = framework
    LU = T.ones(3, 3)
    for numbers in ([100, -5, 3], [0, 0, 0]):
        pivots = T.tensor(numbers, dtype=T.int32)
        with pytest.raises(RuntimeError, match="ivots"):
            T.lu_unpack(LU, pivots)
    with pytest.raises(RuntimeError, match="ivots"):
        T.linalg.lu_solve(LU, T.tensor([0, 1, 2], dtype=T.int32), T.ones(3, 1))
    with pytest.raises(RuntimeError, match="int32"):
        T.lu_unpack(LU, T.tensor([1, 2, 3]))
    for rows, columns in ((0, 3), (3, 0)):
        P, L, U = T.lu_unpack(T.zeros(rows, columns), T.zeros(0, dtype=T.int32))
        assert P.tolist() == T.eye(rows).tolist()
        assert tuple(L.shape) == (rows, 0) and tuple(U.shape) == (0, columns)


@pytest.mark.parametrize("upper", (False, True))
def test_a_cholesky_that_fails_leaves_what_it_had(framework, upper) -> None:
    T = framework
    A = T.tensor([[4.0, 1, 2, 0.5], [1, 3, 0.2, 0.1], [2, 0.2, -1, 0.3], [0.5, 0.1, 0.3, 2]])
    L, info = T.linalg.cholesky_ex(T.stack([A, T.eye(4), -A.abs()]), upper=upper)
    assert info.tolist() == [3, 0, 1]
    L = L.mH if upper else L
    half = T.linalg.cholesky(A[:2, :2])
    assert T.allclose(L[0, :2], T.cat([half, T.zeros(2, 2)], 1))
    assert T.allclose(L[0, 2:, :2] @ half.T, A[2:, :2])  # the rows below
    assert T.allclose(L[0, 2, 2], A[2, 2] - (L[0, 2, :2] ** 2).sum())
    assert L[0, 3, 2:].tolist() == A[3, 2:].tolist()
    assert L[1].tolist() == T.eye(4).tolist() and L[2].tolist() == (-A.abs()).tril().tolist()
    complex_A = T.tensor([[2.0, 1j, 1], [-1j, 3, 0], [1, 0, -5]], dtype=T.complex128)
    L, info = T.linalg.cholesky_ex(complex_A, upper=upper)
    part = (L.mH if upper else L)[:, :2]
    assert info == 3 and T.allclose(part @ part[:2].mH, complex_A[:, :2])


def test_failures_are_told(framework) -> None:
    T = framework
    one = T.tensor([[1.0, 2.0], [2.0, 4.0]])
    both = T.stack([one, T.eye(2)])
    assert T.linalg.inv_ex(both).info.tolist() == [2, 0]
    assert T.linalg.inv_ex(both).inverse[1].tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert T.linalg.solve_ex(both, T.ones(2, 2)).info.tolist() == [2, 0]
    assert T.linalg.lu_factor_ex(both).info.tolist() == [2, 0]
    indefinite = T.stack([-T.eye(2), T.tensor([[1.0, 2.0], [2.0, 1.0]]), T.eye(2)])
    assert T.linalg.cholesky_ex(indefinite).info.tolist() == [1, 2, 0]
    assert T.linalg.cholesky_ex(indefinite).L[2].tolist() == [[1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(RuntimeError, match="zero"):
        T.linalg.lu_factor(one)
    factor = T.tensor([[1.0, 3.0], [3.0, 0.0]])
    for x, words in ((factor, ": The diag"), (T.stack([T.eye(2), factor]), "Batch element 1")):
        with pytest.raises(T.linalg.LinAlgError, match=words):
            T.cholesky_inverse(x)


@pytest.mark.parametrize("call", [
    "svd_lowrank(x, 2)", "svd_lowrank(x.mT, 3, niter=0)", "svd_lowrank(x, q=None, M=m)",
    "pca_lowrank(x)", "pca_lowrank(x, 2, False, niter=1)", "svd_lowrank(z, 2)",
])  # fmt: skip
def test_projections_are_of_the_same_random_vectors(torch: ModuleType, call: str) -> None:
    """Torch's values, and vectors but for their phases, and the gradient of what is made of them;
    the generator is left where torch's is."""
    answers = []
    for lib in (torch, nnkit):
        lib.manual_seed(0)
        x = lib.randn(2, 4, 3, dtype=lib.float64, requires_grad=True)
        z = lib.complex(x, x * 2 + 1)
        U, S, V = eval(f"lib.{call}", {"lib": lib, "x": x, "z": z, "m": lib.arange(3.0).double()})
        low = (U * S.unsqueeze(-2)) @ V.mH
        next_number = lib.rand(1).item()
        (g,) = lib.autograd.grad((low.real if low.is_complex() else low).square().sum(), x)
        answers.append([*(a.detach().numpy() for a in (U.abs(), S, V.abs(), low, g)), next_number])
    for theirs, ours in zip(*answers, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (RuntimeError, "svd_lowrank(lib.ones(3, 2, dtype=lib.int32), 1)"),
        (RuntimeError, "svd_lowrank(lib.ones(3, 2, dtype=lib.bfloat16), 1)"),
        (NotImplementedError, "svd_lowrank(lib.ones(3, 2, dtype=lib.half), 1)"),
        (RuntimeError, "svd_lowrank(lib.ones(3, 2), 1, M=lib.ones(5))"),
        (RuntimeError, "svd_lowrank(lib.ones(3, 2), -1)"),
        (ValueError, "svd_lowrank(lib.ones(3))"),
        (ValueError, "pca_lowrank(lib.ones(3))"),
        (ValueError, "pca_lowrank(lib.ones(3, 2), 3)"),
        (ValueError, "pca_lowrank(lib.ones(3, 2), niter=-1)"),
        (TypeError, "svd_lowrank(lib.ones(3, 2), 1.0)"),
        (TypeError, "svd_lowrank(input=lib.ones(3, 2))"),
    ],
)
def test_what_projections_refuse(lib: ModuleType, error: type[Exception], call: str) -> None:
    with pytest.raises(error):
        eval(f"lib.{call}", {"lib": lib})


@pytest.mark.filterwarnings("ignore:torch.lu is deprecated")
def test_lu_writes_into_tensors_of_any_size(lib: ModuleType) -> None:
    x = lib.tensor([[1.0, 2.0], [2.0, 2.0]])
    out = lib.empty(0), lib.empty(3, 3, dtype=lib.int32)
    assert lib.lu(x, out=out) is out
    assert out[0].tolist() == [[2, 2], [0.5, 1]] and out[1].tolist() == [2, 2]
    with pytest.raises(TypeError):
        lib.lu(x, get_infos=True, out=out)
    assert lib.lu(lib.zeros(2, 2), get_infos=True).info.item() == 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [3, 4, 6])
def test_a_determinant_beyond_its_dtype_is_infinite_without_a_word(size: int) -> None:
    x = (nnkit.eye(size) * 1e20).requires_grad_()
    out = nnkit.linalg.det(x)
    assert out.item() == math.inf
    out.backward()
    assert x.grad is not None and x.grad[0, 0].item() == math.inf


def test_a_product_of_no_reflections_has_a_history() -> None:
    reflectors = nnkit.full((3, 2), nnkit.inf, requires_grad=True)
    q = nnkit.linalg.householder_product(reflectors, nnkit.ones(0))
    q.sum().backward()
    assert q.tolist() == [[1, 0], [0, 1], [0, 0]] and not reflectors.grad.any()
