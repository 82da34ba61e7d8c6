"""`lobpcg`: a few eigenvalues of a large symmetric matrix, by products with it alone."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from nnkit import linalg
from nnkit.autograd import Function, Tensor, no_grad
from nnkit.autograd.arguments.annotations import hold_all
from nnkit.autograd.op.public import COMPOSED
from nnkit.autograd.ops.random.factories import randn
from nnkit.autograd.ops.shape.joining import cat, stack
from nnkit.autograd.surface.limits import finfo
from nnkit.backend.dtype import FLOATING, float32

__all__ = ["lobpcg"]


def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Callable[[Any], None] | None = None,
    ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None,
    ortho_bparams: dict[str, bool] | None = None,
) -> tuple[Tensor, Tensor]:
    """Some of the largest or smallest ``E`` with ``A X = B X diag(E)``, and their vectors.

    In each step the best vectors are sought among those so far, their residuals and the last
    changes (Knyazev 2001, the locally optimal block preconditioned conjugate gradient method).

    Args:
        A: symmetric, (*, m, m); may be sparse where there is one.
        k: how many; by default the columns of ``X``, or 1.
        B: symmetric and positive definite, the identity by default.
        X: where to begin, (*, m, n) with n >= k; drawn at random by default.
        n: how many vectors to draw, k by default.
        iK: what residuals are multiplied by, an approximate inverse of A.
        niter: the largest number of steps, 1000 by default; -1 for any.
        tol: how small residuals must be, relative to the norms of A and X; by default the square
            root of the dtype's precision.
        largest: whether the largest are sought, the default.
        method: ``"ortho"`` or ``"basic"``, which are the same here: the vectors that are sought
            among are orthogonal.
        tracker: called before each step with an object that has ``E``, ``X``, ``R`` and
            ``ivars["istep"]``, ``ivars["converged_count"]``, ``tvars["rerr"]``; it may set
            ``bvars["force_stop"]``.
        ortho_iparams, ortho_fparams, ortho_bparams: of torch's way to make vectors orthogonal.

    Returns:
        E, (*, k), in falling order for the largest and rising for the smallest; X, (*, m, k).
        Gradients flow to a dense A where B is not given.

    Raises:
        AssertionError: A is not square.
        ValueError: m is smaller than 3 n.

    Example:
        >>> import nnkit
        >>> values, vectors = nnkit.lobpcg(nnkit.diag(nnkit.arange(9.0)), k=2)
        >>> values, tuple(vectors.shape)
        (tensor([8.0000, 7.0000]), (9, 2))
    """
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise AssertionError(f"lobpcg: A must be square, got shape {tuple(A.shape)}")
    k = (1 if X is None else X.shape[-1]) if k is None else k
    n = (k if n is None else n) if X is None else X.shape[-1]
    if A.shape[-1] < 3 * n:
        raise ValueError(
            "LOBPCG algorithm is not applicable when the number of A rows "
            f"(={A.shape[-1]}) is smaller than 3 x the number of requested eigenpairs (={n})"
        )
    settings = SimpleNamespace(
        k=k, n=n, niter=1000 if niter is None else niter, tol=tol, tracker=tracker,
        largest=largest is None or largest,
    )  # fmt: skip
    if B is None and A.requires_grad and not A.is_sparse:
        return _Eigenpairs.apply((A + A.mT) / 2, X, iK, settings)
    return _all(A, B, X, iK, settings)


class _Eigenpairs(Function):
    @staticmethod
    def forward(ctx: Any, A: Tensor, X: Any, iK: Any, settings: Any) -> tuple[Tensor, Tensor]:
        values, vectors = _all(A, None, X, iK, settings)
        ctx.save_for_backward(A, values, vectors)
        return values, vectors

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple:
        """``dx_i = (E_i - A)^+ dA x_i`` and ``dE_i = x_i . dA x_i``."""
        A, values, vectors = ctx.saved_tensors
        g_values, g_vectors = grads
        numbers, basis = linalg.eigh(A)
        gap = values.unsqueeze(-2) - numbers.unsqueeze(-1)
        own = gap.abs() <= finfo(A.dtype).eps ** 0.5 * numbers.abs().amax((-1,), True).unsqueeze(-1)
        part = (basis.mT @ g_vectors) / gap.masked_fill(own, 1)
        turned = basis @ part.masked_fill(own, 0) @ vectors.mT
        grad = (turned + turned.mT) / 2 + (vectors * g_values.unsqueeze(-2)) @ vectors.mT
        return grad, None, None, None


@no_grad()
def _all(A: Tensor, B: Any, X: Any, iK: Any, settings: Any) -> tuple[Tensor, Tensor]:
    """The eigenpairs of each matrix of a batch."""
    if A.ndim == 2:
        return _one(A, B, X, iK, settings)
    shape = A.shape[:-2]
    listed: list[Any] = [
        [None] * shape.numel() if each is None else each.reshape(-1, *each.shape[-2:])
        for each in (A, B, X, iK)
    ]
    found = [_one(a, b, x, inverse, settings) for a, b, x, inverse in zip(*listed)]
    values, vectors = (stack(part) for part in zip(*found))
    return values.reshape(*shape, -1), vectors.reshape(*shape, *vectors.shape[-2:])


def _one(A: Tensor, B: Any, X: Any, iK: Any, settings: Any) -> tuple[Tensor, Tensor]:
    dtype = A.dtype if A.dtype.category >= FLOATING else float32
    k = settings.k
    start = randn(A.shape[-1], settings.n, dtype=dtype, device=A.device) if X is None else X
    tol = finfo(dtype).eps ** 0.5 if settings.tol is None else settings.tol
    values, vectors = _best(A, _orthogonal(start, B), settings)
    norms = [linalg.norm(_times(M, start)) / linalg.norm(start) for M in (A, B)]
    state = SimpleNamespace(
        A=A, B=B, iK=iK, ivars={"istep": 0}, tvars={}, bvars={"force_stop": False}
    )
    change: list[Tensor] = []
    while True:
        rest = A @ vectors - _times(B, vectors) * values
        scale = linalg.norm(vectors, dim=0) * (norms[0] + values.abs() * norms[1])
        error = (linalg.norm(rest, dim=0) / scale)[:k]
        done = int((error < tol).sum())
        state.E, state.X, state.R = values[:k], vectors, rest
        state.tvars["rerr"], state.ivars["converged_count"] = error, done
        state.ivars["istep"] += 1
        if settings.tracker is not None:
            settings.tracker(state)
        steps = state.ivars["istep"]
        if done >= k or steps > settings.niter >= 0 or state.bvars["force_stop"]:
            return values[:k], vectors[:, :k]
        space = _orthogonal(cat([vectors, _times(iK, rest), *change], 1), B)
        values, new = _best(A, space, settings)
        change, vectors = [new - vectors @ (vectors.mT @ _times(B, new))], new


def _times(matrix: Any, vectors: Tensor) -> Tensor:
    return vectors if matrix is None else matrix @ vectors


def _best(A: Tensor, space: Tensor, settings: Any) -> tuple[Tensor, Tensor]:
    """The values and vectors of a matrix within a space with an orthogonal basis."""
    values, turns = linalg.eigh(space.mT @ (A @ space))
    if settings.largest:
        values, turns = values.flip(0), turns.flip(1)
    return values[: settings.n], space @ turns[:, : settings.n]


def _orthogonal(vectors: Tensor, B: Any) -> Tensor:
    """A basis of the space of some vectors, with ``S^T B S = 1``; those that depend on others are
    left out. Twice, since the first leaves rounding errors."""
    for _ in range(2):
        vectors = vectors / linalg.norm(vectors, dim=0).clamp(min=finfo(vectors.dtype).tiny)
        sizes, turns = linalg.eigh(vectors.mT @ _times(B, vectors))
        kept = sizes > finfo(vectors.dtype).eps * sizes[-1] * len(sizes)
        vectors = vectors @ (turns[:, kept] / sizes[kept].sqrt())
    return vectors


COMPOSED["lobpcg"] = lobpcg  # a sparse matrix is multiplied with, too
hold_all(globals(), in_python=True)
