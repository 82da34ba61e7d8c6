"""Products with sparse matrices."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.arguments.factory import number
from nnkit.autograd.op.public import PUBLIC
from nnkit.autograd.ops.embedding import bag_sum
from nnkit.autograd.sparse.coordinates import CoordinateTensor, coalesce, pairs_of_equal
from nnkit.autograd.sparse.elementwise import add
from nnkit.autograd.sparse.shape import transpose
from nnkit.autograd.sparse.table import defines
from nnkit.autograd.sparse.tensor import SparseTensor
from nnkit.autograd.tensor import Tensor


def _check_dtypes(x: Tensor, y: Tensor) -> None:
    """RuntimeError for factors of different dtypes."""
    if x.dtype is not y.dtype:
        first, second = x.dtype.scalar_type, y.dtype.scalar_type
        raise RuntimeError(
            f"mat1 dtype {first} does not match mat2 dtype {second}"
            if isinstance(x, SparseTensor) and isinstance(y, SparseTensor)
            else f"expected scalar type {first} but found {second}"
        )


@defines("mm")
def mm(input: Any, mat2: Any, reduce: str | None = None) -> Any:
    if input.ndim != 2 or mat2.ndim != 2:
        raise RuntimeError(f"mm: Expected matrices, got {input.ndim}-D and {mat2.ndim}-D tensors")
    if input.shape[1] != mat2.shape[0]:
        (n, k), (m, p) = input.shape, mat2.shape
        raise RuntimeError(f"mm: mat1 and mat2 shapes cannot be multiplied ({n}x{k} and {m}x{p})")
    _check_dtypes(input, mat2)
    for x in (input, mat2):
        if isinstance(x, CoordinateTensor) and x.sparse_dims != 2:
            raise RuntimeError(f"mm: scalar values expected, got {2 - x.sparse_dims}D values")
    if not isinstance(input, CoordinateTensor):
        return mm(transpose(mat2, 0, 1), input.t()).t()
    if isinstance(mat2, CoordinateTensor):
        return _sparse_product(input, coalesce(mat2))
    row, column = input._coordinates
    values = input.stored()
    if reduce in (None, "sum"):
        return bag_sum(mat2, column, row, values, input.shape[0])
    terms = values[:, None] * mat2.index_select(0, column)
    reduce = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    if reduce not in ("mean", "amax", "amin"):
        raise RuntimeError(
            f"sparse.mm: reduce must be 'sum', 'mean', 'amax' or 'amin', got {reduce!r}"
        )
    out = terms.new_zeros((input.shape[0], mat2.shape[1]))
    return out.scatter_reduce(0, row[:, None].expand_as(terms), terms, reduce, include_self=False)


def _sparse_product(x: CoordinateTensor, y: CoordinateTensor) -> CoordinateTensor:
    """The products of each element of ``x`` with the row of ``y`` that its column selects."""
    row, column = x._coordinates
    left, right = pairs_of_equal(column, y._coordinates[0].contiguous())
    indices = PUBLIC["stack"]([row[left], y._coordinates[1][right]])
    values = x.stored()[left] * y.stored()[right]
    shape = (x.shape[0], y.shape[1])
    return coalesce(CoordinateTensor.of(indices, values, shape, False))


@defines("mv")
def mv(input: Any, vec: Any) -> Tensor:
    if input.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(
            f"mv: two tensor dim should be 2 and 1, but got {input.ndim} and {vec.ndim}"
        )
    if input.shape[1] != vec.shape[0]:
        raise RuntimeError(
            f"mv: expected self.size(-1) == vec.size(-1), got {input.shape[1]} and {vec.shape[0]}"
        )
    return mm(input, vec[:, None])[:, 0]


@defines("addmm")
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    beta, alpha = number("addmm", "beta", beta), number("addmm", "alpha", alpha)
    _check_dtypes(input, mat1)
    product = mm(mat1, mat2)
    product = product if alpha == 1 else product * alpha
    if isinstance(input, CoordinateTensor) or isinstance(product, CoordinateTensor):
        return add(input if beta == 1 else input * beta, product)
    return product + (input if beta == 1 else input * beta)


@defines("addmv")
def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * (mat @ vec)``; torch has it for compressed matrices alone."""
    beta, alpha = number("addmv", "beta", beta), number("addmv", "alpha", alpha)
    product = mv(mat, vec) * alpha
    return product if beta == 0 else product + input * beta


@defines("bmm")
def bmm(input: Any, mat2: Any) -> Tensor:
    if not isinstance(input, CoordinateTensor) or isinstance(mat2, SparseTensor):
        raise NotImplementedError("bmm() takes a sparse first and a strided second tensor")
    if input.sparse_dims != 3:
        raise RuntimeError(
            f"bmm_sparse: Tensor 'self' must have 0 dense dims, but has {3 - input.sparse_dims}"
        )
    if mat2.ndim != 3 or input.shape[0] != mat2.shape[0] or input.shape[2] != mat2.shape[1]:
        raise RuntimeError(
            f"bmm_sparse: sizes do not match: {list(input.shape)} and {list(mat2.shape)}"
        )
    _check_dtypes(input, mat2)
    batch, row, column = input._coordinates
    shape = (*input.shape[:2], mat2.shape[2])
    read, written = batch * mat2.shape[1] + column, batch * shape[1] + row
    out = bag_sum(mat2.flatten(0, 1), read, written, input.stored(), shape[0] * shape[1])
    return out.reshape(shape)


@defines("matmul", "__matmul__", "__rmatmul__")
def matmul(input: Any, other: Any) -> Any:
    dims = (input.ndim, other.ndim)
    if dims == (2, 2):
        return mm(input, other)
    if dims == (2, 1):
        return mv(input, other)
    if dims == (1, 2) and isinstance(other, CoordinateTensor):
        return mv(transpose(other, 0, 1), input)
    if dims == (3, 3):
        return bmm(input, other)
    raise RuntimeError(f"expand is unsupported for Sparse tensors: matmul() of {dims} dimensions")


@defines("linear")
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    out = matmul(
        input, transpose(weight, 0, 1) if isinstance(weight, CoordinateTensor) else weight.t()
    )
    return out if bias is None else out + bias


def _check_first(name: str, matrix: Any) -> None:
    """RuntimeError unless the first factor is stored by coordinates."""
    if not isinstance(matrix, CoordinateTensor):
        raise RuntimeError(
            f"{name}: expected 'mat1' to have layout nnkit.sparse_coo, got {matrix.layout}"
        )


@defines("smm")
def smm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of a sparse and a strided matrix, sparse: its rows where ``input`` has any."""
    _check_first("sspaddmm", input)
    return _of_rows(input, mm(input, mat2))


def _of_rows(input: Any, product: Tensor) -> CoordinateTensor:
    """Every element of those rows of a product in which its first factor stores any."""
    rows = input._coordinates[0].unique()
    columns = PUBLIC["arange"](product.shape[1], device=rows.device)
    indices = PUBLIC["stack"](
        [rows.repeat_interleave(product.shape[1]), columns.repeat(rows.shape[0])]
    )
    return CoordinateTensor.of(indices, product[rows].reshape(-1), product.shape)


@defines("hspmm")
def hspmm(mat1: Any, mat2: Tensor) -> Tensor:
    """The product of a sparse and a strided matrix, sparse in its first dimension alone."""
    _check_first("hspmm", mat1)
    rows = mat1._coordinates[0].unique()
    product = mm(mat1, mat2)
    return CoordinateTensor.of(rows[None], product[rows], product.shape)


@defines("sspaddmm")
def sspaddmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)`` for sparse ``input`` and ``mat1``; sparse."""
    return add(input * beta, smm(mat1, mat2) * alpha)
