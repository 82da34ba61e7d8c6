"""Order: sorting, the largest elements, medians, quantiles.

NaN is the greatest value. Equal elements keep their order (torch leaves it open except with
``stable=True``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.autograd.arguments.dims import check_tensor, normalize_dim
from nnkit.autograd.arguments.sizes import integer
from nnkit.autograd.batch.examples import lowest
from nnkit.autograd.op.inference import copied_scalar
from nnkit.autograd.op.out import Out, by_rows
from nnkit.autograd.op.public import public
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.op.rule import real_gradient, rule
from nnkit.autograd.op.single import single
from nnkit.autograd.ops.elementwise.arithmetic import lerp
from nnkit.autograd.ops.reduction.sums import check_dim, needs_dim
from nnkit.autograd.ops.shape import reshaping as shapes
from nnkit.autograd.surface import return_types
from nnkit.autograd.tensor import Tensor, on_its_own, wrap
from nnkit.autograd.views.history import refresh
from nnkit.backend.dtype import BOOL, COMPLEX, int64


def _put_back(B: Any, g: Any, indices: Any, axis: int, x_shape: tuple) -> Any:
    return B.gather_adjoint(g, indices, axis, x_shape)


def _put_back_reduced(
    B: Any, g: Any, indices: Any, axis: int, keepdims: bool, x_shape: tuple
) -> Any:
    if x_shape and not keepdims:
        g, indices = B.unsqueeze(g, axis), B.unsqueeze(indices, axis)
    return B.gather_adjoint(g, indices, axis, x_shape)


_sort = rule(
    "sort", alone="copied", nondifferentiable=("indices",),
    x=lambda B, g_values, indices, axis, x_shape: _put_back(B, g_values, indices, axis, x_shape),
)  # fmt: skip
_topk = rule(
    "topk", alone=copied_scalar, nondifferentiable=("indices",),
    x=lambda B, g_values, indices, axis, x_shape: _put_back(B, g_values, indices, axis, x_shape),
)  # fmt: skip
_reduced = {
    name: rule(
        name, node=node, nondifferentiable=("indices",), alone=alone,
        x=lambda B, g_values, indices, axis, keepdims, x_shape: _put_back_reduced(
            B, g_values, indices, axis, keepdims, x_shape
        ),
    )
    for name, node, alone in (
        ("kthvalue", "KthvalueBackward0", "refused"), ("median", "MedianBackward1", "refused"),
        ("nanmedian", "NanmedianBackward1", "refused"),
        ("mode", "ModeBackward0", copied_scalar),
    )
}  # fmt: skip


def _share(B: Any, g: Any, x: Any, out: Any) -> Any:
    """The gradient in equal parts to all elements that are the result (NaN for NaN)."""
    hits = B.logical_or(B.eq(x, out), B.logical_and(B.isnan(x), B.isnan(out)))
    ones = B.where(hits, B.ones_like(x), B.zeros_like(x))
    share = B.expand_reduced(B.div(g, B.sum(ones, None, False)), tuple(x.shape), None, False)
    return B.contiguous(B.where(hits, share, B.zeros_like(x)))  # it lies by rows in torch


_median_all = rule("median_all", node="MedianBackward0", x=_share)
_nanmedian_all = rule("median_all", node="NanmedianBackward0", x=_share)


def _order(name: str, input: Any, dim: Any, bools: bool = True) -> int:
    """The axis to sort; RuntimeError for what has no order, and for bools unless ``bools``."""
    check_tensor(name, input)
    axis = normalize_dim(dim, input.ndim, name)
    if input.dtype.category == COMPLEX or (input.dtype.category == BOOL and not bools):
        raise RuntimeError(f"{name}(): not implemented for '{input.dtype.name}' tensors")
    return axis


@public(out=True)
def sort(
    input: Tensor, dim: int = -1, descending: bool = False, stable: bool | None = False
) -> Any:
    """The elements in ascending (or descending) order along ``dim``, and where each came from.

    Returns:
        A named tuple ``(values, indices)``. The order of equal elements is kept.

    Example:
        >>> import nnkit
        >>> values, indices = nnkit.tensor([3, 1, 2]).sort()
        >>> values, indices
        (tensor([1, 2, 3]), tensor([1, 2, 0]))
    """
    axis = _order("sort", input, dim)
    return return_types.sort(_sort(input, axis, bool(descending)))


@public
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The indices that `sort` returns.

    Example:
        >>> import nnkit
        >>> nnkit.argsort(nnkit.tensor([3, 1, 2]))
        tensor([1, 2, 0])
    """
    axis = _order("argsort", input, dim)
    refresh(input)
    B = input._device.backend
    return wrap(B.argsort(input._array, axis, bool(descending)), input._device)


@public(out=Out(dtype="same"))
def msort(input: Tensor) -> Tensor:
    """The elements sorted along the first dimension.

    Example:
        >>> import nnkit
        >>> nnkit.msort(nnkit.tensor([[3, 1], [2, 4]]))
        tensor([[2, 1],
                [3, 4]])
    """
    check_tensor("msort", input)
    return sort(input, 0).values


@public(out=True)
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The ``k`` largest (or smallest) elements along ``dim``, in order, and their indices.

    Returns:
        A named tuple ``(values, indices)``.

    Raises:
        RuntimeError: ``k`` is negative or larger than the dimension.

    Example:
        >>> import nnkit
        >>> nnkit.tensor([1, 4, 3]).topk(2).values
        tensor([4, 3])
    """
    axis = _order("topk", input, dim, False)
    size = (input._array.shape or (1,))[axis]
    if not 0 <= integer("topk", "k", k) <= size:
        raise RuntimeError(f"topk(): selected index k out of range: got {k} for {size} elements")
    return return_types.topk(_topk(input, int(k), axis, bool(largest), bool(sorted)))


def _reduce(name: str, input: Tensor, dim: int, keepdim: bool, *before: Any) -> Any:
    axis = normalize_dim(dim, input.ndim, name)
    if not (input._array.shape or (1,))[axis]:
        raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size")
    values, indices = _reduced[name](input, *before, axis, bool(keepdim))
    return getattr(return_types, name)((real_gradient(name, values), indices))


_WRONG_KTH = "output values must be of same type as input, got {got} for {wanted}"
_WRONG_MEDIAN = "Expected tensor for '{part}' to have scalar type {wanted}; but got {got} instead"
_WRONG_MODE = "expected scalar type '{wanted}' but got '{got}' for {part} output"
_WRONG_QUANTILE = "%s() out tensor must be same dtype as the input tensor, got {got}"


@public(out=Out(words=_WRONG_KTH, is_seen_resized=False))
@single(alone="refused")
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The ``k``-th smallest element along ``dim`` (from 1) and its index, a named tuple.

    Example:
        >>> import nnkit
        >>> value, index = nnkit.kthvalue(nnkit.tensor([30, 10, 20]), 2)
        >>> value, index
        (tensor(20), tensor(2))
    """
    check_tensor("kthvalue", input)
    axis = normalize_dim(dim, input.ndim, "kthvalue")
    size = (input._array.shape or (1,))[axis]
    if not 1 <= integer("kthvalue", "k", k) <= size and size:
        raise RuntimeError(
            f"kthvalue(): selected number k out of range for dimension {axis}: got {k}, expected "
            f"1 to {size}"
        )
    return _reduce("kthvalue", input, dim, keepdim, int(k))


def _along(name: str) -> Callable:
    @single(alone="refused", name=name)
    def find(input: Tensor, dim: int, keepdim: bool) -> Any:
        return _reduce(name, input, dim, keepdim)

    return find


_median_along, _nanmedian_along = _along("median"), _along("nanmedian")


@public(out=Out(words=_WRONG_MEDIAN, axes=by_rows, prepare=needs_dim("median")))
def median(
    input: Tensor,
    dim: int = ...,  # pyright: ignore[reportArgumentType]
    keepdim: bool = False,
) -> Any:
    """The median, the lower one of an even number; NaN if there is a NaN.

    Returns:
        The median of all elements; with ``dim`` a named tuple ``(values, indices)``.

    Example:
        >>> import nnkit
        >>> nnkit.tensor([4.0, 1.0, 3.0, 2.0]).median()
        tensor(2.)
    """
    check_tensor("median", input)
    check_dim("median", dim, keepdim)
    if dim is ...:
        return real_gradient("median", _median_all(input, False))
    return _median_along(input, dim, keepdim)


@public(out=Out(words=_WRONG_MEDIAN, axes=by_rows, prepare=needs_dim("nanmedian")))
def nanmedian(
    input: Tensor,
    dim: int = ...,  # pyright: ignore[reportArgumentType]
    keepdim: bool = False,
) -> Any:
    """`median` of what is not NaN.

    Example:
        >>> import nnkit
        >>> nnkit.nanmedian(nnkit.tensor([1.0, float("nan"), 3.0, 2.0]))
        tensor(2.)
    """
    check_tensor("nanmedian", input)
    check_dim("nanmedian", dim, keepdim)
    if dim is ...:
        return real_gradient("nanmedian", _nanmedian_all(input, True))
    return _nanmedian_along(input, dim, keepdim)


@public(out=Out(words=_WRONG_MODE))
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent element along ``dim`` (the smallest of several) and the last index where
    it stands, a named tuple ``(values, indices)``.

    Example:
        >>> import nnkit
        >>> value, index = nnkit.mode(nnkit.tensor([1, 2, 2, 3]))
        >>> value, index
        (tensor(2), tensor(2))
    """
    check_tensor("mode", input)
    return _reduce("mode", input, dim, keepdim)


INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


@public(out=Out(dtype="same", words=_WRONG_QUANTILE % "quantile", history="copied", axes=by_rows))
def quantile(
    input: Tensor, q: Tensor | float, dim: int | None = None, keepdim: bool = False, *,
    interpolation: str = "linear",
) -> Tensor:  # fmt: skip
    """The q-quantiles along ``dim`` (of all elements without one); NaN if there is a NaN.

    Args:
        q: a number or a 1-dim tensor of numbers in [0, 1]; a tensor adds a leading dimension.
        interpolation: what to take between two elements: "linear", "lower", "higher",
            "midpoint" or "nearest".

    Example:
        >>> import nnkit
        >>> nnkit.tensor([1.0, 2.0, 4.0]).quantile(0.75)
        tensor(3.)
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False)


@public(
    out=Out(dtype="same", words=_WRONG_QUANTILE % "nanquantile", history="copied", axes=by_rows)
)
def nanquantile(
    input: Tensor, q: Tensor | float, dim: int | None = None, keepdim: bool = False, *,
    interpolation: str = "linear",
) -> Tensor:  # fmt: skip
    """`quantile` of what is not NaN.

    Example:
        >>> import nnkit
        >>> nnkit.nanquantile(nnkit.tensor([1.0, float("nan"), 3.0]), 0.5)
        tensor(2.)
    """
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True)


def _quantile(
    name: str, input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str,
    ignore_nan: bool,
) -> Tensor:  # fmt: skip
    check_tensor(name, input)
    if input.dtype.name not in ("float32", "float64"):
        raise RuntimeError(
            f"{name}() input tensor must be either float or double dtype, got {input.dtype}"
        )
    if interpolation not in INTERPOLATIONS:
        raise RuntimeError(
            f"{name}() interpolation must be one of {', '.join(INTERPOLATIONS[:-1])} or "
            f"{INTERPOLATIONS[-1]}, but got {interpolation}"
        )
    if not input._array.size:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    B, place = input._device.backend, input._device
    if isinstance(q, Tensor) and q.dtype is not input.dtype:
        raise RuntimeError(
            f"{name}() q tensor must be same dtype as the input tensor, got {q.dtype}"
        )
    if isinstance(q, Tensor) and q.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor, got {q.ndim} dimensions")
    levels = q if isinstance(q, Tensor) else wrap(B.full((), q, input._array.dtype), place)
    if not all(0 <= level <= 1 for level in shapes.reshape(lowest(levels), (-1,)).tolist()):
        got = "q values must be in the range [0, 1]"
        if not isinstance(q, Tensor):
            got = f"q must be in the range [0, 1] but got {q}"
        raise RuntimeError(f"{name}() {got}")
    ndim = input.ndim
    axis = 0 if dim is None else normalize_dim(dim, ndim, name)
    rows = input
    if ndim != 1 and (dim is None or not ndim):
        rows = shapes.reshape(input, (-1,))
    elif axis != ndim - 1:
        rows = shapes.movedim(input, axis, -1)
    ordered = sort(rows, -1).values
    position = _positions(B, rows, levels, ignore_nan)
    fixed = position.detach()
    low = OPS["floor"](fixed)
    if interpolation == "lower":
        out = _pick(ordered, low)
    elif interpolation == "higher":
        out = _pick(ordered, OPS["ceil"](fixed))
    elif interpolation == "nearest":
        out = _pick(ordered, OPS["round"](fixed))
    else:
        weight = 0.5 if interpolation == "midpoint" else OPS["sub"](position, low)
        first, second = _pick(ordered, low), _pick(ordered, OPS["ceil"](fixed))
        out = lerp(first, second, weight)
    # The last dimension counts the levels: it goes to the front, or away for a number.
    if keepdim and ndim:
        shape = out._array.shape
        reduced = (
            (1,) * ndim + shape[-1:]
            if dim is None
            else (*shape[:axis], 1, *shape[axis:-1], shape[-1])
        )
        out = shapes.reshape(out, reduced)
    return on_its_own(shapes.movedim(out, -1, 0) if levels.ndim else shapes.squeeze(out, -1))


def _positions(B: Any, rows: Tensor, levels: Tensor, ignore_nan: bool) -> Tensor:
    """The position of each level in each sorted row, as a float; that of a NaN if it counts."""
    data = rows._array
    missing = B.isnan(data)
    valid = B.sum(B.cast(B.logical_not(missing), data.dtype), (data.ndim - 1,), True)
    if not ignore_nan:
        valid = B.full(valid.shape, data.shape[-1], data.dtype)
    last = wrap(B.maximum(B.sub(valid, 1), 0), rows._device)
    position = OPS["mul"](last, shapes.reshape(levels, (-1,)))
    if ignore_nan:
        return position
    spoiled = wrap(B.any(missing, (data.ndim - 1,), True), rows._device)
    return OPS["where"](spoiled, last, position)


def _pick(ordered: Tensor, position: Tensor) -> Tensor:
    index = OPS["cast"](position, int64.array)
    return OPS["gather"](ordered, index, ordered.ndim - 1)
