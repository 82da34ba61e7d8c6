"""Copies and parts of sparse tensors, and the refusals of what is not defined for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nnkit.autograd.arguments.dims import sizes_of
from nnkit.autograd.op.public import PUBLIC
from nnkit.autograd.sparse.coordinates import CoordinateTensor, coalesce, least_sizes, to_dense
from nnkit.autograd.sparse.table import FUNCTIONS, defines, refuse
from nnkit.autograd.sparse.tensor import SparseTensor
from nnkit.autograd.surface.size import Size
from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import int64
from nnkit.backend.memory import sparse_coo


@defines("clone")
def clone(input: SparseTensor, *, memory_format: Any = None) -> Any:
    parts = {name: input.__dict__[name].clone() for name in input._names}
    return input.like(input.stored().clone(), **parts)


@defines("detach")
def detach(input: SparseTensor) -> Any:
    return input.like(input.stored().detach())


@defines("detach_")
def detach_(input: CoordinateTensor) -> CoordinateTensor:
    if input.is_leaf:
        return input
    input._edge, input._requires_grad, input._base, input._view = None, False, None, None
    return input


@defines("requires_grad_")
def requires_grad_(input: SparseTensor, requires_grad: bool = True) -> SparseTensor:
    if requires_grad and not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(
            f"only Tensors of floating point dtype can require gradients, got {input.dtype}"
        )
    input._set_requires_grad(requires_grad)
    return input


def _converted(name: str) -> None:
    """Define a method that changes the dtype or the device of the values."""
    method = getattr(Tensor, name)

    def answer(input: SparseTensor, *args: Any, **kwargs: Any) -> Any:
        values = input.stored()
        out = method(values, *args, **kwargs)
        if isinstance(out, str):
            return out.replace(".", ".sparse.", 1)
        if out is values:
            return input
        parts = {name: input.__dict__[name].to(out.device) for name in input._names}
        if out._device.type == "meta" != input._device.type:
            # Where the elements stood is not known on meta, so none is stored there.
            last = input._names[-1]
            out, parts[last] = out.narrow(input.batch_dims, 0, 0), parts[last][..., :0]
        return input.like(out, **parts)

    defines(name)(answer)


CONVERSIONS = "to cpu cuda double float half bfloat16 long int short char byte bool".split()
for _name in (*CONVERSIONS, "type", "pin_memory", "cdouble", "cfloat"):
    _converted(_name)
defines("type_")(FUNCTIONS["type"])
defines("to_dense")(
    lambda input, dtype=None, *, masked_grad=None: to_dense(_without_dtype(input, dtype))
)


def _without_dtype(input: CoordinateTensor, dtype: Any) -> CoordinateTensor:
    if dtype is not None:
        raise RuntimeError("dtype argument is not supported by sparse_to_dense")
    return input


@defines("zeros_like", "empty_like")
def zeros_like(input: CoordinateTensor, *, dtype: Any = None, layout: Any = None,
               device: Any = None, requires_grad: bool = False, memory_format: Any = None,
               **options: Any) -> Any:  # fmt: skip
    dtype, device = dtype or input.dtype, device or input.device
    if layout is not None and layout is not input.layout:
        return PUBLIC["zeros"](
            input.shape, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
        )
    if memory_format is not None:
        raise RuntimeError(
            f"zeros_like(): memory format option is only supported by strided tensors, got "
            f"{memory_format} for one of layout {input.layout}"
        )
    out = empty(input._shape, input.sparse_dims, dtype, device)
    return requires_grad_(out, requires_grad)


def empty(shape: Sequence[int], sparse: int, dtype: Any, device: Any) -> CoordinateTensor:
    """The tensor of which no element is stored."""
    rows = PUBLIC["zeros"]((sparse, 0), dtype=PUBLIC["tensor"](0).dtype, device=device)
    values = PUBLIC["zeros"]((0, *shape[sparse:]), dtype=dtype, device=device)
    return CoordinateTensor.of(rows, values, shape, True)


@defines("new_zeros", "new_empty")
def new_zeros(input: CoordinateTensor, *size: Any, dtype: Any = None, layout: Any = None,
              device: Any = None, requires_grad: bool = False, **options: Any) -> Any:  # fmt: skip
    return PUBLIC["zeros"](
        *size, dtype=dtype or input.dtype, layout=layout or input.layout,
        device=device or input.device, requires_grad=requires_grad,
    )  # fmt: skip


@defines("zeros", "empty")
def zeros(*size: Any, **options: Any) -> Any:
    return PUBLIC["zeros"](*size, **options, layout=sparse_coo)


@defines("new_tensor")
def new_tensor(input: SparseTensor, data: Any, *, dtype: Any = None, device: Any = None,
               requires_grad: bool = False) -> Tensor:  # fmt: skip
    return PUBLIC["tensor"](
        data, dtype=dtype or input.dtype, device=device or input.device,
        requires_grad=requires_grad,
    )  # fmt: skip


@defines("new")
def new(
    input: CoordinateTensor, *arguments: Any, size: Any = None, device: Any = None
) -> CoordinateTensor:
    """A sparse tensor of indices and values, or one of this dtype without elements."""
    place = input.device if device is None else device
    if not arguments or not isinstance(arguments[0], Tensor):
        if arguments and isinstance(arguments[0], list):
            raise TypeError("new(): takes sizes, not a sequence of elements: use sparse_coo_tensor")
        shape = sizes_of("new", arguments or ((0,) if size is None else ()), size)
        return empty(shape, len(shape), input.dtype, place)
    rows, values, *given = (*arguments, size)[:3]
    if not isinstance(values, Tensor) or len(arguments) > 3:
        raise TypeError("new(): expected indices and values, both tensors, and maybe a size")
    if rows.dtype is not int64:
        raise RuntimeError(f"new(): expected indices of int64, got {rows.dtype}")
    shape = given[0] if given and given[0] is not None else None
    if shape is None:
        shape = (*least_sizes(rows), *values.shape[1:])
    if len(shape) != rows.shape[0] + values.ndim - 1:
        raise RuntimeError(
            f"new(): indices {list(rows.shape)} and values {list(values.shape)} do not fit a "
            f"tensor of size {list(shape)}"
        )
    return CoordinateTensor.of(rows.to(place), values.to(place), shape, False)


@defines("zero_")
def zero_(input: CoordinateTensor) -> CoordinateTensor:
    return input._become(empty(input._shape, input.sparse_dims, input.dtype, input.device))


@defines("copy_")
def copy_(input: Any, src: Any, non_blocking: bool = False) -> Any:
    if not isinstance(input, CoordinateTensor) or not isinstance(src, CoordinateTensor):
        raise RuntimeError(
            "copy_() between dense and sparse Tensors is not implemented! Found self type = "
            f"{input.layout} and src type = {src.layout}"
        )
    if src is input:
        return input
    _check_resize(input, src._shape, src.sparse_dims, src.dense_dims)
    return input._become(src.like(src.stored().to(input.dtype).clone()))


@defines("sparse_resize_")
def sparse_resize_(input: Any, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Any:
    if len(size) != sparse_dim + dense_dim:
        raise RuntimeError(
            f"number of dimensions must be sparse_dim ({sparse_dim}) + dense_dim ({dense_dim}), "
            f"but got {len(size)}"
        )
    if not input._nnz():
        return input._become(empty(size, sparse_dim, input.dtype, input.device))
    _check_resize(input, size, sparse_dim, dense_dim)
    values, shape = input.stored().detach(), (input._nnz(), *size[sparse_dim:])
    if shape != tuple(values.shape):  # as their memory is resized, in a row
        flat, values = values.reshape(-1), values.new_zeros(shape)
        values.view(-1)[: flat.shape[0]] = flat
    return input._become(input.like(values, _shape=Size(size)))


def _check_resize(input: Any, size: Sequence[int], sparse_dim: int, dense_dim: int) -> None:
    """RuntimeError for sizes that a tensor with elements does not take."""
    if not input._nnz():
        return
    sparse, dense = input.sparse_dims, input.dense_dims
    for what, before, after in (("dense", dense, dense_dim), ("sparse", sparse, sparse_dim)):
        if before != after:
            raise RuntimeError(
                f"changing the number of {what} dimensions (from {before} to {after}) on a "
                "non-empty sparse tensor is not supported."
            )
    for what, part in (("sparse", slice(sparse)), ("dense", slice(sparse, None))):
        before, after = list(input._shape[part]), list(size[part])
        if any(n < m for n, m in zip(after, before, strict=True)):
            raise RuntimeError(
                f"shrinking the size of {what} dimensions (from {before} to {after}) on a "
                "non-empty sparse tensor is not supported."
            )


@defines("sparse_resize_and_clear_")
def sparse_resize_and_clear_(input: Any, size: Any, sparse_dim: int, dense_dim: int) -> Any:
    return input._become(empty(size, sparse_dim, input.dtype, input.device))


@defines("resize_as_sparse_", "resize_as_")
def resize_as_sparse_(
    input: CoordinateTensor, the_template: CoordinateTensor, *, memory_format: Any = None
) -> Any:
    if not isinstance(input, CoordinateTensor):
        raise RuntimeError("resize_as_sparse_() needs sparse tensors, got a strided one")
    if not isinstance(the_template, CoordinateTensor):
        raise NotImplementedError("resize_as_() of a sparse tensor needs a sparse template")
    other = the_template
    return sparse_resize_(input, other._shape, other.sparse_dims, other.dense_dims)


# Parts


@defines("indices")
def indices(input: CoordinateTensor) -> Tensor:
    _needs_coalesced(input, "indices")
    return input._coordinates


@defines("values")
def values(input: CoordinateTensor) -> Tensor:
    _needs_coalesced(input, "values")
    return input.stored()


def _needs_coalesced(input: CoordinateTensor, what: str) -> None:
    if not input._coalesced:
        raise RuntimeError(
            f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first"
        )


defines("_indices")(lambda input: input._coordinates)
defines("_values")(lambda input: input.stored().detach())
defines("_nnz")(lambda input: input._nnz())
defines("sparse_dim", "_dimI")(lambda input: input.sparse_dims)
defines("dense_dim", "_dimV")(lambda input: input.dense_dims)
defines("coalesce")(coalesce)
defines("is_coalesced")(lambda input: input._coalesced)


@defines("_coalesced_")
def _coalesced_(input: CoordinateTensor, coalesced: bool) -> CoordinateTensor:
    input.__dict__["_coalesced"] = coalesced
    return input


# Refusals whose type is torch's

refuse(TypeError, "Cannot assign to a sparse tensor", "setitem", "__setitem__")

refuse(RuntimeError, "reshape is not implemented for sparse tensors",
       "reshape", "reshape_as", "flatten", "ravel", "outer")  # fmt: skip
refuse(RuntimeError, "expand is unsupported for Sparse tensors",
       "expand", "expand_as", "repeat", "tile", "broadcast_to")  # fmt: skip
refuse(RuntimeError, "contiguous() is not defined for tensors of layout nnkit.sparse_coo",
       "contiguous", "masked_fill", "isreal")  # fmt: skip
refuse(
    AttributeError, "Can't get dim order on sparse type: use Tensor.to_dense() first.", "dim_order"
)
refuse(TypeError, "can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.",
       "numpy", "__array__")  # fmt: skip
refuse(RuntimeError, "Cannot access data pointer of Tensor that doesn't have storage",
       "tolist", "data_ptr")  # fmt: skip
refuse(NotImplementedError, "Cannot access storage of a tensor of layout nnkit.sparse_coo",
       "untyped_storage", "storage", "typed_storage", "is_shared", "share_memory_",
       "kron")  # fmt: skip
for _name in ("crow_indices", "col_indices", "ccol_indices", "row_indices"):
    _kind = "row" if _name in ("crow_indices", "col_indices") else "column"
    refuse(
        RuntimeError,
        f"{_name} expected sparse {_kind} compressed tensor layout but got Sparse", _name,
    )  # fmt: skip

# Methods that other tensors do not have
for _name in (
    "sparse_resize_ sparse_resize_and_clear_ resize_as_sparse_ _coalesced_ _dimI _dimV"
).split():
    setattr(CoordinateTensor, _name, FUNCTIONS[_name])
