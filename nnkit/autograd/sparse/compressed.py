"""`CompressedTensor`: sparse matrices by rows or columns, of numbers or of blocks.

``nnkit.sparse_csr`` holds for each row where its elements begin (``crow_indices``, one more than
there are rows), and for each element its column and value. ``sparse_csc`` is the same by columns;
``sparse_bsr`` and ``sparse_bsc`` hold blocks in place of numbers. The matrices of a batch store
equally many elements; the dimensions of the batch come first in indices and values.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, ClassVar

from nnkit.autograd.arguments.dims import normalize_dim
from nnkit.autograd.arguments.factory import number
from nnkit.autograd.op.public import PUBLIC
from nnkit.autograd.sparse import copying, elementwise
from nnkit.autograd.sparse import indexing as indexing  # all of these fill the table
from nnkit.autograd.sparse import linalg as linalg
from nnkit.autograd.sparse import reduction as reduction
from nnkit.autograd.sparse.coordinates import CoordinateTensor, coalesce, from_dense, unflattened
from nnkit.autograd.sparse.table import FUNCTIONS
from nnkit.autograd.sparse.tensor import SparseTensor
from nnkit.autograd.surface.size import Size
from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import int64
from nnkit.backend.memory import (
    layout,
    sparse_bsc,
    sparse_bsr,
    sparse_csc,
    sparse_csr,
    strided,
)


class CompressedTensor(SparseTensor):
    """A sparse matrix whose rows or columns are stored one after another."""

    _names = ("_starts", "_others")
    _starts: Tensor  # where each row or column begins
    _others: Tensor  # the index of each element along the other dimension
    by_rows: ClassVar[bool]
    blocked: ClassVar[bool]

    is_sparse_csr = property(
        lambda self: self._layout is sparse_csr, doc="Whether it is stored by rows."
    )

    @classmethod
    def names_of_indices(cls) -> tuple[str, str]:
        """torch's names for the two tensors of indices."""
        return ("crow_indices", "col_indices") if cls.by_rows else ("ccol_indices", "row_indices")

    @property
    def nbytes(self) -> int:
        """The number of bytes of the strided tensor."""
        return self._shape.numel() * self.itemsize

    @property
    def batch_dims(self) -> int:
        """The number of dimensions before those of a matrix."""
        return self._starts.ndim - 1

    def block(self) -> tuple[int, int]:
        """The shape of a stored block, (1, 1) for numbers."""
        first = self.batch_dims + 1
        height, width = self._array.shape[first : first + 2] if self.blocked else (1, 1)
        return height, width

    def in_layout(self, x: CoordinateTensor, index_dtype: Any) -> CompressedTensor:
        """The tensor ``x``, of the same dimensions, in the layout of this one."""
        out = compressed(x, self._layout, self.block(), batches=self.batch_dims)
        starts, others = out._starts.to(index_dtype), out._others.to(index_dtype)
        return out.like(out.stored(), _starts=starts, _others=others)

    def _nnz(self) -> int:
        return self._others._array.shape[-1]

    def _texts(self) -> list[tuple[str, Tensor]]:
        return list(zip(self.names_of_indices(), (self._starts, self._others), strict=True))

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return self._printed(below=False)


class CsrTensor(CompressedTensor):
    """A matrix of layout ``nnkit.sparse_csr``."""

    _layout, by_rows, blocked = sparse_csr, True, False
    functions: ClassVar[dict[str, Callable]] = {}


class CscTensor(CompressedTensor):
    """A matrix of layout ``nnkit.sparse_csc``."""

    _layout, by_rows, blocked = sparse_csc, False, False
    functions: ClassVar[dict[str, Callable]] = {}


class BsrTensor(CompressedTensor):
    """A matrix of layout ``nnkit.sparse_bsr``."""

    _layout, by_rows, blocked = sparse_bsr, True, True
    functions: ClassVar[dict[str, Callable]] = {}


class BscTensor(CompressedTensor):
    """A matrix of layout ``nnkit.sparse_bsc``."""

    _layout, by_rows, blocked = sparse_bsc, False, True
    functions: ClassVar[dict[str, Callable]] = {}


CLASSES: dict[layout, Any] = {
    kind._layout: kind for kind in (CsrTensor, CscTensor, BsrTensor, BscTensor)
}
_TRANSPOSED = {
    sparse_csr: sparse_csc, sparse_csc: sparse_csr, sparse_bsr: sparse_bsc, sparse_bsc: sparse_bsr,
}  # fmt: skip


def matrix_of(kind: layout, starts: Tensor, others: Tensor, values: Tensor, shape: Any) -> Any:
    """The matrix of a layout with these indices and values."""
    return CLASSES[kind].with_values(values, _starts=starts, _others=others, _shape=Size(shape))


def to_coordinates(x: CompressedTensor) -> CoordinateTensor:
    """The same tensor by coordinates; each element of a block has its own."""
    counts = (x._starts[..., 1:] - x._starts[..., :-1]).reshape(-1)
    lines = max(x._starts._array.shape[-1] - 1, 1)
    line = PUBLIC["arange"](counts.shape[0], device=counts.device).repeat_interleave(counts)
    batch, along = line, line
    if x.batch_dims:
        batch, along = line.div(lines, rounding_mode="floor"), line % lines
    others = x._others.reshape(-1).long()
    row, column = (along, others) if x.by_rows else (others, along)
    values = x.stored().flatten(0, x.batch_dims)
    if x.blocked:
        height, width = x.block()
        inner = PUBLIC["arange"](height * width, device=row.device)
        row = (row[:, None] * height + inner.div(width, rounding_mode="floor")).reshape(-1)
        column = (column[:, None] * width + inner % width).reshape(-1)
        batch = batch.repeat_interleave(height * width)
        values = values.flatten(0, 2)
    batches = unflattened(batch, x._shape[: x.batch_dims])
    indices = PUBLIC["cat"]([batches, PUBLIC["stack"]([row, column])])
    out = CoordinateTensor.of(indices, values, x.shape, x.by_rows and not x.blocked or None)
    return coalesce(out)


def compressed(
    x: Any, wanted: layout, blocksize: Any = None, dense_dim: int | None = None, batches: int = 0
) -> CompressedTensor:
    """A sparse or strided matrix in another layout.

    Args:
        blocksize: the shape of the blocks, in a layout of blocks.
        dense_dim: how many dimensions the elements of a strided tensor have, which come last.
        batches: how many dimensions of a batch a tensor of coordinates has, which come first.

    Raises:
        IndexError: it has less than two dimensions.
        RuntimeError: the blocks do not divide it, or the matrices of a batch do not store equally
            many elements.
    """
    kind, name = CLASSES[wanted], wanted.name
    if isinstance(x, kind) and not kind.blocked:
        return x
    if x.ndim < 2:
        raise IndexError(f"to_{name}(): expected a matrix, got a tensor of {x.ndim} dimensions")
    index_dtype = x._starts.dtype if isinstance(x, CompressedTensor) else int64
    if isinstance(x, CompressedTensor):
        batches, x = x.batch_dims, to_coordinates(x)
    elif not isinstance(x, CoordinateTensor):
        batches = x.ndim - 2 - (dense_dim or 0)
        if batches < 0:
            raise RuntimeError(f"to_{name}(): dense_dim={dense_dim} leaves no matrix")
        x = from_dense(x, batches + 2)
    elif x.sparse_dims != batches + 2:
        raise RuntimeError(
            f"to_{name}(): conversion from Sparse to {wanted.kind} for input tensors with "
            f"sparse_dim()!=2 is not supported: got {x.sparse_dims}"
        )
    x = coalesce(x)
    batch, (row, column) = x.flat(range(batches)), x._coordinates[batches:]
    values, sizes = x.stored(), list(x.shape[batches : batches + 2])
    if kind.blocked:
        batch, row, column, values, sizes = _blocks(
            batch, row, column, values, sizes, blocksize, kind.by_rows
        )
    elif not kind.by_rows:
        order = ((batch * sizes[1] + column) * sizes[0] + row).argsort(stable=True)
        batch, row, column, values = batch[order], row[order], column[order], values[order]
    along, others, lines = (row, column, sizes[0]) if kind.by_rows else (column, row, sizes[1])
    shape = tuple(x.shape[:batches])
    count = prod(shape)
    each = others._array.shape[0] // max(count, 1)
    first = PUBLIC["arange"](count + 1, device=along.device)
    if len(others) and bool((PUBLIC["searchsorted"](batch, first) != first * each).any()):
        raise RuntimeError(f"to_{name}(): Expect the same number of specified elements per batch.")
    first = first[:count]
    bounds = first[:, None] * lines + PUBLIC["arange"](lines + 1, device=along.device)
    starts = PUBLIC["searchsorted"](batch * lines + along, bounds) - first[:, None] * each
    return matrix_of(
        wanted, starts.reshape(*shape, lines + 1).to(index_dtype),
        others.reshape(*shape, each).to(index_dtype),
        values.reshape(*shape, each, *values.shape[1:]), x.shape,
    )  # fmt: skip


def _blocks(
    batch: Tensor, row: Tensor, column: Tensor, values: Tensor, sizes: list[int], blocksize: Any,
    by_rows: bool,
) -> tuple:  # fmt: skip
    """The indices and values of the blocks with stored elements, and the number of all blocks."""
    height, width = (blocksize, blocksize) if isinstance(blocksize, int) else tuple(blocksize)
    if any(n <= 0 or sizes[d] % n for d, n in enumerate((height, width))):
        raise RuntimeError(
            f"tensor sparse size ({sizes[0]},{sizes[1]}) must be divisible by given blocksize "
            f"({height},{width})"
        )
    counts = [sizes[0] // height, sizes[1] // width]
    above = row.div(height, rounding_mode="floor"), column.div(width, rounding_mode="floor")
    outer, inner = above if by_rows else above[::-1]
    lines, length = counts if by_rows else counts[::-1]
    places, which = ((batch * lines + outer) * length + inner).unique(return_inverse=True)
    empty = values.new_zeros((places.shape[0], height, width, *values.shape[1:]))
    values = empty.index_put((which, row % height, column % width), values)
    batch, outer, inner = unflattened(places, (max(places.shape[0], 1), lines, length))
    row, column = (outer, inner) if by_rows else (inner, outer)
    return batch, row, column, values, counts


# Functions


def _through_coordinates(name: str, keeps: bool) -> Callable:
    """A function of coordinates for matrices in other layouts.

    A result of the same dimensions gets their layout again if it ``keeps`` it; products of
    matrices by columns are stored by rows.
    """
    function = FUNCTIONS[name]

    def answer(*args: Any, **kwargs: Any) -> Any:
        first = next(a for a in args if isinstance(a, CompressedTensor))
        args = tuple(to_coordinates(a) if isinstance(a, CompressedTensor) else a for a in args)
        out = function(*args, **kwargs)
        if keeps and isinstance(out, CoordinateTensor) and out.sparse_dims == first.batch_dims + 2:
            if name in _PRODUCTS and first.layout is sparse_csc:
                return compressed(out, sparse_csr)
            is_new = name == "sparse_mask" or name in _PRODUCTS
            return first.in_layout(out, int64 if is_new else first._starts.dtype)
        return out

    return answer


def _on_values(name: str) -> Callable:
    def answer(input: CompressedTensor, *args: Any, **kwargs: Any) -> Any:
        return input.like(PUBLIC[name](input.stored(), *args, **kwargs))

    return answer


def add(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    if not isinstance(other, SparseTensor) and isinstance(other, Tensor):
        alpha = number("add", "alpha", alpha)
        return elementwise.add(other, to_coordinates(input) * (1 / alpha)) * alpha
    if isinstance(other, SparseTensor) and input.shape != other.shape:
        raise RuntimeError(
            "add: Expected input tensors to have the same shape, but got "
            f"{list(input.shape)} and {list(other.shape)}"
        )
    return _add(input, other, alpha=alpha)


def transpose(input: CompressedTensor, dim0: int, dim1: int) -> CompressedTensor:
    """The transposed matrix, on the same memory; or the batch with two dimensions exchanged.

    Raises:
        RuntimeError: the dimensions are of different kinds.
    """
    first, second = sorted(normalize_dim(d, input.ndim, "transpose") for d in (dim0, dim1))
    starts, others, values = input._starts, input._others, input.stored()
    batch = input.batch_dims
    shape, kind = list(input._shape), input._layout
    shape[first], shape[second] = shape[second], shape[first]
    if second < batch:
        starts, others = starts.transpose(first, second), others.transpose(first, second)
        values = values.transpose(first, second)
    elif (first, second) == (batch, batch + 1):
        values = values.transpose(batch + 1, batch + 2) if input.blocked else values
        kind = _TRANSPOSED[kind]
    elif first != second:
        raise RuntimeError(
            "transpose(): can only transpose dimensions of the same type (Batch, Sparse, Dense), "
            f"got {first} and {second}"
        )
    return matrix_of(kind, starts, others, values, shape)


def t(input: CompressedTensor) -> CompressedTensor:
    """The transposed matrix."""
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return transpose(input, 0, 1)


def select(input: CompressedTensor, dim: int, index: int) -> Any:
    """One matrix of a batch; a row or column of a single matrix."""
    place, batch = normalize_dim(dim, input.ndim, "select"), input.batch_dims
    if not batch:
        return FUNCTIONS["select"](to_coordinates(input), dim, index)
    if place >= batch:
        raise RuntimeError(
            "select(): selecting sparse dimensions is not supported for batched sparse compressed "
            f"tensors, got dim={dim}"
        )
    starts, others = input._starts.select(place, index), input._others.select(place, index)
    shape = [n for d, n in enumerate(input._shape) if d != place]
    return matrix_of(input._layout, starts, others, input.stored().select(place, index), shape)


def unbind(input: CompressedTensor, dim: int = 0) -> tuple:
    """The matrices of a batch, or the rows or columns of one matrix."""
    return tuple(select(input, dim, i) for i in range(input._shape[dim]))


def getitem(input: CompressedTensor, index: Any) -> Any:
    """A matrix of a batch, for an integer; otherwise as by coordinates."""
    if input.batch_dims and isinstance(index, int) and not isinstance(index, bool):
        return select(input, 0, index)
    return FUNCTIONS["getitem"](to_coordinates(input), index)


def sum_of(input: CompressedTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None):
    values = input.stored()
    if dim is None:
        return values.sum(dtype=dtype)
    if not keepdim:
        raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
    return _sum(input, dim, keepdim, dtype=dtype)


_add = _through_coordinates("add", True)
_sum = _through_coordinates("sum", True)
_PRODUCTS = ("mm", "matmul", "addmm", "addmv", "mv", "linear", "__matmul__", "__rmatmul__")
_KEEP = ("mul", "multiply", "__rmul__", "sparse_mask", *_PRODUCTS)  # their layout
_SHARED = (
    *copying.CONVERSIONS,
    *(
        "clone detach _nnz size numel nelement dim ndimension storage_offset is_same_size"
        " new_tensor requires_grad_ item is_nonzero _bool __bool__ numpy __array__ tolist data_ptr"
        " untyped_storage storage typed_storage is_shared share_memory_ setitem __setitem__"
    ).split(),
)


def _write(name: str) -> Callable:
    def answer(input: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(input, CompressedTensor):  # what is strided, by a matrix
            args = tuple(to_coordinates(a) if isinstance(a, CompressedTensor) else a for a in args)
            return FUNCTIONS[f"{name}_"](input, *args, **kwargs)
        if name == "add" and not isinstance(args[0], SparseTensor):
            raise RuntimeError(f"add_(): a matrix of layout {input.layout} would become strided")
        out = type(input).functions[name](input, *args, **kwargs)
        return input._become(elementwise.in_dtype_of(input, out, f"{name}_"))

    return answer


def _zeros_like(input: CompressedTensor, layout: Any = None, **options: Any) -> Any:
    """The tensor that stores no element, in a layout of matrices or of coordinates."""
    wanted, batch = layout or input.layout, input.batch_dims
    kind = CLASSES.get(wanted)
    if wanted is strided or (kind is not None and kind.blocked is not input.blocked):
        raise _other_layout(input, wanted)
    values = PUBLIC["zeros_like"](input.stored().detach().narrow(batch, 0, 0), **options)
    if kind is None:
        rows = values.new_zeros((batch + 2, 0), dtype=int64)
        values = values.new_zeros((0, *input._shape[batch + 2 :]))
        return CoordinateTensor.of(rows, values, input._shape, True)
    along = 0 if kind.by_rows else 1
    lines = input._shape[batch + along] // input.block()[along]
    dtype = input._starts.dtype
    starts = values.new_zeros((*input._shape[:batch], lines + 1), dtype=dtype)
    others = values.new_zeros((*input._shape[:batch], 0), dtype=dtype)
    return matrix_of(wanted, starts, others, values, input._shape)


def _empty_like(input: CompressedTensor, layout: Any = None, **options: Any) -> Any:
    if layout not in (None, input.layout):
        raise _other_layout(input, layout)
    return _zeros_like(input, **options)


def _randn_like(input: CompressedTensor, layout: Any = None, **options: Any) -> Any:
    if layout not in (None, input.layout):
        raise _other_layout(input, layout)
    return input.like(PUBLIC["randn_like"](input.stored().detach(), **options))


def _other_layout(input: CompressedTensor, wanted: layout) -> RuntimeError:
    return RuntimeError(
        f"empty_like with different sparse layout is not supported (self is {input.layout.kind} "
        f"but you requested {wanted.kind})"
    )


def _copy(input: CompressedTensor, src: Any, non_blocking: bool = False) -> Any:
    if type(src) is not type(input):
        raise RuntimeError(
            "copy of sparse compressed tensors having different layouts is not supported: self "
            f"layout is {input.layout} and src layout is {src.layout}"
        )
    for d, (own, other) in enumerate(zip(input._shape, src._shape, strict=False)):
        if own != other or input.ndim != src.ndim:
            raise RuntimeError(
                f"copy_(): expected shapes of self and src to match along dimension {d}, got "
                f"{list(input._shape)} and {list(src._shape)}"
            )
    if input._nnz() != src._nnz():
        raise RuntimeError(
            "copy_(): only sparse compressed tensors with the same number of specified elements "
            f"are supported, got {input._nnz()} and {src._nnz()}"
        )
    if input.blocked and input.block() != src.block():
        raise RuntimeError(
            "copy of sparse compressed tensors having different block sizes is not supported: got "
            f"{list(input.block())} and {list(src.block())}"
        )
    return input._become(copying.clone(src).to(input.dtype))


def _fill(input: CompressedTensor, value: Any) -> Any:
    return input._become(input.like(input.stored().detach().clone().fill_(value)))


def _full_like(input: Any, fill_value: Any) -> Any:
    return _fill(copying.clone(input.detach()), fill_value)


def _indices_of(by_rows: bool, name: str, attribute: str) -> Callable:
    def answer(input: CompressedTensor) -> Tensor:
        if input.by_rows is not by_rows:
            kind = "row" if by_rows else "column"
            raise RuntimeError(
                f"{name} expected sparse {kind} compressed tensor layout but got "
                f"{input.layout.kind}"
            )
        return getattr(input, attribute)

    return answer


def _without(name: str, what: str) -> Callable:
    def answer(input: CompressedTensor, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"{name} expected {what} tensor layout but got {input.layout.kind}")

    return answer


def _fill_table(kind: Any) -> None:
    table = kind.functions
    for name in (*elementwise.ZERO_PRESERVING, *elementwise.OF_EACH_VALUE):
        if name not in ("square", "nan_to_num"):
            table[name] = _on_values(name)
            table[f"{name}_"] = _write(name)
    table["angle"] = _on_values("angle")
    table["relu"] = elementwise.relu_of(table)
    table.update({name: _through_coordinates(name, True) for name in _KEEP})
    table.update({name: FUNCTIONS[name] for name in _SHARED})
    table.update({
        "add_": _write("add"), "mul_": _write("mul"),
        "to_dense": _through_coordinates("to_dense", False),
        "add": add, "sum": sum_of, "transpose": transpose, "swapaxes": transpose, "t": t,
        "adjoint": lambda input: transpose(input, -2, -1), "select": select, "unbind": unbind,
        "select_copy": lambda *place: copying.clone(select(*place)),
        "getitem": getitem, "__getitem__": getitem, "randn_like": _randn_like,
        "iterate": lambda input: iter(unbind(input)), "__iter__": lambda input: iter(unbind(input)),
        "zeros_like": _zeros_like, "empty_like": _empty_like, "copy_": _copy, "fill_": _fill,
        "zero_": lambda input: input._become(_zeros_like(input)),
        "ones_like": lambda input: _full_like(input, 1), "full_like": _full_like,
        "crow_indices": _indices_of(True, "crow_indices", "_starts"),
        "col_indices": _indices_of(True, "col_indices", "_others"),
        "ccol_indices": _indices_of(False, "ccol_indices", "_starts"),
        "row_indices": _indices_of(False, "row_indices", "_others"),
        "values": lambda input: input.stored(), "sparse_dim": lambda input: 2,
        "dense_dim": lambda input: input.ndim - 2 - input.batch_dims,
        "stride": _without("stride()", "a strided"),
        "is_contiguous": _without("is_contiguous()", "a strided"),
        "contiguous": _without("contiguous()", "a strided"),
        "coalesce": _without("coalesce", "sparse coordinate"),
        "is_coalesced": _without("is_coalesced", "sparse coordinate"),
        "indices": _without("indices", "sparse coordinate"),
    })  # fmt: skip


for _kind in CLASSES.values():
    _fill_table(_kind)
