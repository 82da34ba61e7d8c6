"""Functions that torch keeps for older programs or for its compilers: products of sparse matrices
under their old names, copies of the parts of sparse tensors, and functions that raise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import nnkit
from nnkit import Tensor

__all__ = [
    "batch_norm_update_stats", "ccol_indices_copy", "col_indices_copy", "crow_indices_copy", "dsmm",
    "eig", "hsmm", "indices_copy", "lstsq", "matrix_rank", "native_norm", "resize_as_sparse_",
    "row_indices_copy", "saddmm", "slice_inverse", "solve", "spmm", "symeig", "values_copy",
]  # fmt: skip
# Removed functions, and the functions that torch recommends instead.
_REMOVED = {
    "eig": "linalg.eig", "lstsq": "linalg.lstsq", "solve": "linalg.solve",
    "symeig": "linalg.eigh", "matrix_rank": "linalg.matrix_rank",
}  # fmt: skip


def _removed(name: str, instead: str) -> Callable[..., NoReturn]:
    def refuse(*arguments: Any, **named: Any) -> NoReturn:
        raise RuntimeError(
            "This function was deprecated since version 1.9 and is now removed: use "
            f"torch.{instead} in the place of torch.{name}"
        )

    refuse.__name__, refuse.__doc__ = name, f"Removed: use `{instead}`."
    return refuse


eig, lstsq, solve, symeig, matrix_rank = (_removed(n, i) for n, i in _REMOVED.items())
for _function in (eig, lstsq, solve, symeig):
    setattr(Tensor, _function.__name__, _function)
Tensor.reinforce = _removed("Tensor.reinforce", "distributions")  # type: ignore[attr-defined]


def spmm(input: Tensor, mat2: Tensor) -> Tensor:
    return nnkit.mm(input, mat2)


dsmm = spmm


def hsmm(input: Tensor, mat2: Tensor) -> Tensor:
    if input.layout is not nnkit.sparse_coo:
        raise NotImplementedError(f"hsmm(): input must be sparse_coo, got {input.layout}")
    return nnkit.hspmm(input, mat2)


def saddmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    if input.layout is not nnkit.sparse_coo or mat1.layout is not nnkit.sparse_coo:
        raise RuntimeError(
            f"saddmm(): input and mat1 must be sparse_coo, got {input.layout} and {mat1.layout}"
        )
    return nnkit.sspaddmm(input, mat1, mat2, beta=beta, alpha=alpha)


def resize_as_sparse_(input: Any, the_template: Tensor) -> Tensor:
    return input.resize_as_sparse_(the_template)


def _part_copied(part: str) -> Callable[[Any], Tensor]:
    """The function that copies a part of a compressed tensor; torch has none for coordinates."""

    def copy(input: Any) -> Tensor:
        if input.layout is nnkit.sparse_coo:
            raise NotImplementedError(f"{part}_copy() is not defined for layout sparse_coo")
        return getattr(input, part)().clone()

    copy.__name__ = f"{part}_copy"
    return copy


indices_copy, values_copy, crow_indices_copy, col_indices_copy = map(
    _part_copied, ("indices", "values", "crow_indices", "col_indices")
)
ccol_indices_copy, row_indices_copy = map(_part_copied, ("ccol_indices", "row_indices"))


def slice_inverse(
    input: Tensor, src: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Tensor:
    """The tensor that a slice was taken from: the memory of ``input``, seen as ``src`` is."""
    return input.as_strided(src.size(), src.stride(), src.storage_offset())


Tensor.slice_inverse = slice_inverse  # type: ignore[attr-defined]


def native_norm(
    input: Tensor, p: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Tensor:
    """The norm of a sparse tensor."""
    if input.layout is not nnkit.sparse_coo:
        raise NotImplementedError(f"native_norm(): input must be sparse_coo, got {input.layout}")
    dims = set(dim or range(input.ndim))
    if keepdim or {d % input.ndim for d in dims} != set(range(input.ndim)):
        raise RuntimeError(f"native_norm(): dim must name all dimensions, got {dim}")
    return input.norm(p, dtype=dtype)  # type: ignore[arg-type]


def batch_norm_update_stats(
    input: Tensor, running_mean: Any, running_var: Any, momentum: float
) -> tuple[Tensor, Tensor]:
    """The mean and the variance of each channel, by which the running ones are updated."""
    if not input.numel():
        raise RuntimeError(
            "input tensor must have at least one element, but got input_sizes = "
            f"{list(input.shape)}"
        )
    dims = tuple(d for d in range(input.ndim) if d != 1)
    variance, mean = nnkit.var_mean(input, dims, correction=0)
    count = input.numel() // input.shape[1]
    for running, new in ((running_mean, mean), (running_var, variance * count / (count - 1))):
        if running is not None:
            running.lerp_(new, momentum)
    return mean, variance
