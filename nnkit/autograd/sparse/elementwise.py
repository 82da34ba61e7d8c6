"""Element-wise functions and arithmetic of sparse tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.autograd.arguments.dims import broadcast_shape
from nnkit.autograd.arguments.factory import number
from nnkit.autograd.op.promotion import check_dtype
from nnkit.autograd.op.public import PUBLIC
from nnkit.autograd.ops.elementwise.arithmetic import factor_of
from nnkit.autograd.sparse.coordinates import (
    CoordinateTensor,
    added,
    broadcast,
    coalesce,
    find_indices,
    is_ascending,
)
from nnkit.autograd.sparse.table import FUNCTIONS, defines
from nnkit.autograd.sparse.tensor import SparseTensor
from nnkit.autograd.surface.metadata import result_type
from nnkit.autograd.tensor import Tensor
from nnkit.autograd.views.writes import check_cast

# Element-wise functions that map 0 to 0

ZERO_PRESERVING = (
    "abs absolute asin arcsin asinh arcsinh atan arctan atanh arctanh ceil floor log1p round sin"
    " sinh sign sgn signbit tan tanh trunc fix expm1 sqrt square isinf isposinf isneginf isnan erf"
    " erfinv relu deg2rad rad2deg frac nan_to_num"
).split()
OF_EACH_VALUE = (
    "neg negative conj conj_physical resolve_conj resolve_neg real imag positive".split()
)


def in_dtype_of(input: Any, out: Any, name: str) -> Any:
    """A result in the dtype of ``input``, into which it is written.

    Raises:
        RuntimeError: it cannot be cast to that dtype, or is that of `abs` of complex numbers.
    """
    if name in ("abs_", "absolute_") and input.dtype.is_complex:
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    check_cast(name, out.dtype, input.dtype)
    return out if out.dtype is input.dtype else out.to(input.dtype)


def _elementwise(name: str, coalesces: bool) -> None:
    function = PUBLIC[name]

    def answer(input: CoordinateTensor, *args: Any, **kwargs: Any) -> Any:
        x = coalesce(input) if coalesces else input
        return x.like(function(x.stored(), *args, **kwargs))

    defines(name)(answer)
    if not hasattr(Tensor, f"{name}_"):
        return

    def write(input: CoordinateTensor, *args: Any, **kwargs: Any) -> Any:
        if coalesces and not input._coalesced:
            raise RuntimeError(f"{name}_ requires coalesced input")
        out = answer(input, *args, **kwargs)
        return input._become(in_dtype_of(input, out, f"{name}_"))

    defines(f"{name}_")(write)


for _name in ZERO_PRESERVING:
    _elementwise(_name, True)
for _name in OF_EACH_VALUE:
    _elementwise(_name, False)


def relu_of(functions: dict[str, Callable]) -> Callable:
    """`relu` as `nnkit.nn.functional.relu` is called, too."""
    plain, write = functions["relu"], functions["relu_"]
    return lambda input, inplace=False: (write if inplace else plain)(input)


defines("relu")(relu_of(FUNCTIONS))


# Arithmetic


def _is_scalar(value: Any) -> bool:
    return not isinstance(value, Tensor) or not (value.ndim or isinstance(value, SparseTensor))


def _plus(name: str, input: Any, other: Any, alpha: Any) -> Any:
    if not isinstance(input, CoordinateTensor):
        _check_sizes("add", input, other)
        if not isinstance(input, Tensor):
            input = PUBLIC["tensor"](input)
        values = _addend(name, input, other.stored(), alpha)
        if not other.sparse_dims:
            return input + added(values)
        return input.to(values.dtype).index_put(other.at(), values, accumulate=True)
    if not isinstance(other, CoordinateTensor):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    _check_sizes("add", input, other)
    if input.sparse_dims != other.sparse_dims:
        if input._nnz() and other._nnz():
            raise RuntimeError(
                f"add: expected 'self' and 'other' to have same density, but 'self' has "
                f"{input.sparse_dims} sparse dimensions while 'other' has {other.sparse_dims} "
                "sparse dimensions"
            )
        if input._nnz():
            return input.like(input.stored().to(result_type(input.stored(), other.stored())))
        return other.like(_addend(name, input.stored(), other.stored(), alpha))
    values = input.stored()
    more = _addend(name, values, other.stored(), alpha)
    if input._coordinates is other._coordinates:
        return input.like(values + more)
    out = CoordinateTensor.of(
        PUBLIC["cat"]([input._coordinates, other._coordinates], 1),
        PUBLIC["cat"]([values.to(more.dtype), more]),
        input._shape,
        False,
    )
    if not is_ascending(input) or not is_ascending(other):
        return out
    out = coalesce(out)
    out._coalesced = input._coalesced and other._coalesced
    return out


def _addend(name: str, values: Tensor, more: Tensor, alpha: Any) -> Tensor:
    """``alpha * more``, negative for ``sub``, in the dtype of its sum with ``values``; an unsigned
    one has no -1.

    Raises:
        TypeError: ``alpha`` is no number.
        RuntimeError: ``alpha`` is not of that dtype's kind.
    """
    alpha = number(name, "alpha", alpha)
    kind = result_type(values, more)
    if name == "sub":
        check_dtype(name, kind, ("bool",))
    more = more.to(kind)
    alpha = factor_of(name, alpha, more)
    factor = -alpha if name == "sub" else alpha
    return more if factor == 1 else more * factor


def _check_sizes(name: str, input: Any, other: Any) -> None:
    shape = list(input.shape) if isinstance(input, Tensor) else []
    if shape != list(other.shape):
        if isinstance(input, CoordinateTensor):
            raise RuntimeError(
                f"{name}: expected sizes of 'self' and 'other' to match, but {shape} != "
                f"{list(other.shape)}"
            )
        raise RuntimeError(
            f"{name}: expected 'self' and 'other' to have same size, but self has size "
            f"{shape} while other has size {list(other.shape)} (FYI: dense-sparse addition does "
            "not currently support broadcasting)"
        )


@defines("add")
def add(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    return _plus("add", input, other, alpha)


@defines("sub", "subtract")
def sub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    return _plus("sub", input, other, alpha)


@defines("__rsub__", "rsub")
def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    return _plus("sub", other, input, alpha)


@defines("mul", "multiply", "__rmul__")
def mul(input: Any, other: Any) -> Any:
    if not isinstance(input, CoordinateTensor):
        input, other = other, input
    if _is_scalar(other):
        return input.like(input.stored() * other)
    if isinstance(other, CoordinateTensor):
        return _sparse_product(input, other)
    shape = broadcast_shape("mul", [input._shape, other.shape])
    if shape != input._shape:
        input = coalesce(broadcast(input, shape))
    return input.like(input.stored() * other.expand(shape)[input.at()])


def _sparse_product(x: CoordinateTensor, y: CoordinateTensor) -> CoordinateTensor:
    """The products of the elements that both store; a number multiplies all that the other does."""
    if not x.ndim and not y.ndim:
        x = coalesce(x)
    elif not x.ndim or not y.ndim:
        x, number = (x, y) if not y.ndim else (y, x)
        return x.like(x.stored() * added(number.stored()))
    sparse = x.sparse_dims
    if x.ndim != y.ndim or sparse != y.sparse_dims or x._shape[:sparse] != y._shape[:sparse]:
        raise RuntimeError(
            "mul(): expects sparse inputs with equal dimensionality, number of sparse dimensions, "
            f"and shape of sparse dimensions, got {list(x._shape)} and {list(y._shape)} of "
            f"{sparse} and {y.sparse_dims}"
        )
    y = coalesce(y)
    where, found = find_indices(x, y)
    kept = found.nonzero()[:, 0]
    values = x.stored()[kept] * y.stored()[where[kept]]
    shape = broadcast_shape("mul", [x._shape, y._shape])
    return CoordinateTensor.of(x._coordinates[:, kept], values, shape, x._coalesced)


@defines("div", "divide", "true_divide", "__truediv__")
def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    if not isinstance(input, CoordinateTensor) or not _is_scalar(other):
        what = "floor division" if rounding_mode == "floor" else "division"
        got = f"shape {list(other.shape)} for" if other.ndim else "a sparse"
        raise RuntimeError(
            f"Sparse {what} requires a scalar or zero-dim dense tensor divisor (got {got} divisor)"
        )
    x = input if rounding_mode is None else coalesce(input)
    return x.like(PUBLIC["div"](x.stored(), other, rounding_mode=rounding_mode))


@defines("floor_divide", "__floordiv__")
def floor_divide(input: Any, other: Any) -> Any:
    return div(input, other, rounding_mode="floor")


@defines("pow")
def power(input: Any, exponent: Any) -> Any:
    if not isinstance(input, CoordinateTensor) or not _is_scalar(exponent):
        raise NotImplementedError("pow() of tensors of layout nnkit.sparse_coo takes a number")
    if exponent == 0:
        raise RuntimeError(
            "pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor "
            "dense"
        )
    x = coalesce(input)
    return x.like(x.stored() ** exponent)


def _in_place(of: Callable) -> Callable:
    """The in-place form of a function of two tensors, or of a tensor and a number."""

    def write(input: Any, other: Any, **options: Any) -> Any:
        if isinstance(input, CoordinateTensor):
            out = of(input, other, **options)
            if of is mul and not isinstance(other, CoordinateTensor):
                if out.dtype is not input.dtype:
                    raise RuntimeError(
                        f"mul_(): dtype of values ({out.dtype.scalar_type}) must match dtype of "
                        f"sparse tensor ({input.dtype.scalar_type})"
                    )
                out._coalesced = out._nnz() < 2  # torch forgets it
            return input._become(in_dtype_of(input, out, f"{of.__name__}_"))
        if of is add or of is sub:  # only the rows of a sparse gradient are touched
            _check_sizes("add", input, other)
            alpha = options.get("alpha", 1)
            values = _addend(of.__name__, input, other.stored(), alpha)
            check_cast("add_", values.dtype, input.dtype)
            return input.index_put_(other.at(), values.to(input.dtype), accumulate=True)
        out = of(input, other, **options)
        check_cast(f"{of.__name__}_", out.dtype, input.dtype)
        return input.copy_(out.to_dense())

    return write


for _name in ("add sub subtract mul multiply div divide true_divide floor_divide").split():
    defines(f"{_name}_")(_in_place(FUNCTIONS[_name]))
for _name, _of in (("__iadd__", "add_"), ("__isub__", "sub_"), ("__imul__", "mul_")):
    defines(_name)(FUNCTIONS[_of])
