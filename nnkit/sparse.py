"""Sparse tensors, which store only some of their elements (``torch.sparse``).

`sparse_coo_tensor` makes one from indices and values, `Tensor.to_sparse` from a strided tensor.
The ordinary functions and methods take them, as far as torch's do; the functions here are for
sparse tensors alone. What is not defined for a layout raises NotImplementedError: no tensor is
made strided in secret.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from nnkit.autograd.grad_mode import Context
from nnkit.autograd.op.public import PUBLIC
from nnkit.autograd.sparse import compressed, conversions, copying, reduction
from nnkit.autograd.sparse.compressed import CompressedTensor, to_coordinates
from nnkit.autograd.sparse.coordinates import CoordinateTensor, is_ascending, least_sizes
from nnkit.autograd.sparse.linalg import hspmm as hspmm
from nnkit.autograd.sparse.linalg import smm as smm
from nnkit.autograd.sparse.linalg import sspaddmm as sspaddmm
from nnkit.autograd.sparse.table import FUNCTIONS
from nnkit.autograd.sparse.tensor import SparseTensor, into
from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import int32, int64
from nnkit.backend.memory import (
    layout,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
)

__all__ = [
    "addmm", "as_sparse_gradcheck", "check_sparse_tensor_invariants", "log_softmax", "mm",
    "sampled_addmm", "softmax", "spdiags", "spsolve", "sum",
]  # fmt: skip


class check_sparse_tensor_invariants(Context):
    """Switches the check of the indices that a sparse tensor is made of; it is off by default.

    Used as a context manager, as a decorator, or by its functions.

    Example:
        >>> import nnkit
        >>> with nnkit.sparse.check_sparse_tensor_invariants():
        ...     nnkit.sparse_coo_tensor([[5]], [1.0], (2,))
        Traceback (most recent call last):
        ...
        RuntimeError: size is inconsistent with indices: for dim 0, size is 2 but found index 5
    """

    _on = False

    def __init__(self, enable: bool = True) -> None:
        self._wanted = enable
        self._before: bool | None = None

    def _clone(self) -> check_sparse_tensor_invariants:
        return type(self)(self._wanted)

    @staticmethod
    def is_enabled() -> bool:
        """Whether indices are checked."""
        return check_sparse_tensor_invariants._on

    @staticmethod
    def enable() -> None:
        """Check indices from now on."""
        check_sparse_tensor_invariants._on = True

    @staticmethod
    def disable() -> None:
        """Check no indices from now on."""
        check_sparse_tensor_invariants._on = False

    def __enter__(self) -> check_sparse_tensor_invariants:
        if self._before is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different context "
                "manager instance for context nesting"
            )
        self._before = self.is_enabled()
        check_sparse_tensor_invariants._on = self._wanted
        return self

    def __exit__(self, *exception: Any) -> None:
        check_sparse_tensor_invariants._on = bool(self._before)
        self._before = None


def _is_checked(given: bool | None) -> bool:
    return check_sparse_tensor_invariants._on if given is None else given


def _tensors(values: Any, dtype: Any, device: Any, *indices: Any) -> tuple[Tensor, ...]:
    """The values and the indices of a sparse tensor as Tensors, copied only where need be."""
    as_tensor = PUBLIC["as_tensor"]
    values = as_tensor(values, dtype=dtype, device=device)
    found = []
    for each in indices:
        each = as_tensor(each, device=values.device)
        if each._array.size and (each.is_floating_point() or each.is_complex()):
            each = each.detach()
        kept = each.dtype in (int32, int64) if len(indices) > 1 else each.dtype is int64
        found.append(each.detach() if kept else each.long())
    return (values, *found)


def _finished(out: Any, requires_grad: bool) -> Any:
    """A new sparse tensor as a leaf, if it is asked for or if its values are one."""
    if not requires_grad:
        return out.detach() if out.is_leaf and out.requires_grad else out
    return out.detach().requires_grad_()


def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Sequence[int] | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """A tensor by coordinates: ``values[i]`` at ``indices[:, i]``, and 0 elsewhere.

    Values of the same index are added up. Gradients flow to ``values``.

    Args:
        indices: (sparse_dim, n), of integers.
        values: (n, *dense_dims).
        size: the shape; by default as large as the indices need. ``sparse_coo_tensor(size=...)``,
            or the size alone, gives a tensor of which nothing is stored.
        dtype, device: those of the result, by default those of ``values``.
        requires_grad: whether it is a leaf that wants a gradient.
        check_invariants: whether to check that the indices lie in ``size``.
        is_coalesced: whether the indices are known to be in order, none of them twice.

    Raises:
        RuntimeError: the parts do not fit together.

    Example:
        >>> import nnkit
        >>> x = nnkit.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
        >>> x.to_dense()
        tensor([[0., 0., 3.],
                [4., 0., 0.]])
    """
    if values is None:
        shape = size if indices is None else indices
        if shape is None:
            raise TypeError("sparse_coo_tensor(): expected indices and values, or a size")
        shape = tuple(shape)
        _check_size(shape)
        dtype = dtype or PUBLIC["tensor"](0.0).dtype
        return copying.empty(shape, len(shape), dtype, device).requires_grad_(requires_grad)
    values, rows = _tensors(values, dtype, device, indices)
    values = values.reshape(1) if not values.ndim else values
    if rows.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(rows.shape)}")
    if values.shape[0] != rows.shape[1]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {rows.shape[1]}, "
            f"nnz from values: {values.shape[0]}"
        )
    if size is None:
        if bool((rows < 0).any()):
            raise RuntimeError("found negative index in the indices of a tensor without size")
        size = [*least_sizes(rows), *values.shape[1:]]
    sparse, dense = rows.shape[0], values.ndim - 1
    if len(size) != sparse + dense:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, "
            f"sparse_dim = {sparse}, dense_dim = {dense}"
        )
    if list(size[sparse:]) != list(values.shape[1:]):
        raise RuntimeError(
            f"values has incorrect size, expected {[rows.shape[1], *size[sparse:]]}, got "
            f"{list(values.shape)}"
        )
    _check_size(size)
    if _is_checked(check_invariants):
        _check_coordinates(rows, size)
        if is_coalesced and not is_ascending(CoordinateTensor.of(rows, values, size, False)):
            raise RuntimeError(
                "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor"
            )
    return _finished(CoordinateTensor.of(rows, values, size, is_coalesced), requires_grad)


def _check_size(size: Sequence[int]) -> None:
    """RuntimeError for sizes that are negative, or of more elements than an integer can count."""
    if min(size, default=0) < 0 or prod(size) >= 1 << 63:
        raise RuntimeError(
            f"sparse_coo_tensor(): numel: integer multiplication overflow of size {list(size)}"
        )


def _check_coordinates(rows: Tensor, size: Sequence[int]) -> None:
    for dim in range(rows.shape[0]):
        if not rows.shape[1]:
            continue
        low, high = int(rows[dim].amin()), int(rows[dim].amax())
        if low < 0:
            raise RuntimeError(f"found negative index {low} for dim {dim}")
        if high >= size[dim]:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {dim}, size is {size[dim]} but found "
                f"index {high}"
            )


def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse matrix by rows or columns, of numbers or of blocks.

    Args:
        compressed_indices: where the elements of each row (or column) begin, and last their
            number. The dimensions of a batch of matrices come first, in all three arguments.
        plain_indices: the column (or row) of each element.
        values: the elements, or blocks of two more dimensions.
        size: the shape; by default as large as the indices need.
        layout: ``nnkit.sparse_csr``, ``sparse_csc``, ``sparse_bsr`` or ``sparse_bsc``.
        check_invariants: whether to check the indices.

    Raises:
        RuntimeError: the parts do not fit together.

    Example:
        >>> import nnkit
        >>> nnkit.sparse_compressed_tensor([0, 1, 2], [1, 0], [1.0, 2.0], layout=nnkit.sparse_csr)
        tensor(crow_indices=tensor([0, 1, 2]),
               col_indices=tensor([1, 0]),
               values=tensor([1., 2.]), size=(2, 2), nnz=2, layout=nnkit.sparse_csr)
    """
    if layout not in compressed.CLASSES:
        raise RuntimeError(f"sparse_compressed_tensor expected sparse layout, but got {layout}")
    kind = compressed.CLASSES[layout]
    values, starts, others = _tensors(values, dtype, device, compressed_indices, plain_indices)
    first, second = kind.names_of_indices()
    if starts.ndim != others.ndim:
        raise RuntimeError(
            f"{first} and {second} dimensionalities must be equal but got {starts.ndim} and "
            f"{others.ndim}, respectively"
        )
    batch = starts.ndim - 1
    dims = batch + (3 if kind.blocked else 1)
    shapes = starts.shape, others.shape, values.shape
    batches = {tuple(shape[:batch]) for shape in shapes}
    fits = values.ndim >= dims and values.shape[batch : batch + 1] == others.shape[-1:]
    if batch < 0 or not fits or len(batches) > 1 or not starts.shape[-1]:
        raise RuntimeError(
            f"{first} and {second} do not fit together with the values: "
            f"{', '.join(str(list(shape)) for shape in shapes)}"
        )
    lines, block = starts.shape[-1] - 1, tuple(values.shape[batch + 1 : dims]) or (1, 1)
    if size is None:
        inner = int(others.amax()) + 1 if others.numel() else 0
        counts = (lines, inner) if kind.by_rows else (inner, lines)
        matrix = counts[0] * block[0], counts[1] * block[1]
        size = (*starts.shape[:-1], *matrix, *values.shape[dims:])
    along, other = (batch, batch + 1) if kind.by_rows else (batch + 1, batch)
    if len(size) != batch + 2 + values.ndim - dims or lines != size[along] // block[along - batch]:
        what = "rows" if kind.by_rows else "columns"
        raise RuntimeError(
            f"{first}.shape[-1] must be equal to the number of {what} + 1 of size {list(size)}, "
            f"but got {lines + 1}"
        )
    if _is_checked(check_invariants):
        _check_compressed(kind, starts, others, size[other] // block[other - batch])
    return _finished(compressed.matrix_of(layout, starts, others, values, size), requires_grad)


def _check_compressed(kind: Any, starts: Tensor, others: Tensor, count: int) -> None:
    """RuntimeError for indices that break a rule of their layout."""
    steps, (first, second) = starts[..., 1:] - starts[..., :-1], kind.names_of_indices()
    other, along = ("ncols", "nrows") if kind.by_rows else ("nrows", "ncols")
    nnz = others.shape[-1]
    of_each = f"{second}[..., {first}[..., i - 1]:{first}[..., i]] for all i = 1, ..., {along}"
    line = PUBLIC["arange"](steps.numel(), device=steps.device)
    for rule, holds in (
        (f"{first}[..., 0] == 0", lambda: starts[..., 0] == 0),
        (f"{first}[..., -1] == nnz", lambda: starts[..., -1] == nnz),
        (
            f"0 <= {first}[..., 1:] - {first}[..., :-1] <= {other}",
            lambda: (steps >= 0) & (steps <= count),
        ),
        (f"0 <= {second} < {other}", lambda: (others >= 0) & (others < count)),
        (
            f"{of_each} are sorted and distinct along the last dimension values",
            lambda: (
                (line.repeat_interleave(steps.reshape(-1)) * count + others.reshape(-1)).diff() > 0
            ),
        ),
    ):
        if not bool(holds().all()):
            raise RuntimeError(f"`{rule}` is not satisfied.")


def _constructor(stored: layout, what: str) -> Callable:
    """`sparse_compressed_tensor` for one layout, with that layout's names for the indices."""
    first, second = compressed.CLASSES[stored].names_of_indices()
    general = inspect.signature(sparse_compressed_tensor)
    starts, others, *rest = (p for name, p in general.parameters.items() if name != "layout")
    signature = general.replace(
        parameters=[starts.replace(name=first), others.replace(name=second), *rest]
    )

    def construct(*args: Any, **kwargs: Any) -> Tensor:
        given = signature.bind(*args, **kwargs)
        return sparse_compressed_tensor(*given.args, **given.kwargs, layout=stored)

    construct.__name__ = construct.__qualname__ = f"{stored.name}_tensor"
    construct.__signature__ = signature  # type: ignore[attr-defined]
    construct.__doc__ = (
        f"A matrix by {what} from ``{first}``, ``{second}`` and values; see "
        "`sparse_compressed_tensor`."
    )
    return construct


sparse_csr_tensor = _constructor(sparse_csr, "rows")
sparse_csc_tensor = _constructor(sparse_csc, "columns")
sparse_bsr_tensor = _constructor(sparse_bsr, "rows of blocks")
sparse_bsc_tensor = _constructor(sparse_bsc, "columns of blocks")


def _product(name: str, *arguments: Any, **options: Any) -> Any:
    """The result of a function of matrices of any layout."""
    for x in arguments:
        if isinstance(x, CompressedTensor):
            return type(x).functions[name](*arguments, **options)
        if isinstance(x, CoordinateTensor):
            return FUNCTIONS[name](*arguments, **options)
    return PUBLIC[name](*arguments, **options)


def mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Tensor:
    """The product of two matrices, of which the first or both are sparse.

    Of two sparse ones it is sparse. The gradient of a sparse factor is sparse, at its indices.

    Args:
        mat1: (m, k).
        mat2: (k, n).
        reduce: what to do with the products of an element instead of their sum: "mean", "amax" or
            "amin" ("max" or "min"), over those that are stored.

    Raises:
        RuntimeError: the shapes do not fit.

    Example:
        >>> import nnkit
        >>> x = nnkit.eye(2).to_sparse().requires_grad_()
        >>> nnkit.sparse.mm(x, nnkit.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
        >>> x.grad.to_dense()
        tensor([[3., 0.],
                [0., 7.]])
    """
    options = {} if reduce is None else {"reduce": reduce}
    return _product("mm", mat1, mat2, **options)


def addmm(
    mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0
) -> Tensor:
    """``beta * mat + alpha * (mat1 @ mat2)`` for a sparse ``mat1``."""
    return _product("addmm", mat, mat1, mat2, beta=beta, alpha=alpha)


def sampled_addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0,
    out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """``alpha * (mat1 @ mat2) + beta * input`` at the indices of ``input`` alone.

    Only these products are computed.

    Args:
        input: (*, m, n) or (m, n), of layout ``sparse_csr``.
        mat1: (*, m, k), strided.
        mat2: (*, k, n), strided.

    Raises:
        NotImplementedError: ``input`` is of another layout.
        RuntimeError: the shapes do not fit.

    Example:
        >>> import nnkit
        >>> at = nnkit.eye(2).to_sparse_csr()
        >>> nnkit.sparse.sampled_addmm(at, nnkit.ones(2, 3), nnkit.ones(3, 2)).values()
        tensor([4., 4.])
    """
    x: Any = input
    if x.layout is not sparse_csr:
        raise NotImplementedError(f"sampled_addmm(): expected a CSR matrix, got layout {x.layout}")
    batch, rest = tuple(mat1.shape[:-2]), mat2.shape[:-2]
    if min(mat1.ndim, mat2.ndim) < 2 or batch != rest or mat1.shape[-1] != mat2.shape[-2]:
        raise RuntimeError(
            f"sampled_addmm: mat1 and mat2 shapes cannot be multiplied ({list(mat1.shape)} and "
            f"{list(mat2.shape)})"
        )
    shape = (*batch, mat1.shape[-2], mat2.shape[-1])
    if x.ndim == 2 < len(shape) and tuple(x.shape) == shape[-2:]:  # one for the whole batch
        parts = (x.crow_indices(), x.col_indices(), x.stored())
        x = sparse_csr_tensor(*(part.expand(*batch, *part.shape) for part in parts), shape)
    if shape != tuple(x.shape):
        raise RuntimeError(f"sampled_addmm: input must be of shape {list(shape)}: {list(x.shape)}")
    *places, row, column = to_coordinates(x)._coordinates
    products = (mat1[(*places, row)] * mat2.mT[(*places, column)]).sum(-1)
    result = x.like(products.reshape(x.stored().shape) * alpha + x.stored() * beta)
    return result if out is None else into(out, result, "sampled_addmm")


def sum(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """The sum along dimensions of a tensor of layout ``sparse_coo``.

    It is sparse while a dimension with indices is left.

    Args:
        dim: a dimension or several, all by default.
        dtype: the type to add in.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([[0.0, 2.0], [3.0, 4.0]]).to_sparse()
        >>> nnkit.sparse.sum(x, 1).to_dense()
        tensor([2., 7.])
    """
    return reduction.total(_coordinates("sum", input), dim, dtype)


def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The softmax along a dimension, where what is not stored counts as minus infinity.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([[0.0, 2.0], [3.0, 3.0]]).to_sparse()
        >>> nnkit.sparse.softmax(x, 1).to_dense()
        tensor([[0.0000, 1.0000],
                [0.5000, 0.5000]])
    """
    return reduction.softmax(_coordinates("softmax", input), dim, dtype)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax` at the indices of a tensor of layout ``sparse_coo``."""
    return reduction.softmax(_coordinates("log_softmax", input), dim, dtype, log=True)


def _coordinates(name: str, input: Any) -> CoordinateTensor:
    if isinstance(input, CoordinateTensor):
        return input
    raise NotImplementedError(
        f"sparse.{name}(): expected a tensor of layout {sparse_coo}, got {input.layout}"
    )


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Sequence[int], layout: Any = None) -> Tensor:
    """The sparse matrix with given diagonals.

    Args:
        diagonals: (d, n): element j of a diagonal stands in column j of the matrix.
        offsets: for each diagonal how far above (or, negative, below) the main one it lies.
        shape: the sizes of the matrix.
        layout: ``sparse_coo`` by default, ``sparse_csr`` or ``sparse_csc``.

    Raises:
        RuntimeError: the shapes do not fit, or an offset stands twice.

    Example:
        >>> import nnkit
        >>> nnkit.sparse.spdiags(nnkit.ones(1, 2), nnkit.tensor([1]), (2, 2)).to_dense()
        tensor([[0., 1.],
                [0., 0.]])
    """
    if offsets.dtype is not int64:
        raise RuntimeError(
            f"Offset Tensor must have dtype Long but got {offsets.dtype.scalar_type}"
        )
    if diagonals.ndim not in (1, 2):
        raise RuntimeError(f"Diagonals must be vector or matrix, got shape {list(diagonals.shape)}")
    if offsets.ndim > 1:
        raise RuntimeError(f"Offsets must be scalar or vector, got shape {list(offsets.shape)}")
    diagonals = diagonals[None] if diagonals.ndim == 1 else diagonals
    offsets = offsets.reshape(-1)
    if offsets.shape[0] != diagonals.shape[0]:
        raise RuntimeError(
            f"Number of diagonals ({diagonals.shape[0]}) does not match the number of offsets "
            f"({offsets.shape[0]})"
        )
    if len(shape) != 2:
        raise RuntimeError(f"Output shape must be 2d, got {list(shape)}")
    if offsets.unique().shape[0] != offsets.shape[0]:
        raise RuntimeError("Offset tensor contains duplicate values")
    if layout not in (None, sparse_coo, sparse_csr, sparse_csc):
        raise RuntimeError(
            f"Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got {layout.kind}"
        )
    columns = PUBLIC["arange"](diagonals.shape[1], device=diagonals.device).expand(diagonals.shape)
    rows = columns - offsets[:, None]
    kept = (rows >= 0) & (rows < shape[0]) & (columns < shape[1])
    indices = PUBLIC["stack"]([rows[kept], columns[kept]])
    out = CoordinateTensor.of(indices, diagonals[kept], shape)
    return out if layout in (None, sparse_coo) else conversions.to_sparse(out, None, layout, None)


def spsolve(input: Tensor, other: Tensor, *, left: bool = True) -> Tensor:
    """Not available, as in torch without its sparse solver for GPUs.

    Raises:
        NotImplementedError: always; `nnkit.linalg.solve` solves systems of strided matrices.
    """
    raise NotImplementedError("sparse.spsolve() is not there: use linalg.solve(input.to_dense())")


def as_sparse_gradcheck(gradcheck: Callable) -> Callable:
    """A gradcheck that takes sparse inputs, and varies the values that they store.

    Example:
        >>> import nnkit
        >>> check = nnkit.sparse.as_sparse_gradcheck(nnkit.autograd.gradcheck)
        >>> x = nnkit.eye(2, dtype=nnkit.float64).to_sparse().requires_grad_()
        >>> check(lambda x: nnkit.sparse.mm(x, x.to_dense()).sum(), [x])
        True
    """

    def check(function: Callable, inputs: Any, masked: bool = False, **options: Any) -> bool:
        given = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
        forms: list = [x if isinstance(x, SparseTensor) else None for x in given]

        def of_values(*values: Any) -> Any:
            made = [v if form is None else form.detach().like(v)
                    for form, v in zip(forms, values, strict=True)]  # fmt: skip
            out = function(*made)
            outs = out if isinstance(out, (tuple, list)) else (out,)
            found = tuple(o.stored() if isinstance(o, SparseTensor) else o for o in outs)
            return found if isinstance(out, (tuple, list)) else found[0]

        values = [
            x if form is None else form.stored().detach().requires_grad_(x.requires_grad)
            for form, x in zip(forms, given, strict=True)
        ]
        return gradcheck(of_values, values, **options)

    return check
