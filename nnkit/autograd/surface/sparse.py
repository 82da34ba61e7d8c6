"""What strided tensors know of sparse layouts: how to be turned into one, and that they are none.

The layouts themselves (`nnkit.autograd.sparse`) are read when a sparse tensor is first made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nnkit.autograd.op.public import public
from nnkit.autograd.tensor import Tensor
from nnkit.backend.memory import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr


@public(namespace=False)
def to_sparse(
    input: Tensor,
    sparse_dim: Any = None,
    *,
    layout: Any = None,
    blocksize: Any = None,
    dense_dim: int | None = None,
) -> Tensor:
    """The same tensor in a sparse layout.

    Args:
        sparse_dim: how many dimensions have indices, all by default.
        layout: ``nnkit.sparse_coo`` by default.
        blocksize: that of ``sparse_bsr`` and ``sparse_bsc``.
        dense_dim: how many dimensions behind a matrix each of its elements has: all others.

    Raises:
        RuntimeError: ``sparse_dim`` is not from 1 (of a number 0) to the number of dimensions, or
            an argument has no meaning for the layout.
        IndexError: another layout than ``sparse_coo`` for what is no matrix.

    Example:
        >>> import nnkit
        >>> nnkit.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse()
        tensor(indices=tensor([[0],
                               [1]]),
               values=tensor([2.]),
               size=(2, 2), nnz=1, layout=nnkit.sparse_coo)
    """
    from nnkit.autograd.sparse.conversions import to_sparse as convert

    return convert(input, sparse_dim, layout, blocksize, dense_dim)


@public(namespace=False)
def to_sparse_coo(input: Tensor) -> Tensor:
    """The same tensor by coordinates, ``nnkit.sparse_coo``."""
    return to_sparse(input, layout=sparse_coo)


@public(namespace=False)
def to_sparse_csr(input: Tensor, dense_dim: int | None = None) -> Tensor:
    """The same matrix by rows, ``nnkit.sparse_csr``."""
    return to_sparse(input, layout=sparse_csr, dense_dim=dense_dim)


@public(namespace=False)
def to_sparse_csc(input: Tensor, dense_dim: int | None = None) -> Tensor:
    """The same matrix by columns, ``nnkit.sparse_csc``."""
    return to_sparse(input, layout=sparse_csc, dense_dim=dense_dim)


@public(namespace=False)
def to_sparse_bsr(input: Tensor, blocksize: Any, dense_dim: int | None = None) -> Tensor:
    """The same matrix by rows of blocks, ``nnkit.sparse_bsr``."""
    return to_sparse(input, layout=sparse_bsr, blocksize=blocksize, dense_dim=dense_dim)


@public(namespace=False)
def to_sparse_bsc(input: Tensor, blocksize: Any, dense_dim: int | None = None) -> Tensor:
    """The same matrix by columns of blocks, ``nnkit.sparse_bsc``."""
    return to_sparse(input, layout=sparse_bsc, blocksize=blocksize, dense_dim=dense_dim)


@public(namespace=False)
def sparse_mask(input: Tensor, mask: Tensor) -> Tensor:
    """The elements of ``input`` at the indices of a sparse tensor.

    Raises:
        RuntimeError: the mask is strided, or has another shape.

    Example:
        >>> import nnkit
        >>> mask = nnkit.eye(2).to_sparse()
        >>> nnkit.tensor([[1.0, 2.0], [3.0, 4.0]]).sparse_mask(mask).values()
        tensor([1., 4.])
    """
    from nnkit.autograd.sparse.conversions import masked

    return masked(input, mask)


def _refusal(name: str, wanted: str, doc: str) -> None:
    def refuse(input: Tensor) -> Any:
        raise RuntimeError(f"{name} expected {wanted} tensor layout but got Strided")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"{doc}\n\n    Raises:\n        RuntimeError: it is strided.\n    "
    public(refuse, namespace=False)


for _name, _wanted, _doc in (
    ("coalesce", "sparse coordinate", "A sparse tensor with every index once, in order."),
    ("is_coalesced", "sparse coordinate", "Whether every index stands once, in order."),
    ("indices", "sparse coordinate", "The indices of a sparse tensor, (sparse_dim, n)."),
    ("values", "sparse", "The stored elements of a sparse tensor, (n, *dense_dims)."),
    ("crow_indices", "sparse row compressed", "Where the elements of each row begin."),
    ("col_indices", "sparse row compressed", "The column of each stored element."),
    ("ccol_indices", "sparse column compressed", "Where the elements of each column begin."),
    ("row_indices", "sparse column compressed", "The row of each stored element."),
):
    _refusal(_name, _wanted, _doc)


def _unavailable(refuse: Callable, name: str) -> None:
    """Register a method that sparse tensors alone have, with the parameters of ``refuse``."""
    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Sparse tensors alone have it."
    public(refuse, namespace=False)


def _no_parts(name: str) -> Callable:
    def refuse(input: Tensor) -> Any:
        raise NotImplementedError(f"{name}() is not defined for strided tensors")

    return refuse


def _no_sizes(name: str) -> Callable:
    def refuse(input: Tensor, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Any:
        raise NotImplementedError(f"{name}() is not defined for strided tensors")

    return refuse


for _name in ("_indices", "_values", "_nnz"):
    _unavailable(_no_parts(_name), _name)
for _name in ("sparse_resize_", "sparse_resize_and_clear_"):
    _unavailable(_no_sizes(_name), _name)


@public(namespace=False)
def resize_as_sparse_(input: Tensor, the_template: Tensor) -> Tensor:
    """Give a sparse tensor the sizes of another; what it holds stays.

    Raises:
        RuntimeError: it alone is strided, or its elements have no place in the new sizes.
        NotImplementedError: both are strided.

    Example:
        >>> import nnkit
        >>> x = nnkit.sparse_coo_tensor(size=(1, 1))
        >>> x.resize_as_sparse_(nnkit.eye(3).to_sparse()).shape
        nnkit.Size([3, 3])
    """
    raise NotImplementedError("resize_as_sparse_() is not defined for strided tensors")


@public(namespace=False)
def smm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of a sparse and a strided matrix, as a sparse one of whole rows.

    Raises:
        RuntimeError: ``input`` is strided.

    Example:
        >>> import nnkit
        >>> nnkit.eye(2).to_sparse().smm(nnkit.ones(2, 1)).to_dense()
        tensor([[1.],
                [1.]])
    """
    raise RuntimeError("smm() needs a sparse tensor, got a strided one")


@public(namespace=False)
def sspaddmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)`` for sparse ``input`` and ``mat1``; sparse.

    Raises:
        RuntimeError: ``input`` is strided.

    Example:
        >>> import nnkit
        >>> x = nnkit.eye(2).to_sparse()
        >>> x.sspaddmm(x, nnkit.ones(2, 2)).to_dense()
        tensor([[2., 1.],
                [1., 2.]])
    """
    raise RuntimeError("sspaddmm() needs sparse tensors, got a strided one")
