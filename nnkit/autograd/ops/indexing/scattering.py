"""Reading and writing at a position of its own for each element: gather, scatter, take, put."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.arguments.dims import broadcast_shape, check_tensor, normalize_dim
from nnkit.autograd.engine.node import Error
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.out import Out
from nnkit.autograd.op.promotion import check_dtype
from nnkit.autograd.op.public import public
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.op.rule import guarded, real_gradient, rule
from nnkit.autograd.op.single import single
from nnkit.autograd.ops.creation.memory_format import arranged, in_order_of
from nnkit.autograd.ops.shape import reshaping as shapes
from nnkit.autograd.surface.limits import fitting
from nnkit.autograd.tensor import Tensor, on_its_own, wrap
from nnkit.autograd.views.writes import write
from nnkit.backend.dtype import int64, python_number
from nnkit.backend.memory import order_of_result
from nnkit.backend.reproducibility import refuse
from nnkit.backend.warning import warn_once

_gather = rule(
    "gather",
    also={"x": ("x",)},
    x=lambda B, g, index, axis, x_shape: B.gather_adjoint(g, index, axis, x_shape),
)
rule("gather_adjoint", y=lambda B, g, index, axis: B.gather(g, index, axis))
_take = rule(
    "take",
    x=lambda B, g, x, index: in_order_of(B, B.take_adjoint(g, index, tuple(x.shape)), x),
)
rule("take_adjoint", y=lambda B, g, index: B.take(g, index))
_scatter = rule(
    "scatter", alone="copied", linear=True,
    x=lambda B, g, index, axis: B.scatter_fill(g, index, axis, 0),
    source=lambda B, g, index, axis: B.gather(g, index, axis),
)  # fmt: skip
_scatter_fill = rule(
    "scatter_fill", alone="copied", node="ScatterBackward1",
    x=lambda B, g, index, axis: B.scatter_fill(g, index, axis, 0),
)  # fmt: skip
_scatter_add = rule(
    "scatter_add",
    alone="copied",
    x=lambda B, g: g,
    source=lambda B, g, index, axis: B.gather(g, index, axis),
)


def _scatter_reduce_gradients(
    B: Any, g: Any, x: Any, index: Any, source: Any, out: Any, axis: int, reduce: str,
    include_self: bool,
) -> tuple:  # fmt: skip
    """The gradients of x and source; what index overwrites in x gets none without include_self."""

    def own(gradient: Any) -> Any:
        return gradient if include_self else B.scatter_fill(gradient, index, axis, 0)

    if reduce == "sum":
        return own(g), None, B.gather(g, index, axis)
    if reduce == "mean":
        count = B.scatter_add(own(B.ones_like(g)), index, B.ones_like(source), axis)
        share = B.div(g, B.maximum(count, B.ones_like(count)))
        return own(share), None, B.gather(share, index, axis)
    if reduce == "prod":
        to_x, to_source = _product_gradients(B, g, x, index, source, out, axis, include_self)
        return own(to_x), None, to_source
    # The maxima (minima) of one place share its gradient evenly; a NaN, equal to none, gets NaN.
    from_x = _indicator(B, B.eq(x, out), g)
    from_source = _indicator(B, B.eq(source, B.gather(out, index, axis)), source)
    ties = B.scatter_add(from_x, index, from_source, axis)
    share = B.div(g, ties)
    return own(B.mul(from_x, share)), None, B.mul(from_source, B.gather(share, index, axis))


def _indicator(B: Any, condition: Any, like: Any) -> Any:
    """1 where the condition holds, else 0, in the dtype of ``like``."""
    return B.where(condition, B.ones_like(like), B.zeros_like(like))


def _product_gradients(
    B: Any, g: Any, x: Any, index: Any, source: Any, out: Any, axis: int, include_self: bool
) -> tuple:
    """Each factor's gradient is the product of the others: what it is divided by is no zero, and
    the only zero of a place is left out of it."""

    def times(gradient: Any, x: Any, source: Any) -> Any:
        product = B.scatter_reduce(x, index, source, axis, "prod", include_self)
        return B.mul(gradient, product)

    def filled(values: Any, places: Any) -> Any:
        return B.where(places, B.ones_like(values), values)

    divisor = filled(x, B.eq(x, 0))
    to_x = B.div(times(g, divisor, source), divisor)
    zero = B.eq(source, 0)
    count = B.scatter_add(B.zeros_like(x), index, _indicator(B, zero, source), axis)
    single = B.logical_and(zero, B.eq(B.gather(count, index, axis), 1))
    alone = B.gather(times(g, x, filled(source, single)), index, axis)
    divided = B.div(B.gather(B.mul(g, out), index, axis), filled(source, zero))
    to_source = B.where(single, alone, divided)
    if isinstance(to_source, Tensor) and to_source._requires_grad and (count > 1).any():
        to_source._edge = Error(to_source._edge.edges, _ZEROS, to_source._device)
    return to_x, to_source


_ZEROS = (
    "scatter_reduce(), index_reduce(): Double backward is unsupported for src when >1 zeros in src "
    "are scattered to the same position in self"
)


_scatter_reduce = rule(
    "scatter_reduce", alone="copied", fixed=("index",), joint=_scatter_reduce_gradients
)


# Checks


def index_argument(name: str, input: Tensor, dim: int, index: Any) -> tuple[int, Tensor]:
    check_tensor(name, input)
    check_tensor(name, index, "index")
    if index.dtype.name not in ("int64", "int32"):
        raise RuntimeError(f"{name}(): expected dtype int32 or int64 for index, got {index.dtype}")
    return normalize_dim(dim, input.ndim, name), index


def _element_index(name: str, input: Tensor, dim: int, index: Any, source: Any = None) -> tuple:
    """Check an index that holds one position for each element."""
    if isinstance(index, Tensor) and not index._array.size:  # of any dtype
        index = OPS["cast"](index, int64.array)
    axis, index = index_argument(name, input, dim, index)
    if not index._array.size:
        return axis, index
    shape, wanted = input._array.shape or (1,), index._array.shape or (1,)
    if len(wanted) != len(shape):
        raise RuntimeError(
            f"{name}(): index tensor must have the same number of dimensions as input tensor, "
            f"got {len(wanted)} and {len(shape)}"
        )
    for d, n in enumerate(wanted):
        if d != axis and n > shape[d]:
            raise RuntimeError(
                f"{name}(): size does not match at dimension {d}: expected index {list(wanted)} "
                f"to be no larger than input {list(shape)} apart from dimension {axis}"
            )
    if source is not None:
        other = source._array.shape or (1,)
        if source.ndim and len(other) < len(wanted) and all(n <= m for n, m in zip(wanted, other)):
            raise IndexError(
                f"{name}(): src has no dimension {len(other)}, got {list(other)} for an index "
                f"{list(wanted)}"
            )
        if len(other) != len(wanted) or any(n > m for n, m in zip(wanted, other, strict=True)):
            raise RuntimeError(
                f"{name}(): expected index {list(wanted)} to be no larger than src {list(other)}"
            )
    return axis, index


def same_dtype(name: str, input: Tensor, source: Any, parameter: str) -> Tensor:
    check_tensor(name, source, parameter)
    if source._array.dtype != input._array.dtype:
        raise RuntimeError(
            f"{name}(): expected input and {parameter} to have the same dtype, got {input.dtype} "
            f"and {source.dtype}"
        )
    return source


# One position for each element


@public(out=Out(dtype="same"))
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """``out[i][j] = input[index[i][j]][j]`` for ``dim=0``, and so on for every dimension.

    Args:
        index: int64 (or int32), no larger than ``input`` except along ``dim``.
        sparse_grad: give a leaf a gradient of layout ``nnkit.sparse_coo``, which holds the elements
            that were read.

    Raises:
        RuntimeError: an index is out of bounds, or the shapes do not fit.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([[1, 2], [3, 4]])
        >>> x.gather(1, nnkit.tensor([[0], [1]]))
        tensor([[1],
                [4]])
    """
    axis, index = _element_index("gather", input, dim, index)
    if sparse_grad and MODE.enabled and input.requires_grad and input.is_leaf:
        from nnkit.autograd.sparse import gradients

        return gradients.gather(input, axis, index)
    if index.ndim != input.ndim:
        out = gather(shapes.reshape(input, (-1,)), 0, shapes.reshape(index, (-1,)))
        return on_its_own(shapes.reshape(out, index._array.shape))
    return _gather(input, index, axis)


def _fitted(input: Tensor, index: Tensor, source: Tensor | None = None) -> tuple:
    """The index and the part of ``source`` that it covers. An empty index may have any shape: it
    covers nothing, in as many dimensions as the input has."""
    if not index._array.size:
        shape = (0,) * max(input.ndim, 1)
        if source is not None:
            source = OPS["getitem"](shapes.reshape(source, (-1,)), (slice(0),))
            source = shapes.reshape(source, shape)
        return shapes.reshape(index, shape), source
    shape = index._array.shape
    if source is None or source._array.shape == shape:
        return index, source
    if not source.ndim:
        return index, shapes.reshape(source, shape)
    if len(shape) < source.ndim:  # a 0-dim index names the first element
        return index, shapes.reshape(OPS["getitem"](source, (slice(1),)), shape)
    return index, OPS["getitem"](source, tuple(slice(n) for n in shape))


def _checked(
    input: Tensor, dim: int, index: Tensor, src: Any, value: Any
) -> tuple[Tensor, Any, int]:
    """The index of `scatter`, its source, a Tensor or a number, and the axis."""
    src = python_number(value if src is ... else src)
    given = src if isinstance(src, Tensor) else None
    axis, index = _element_index("scatter", input, dim, index, given)
    if given is not None:
        same_dtype("scatter", input, given, "src")
    elif not isinstance(src, (int, float, complex)):
        raise TypeError(f"scatter(): argument 'src' must be Tensor, not {type(src).__name__}")
    index, given = _fitted(input, index, given)
    return index, src if given is None else given, axis


def _repeated(input: Tensor, index: Tensor, number: complex) -> Tensor:
    """A number, in the dtype of the input, for each position."""
    B = input._device.backend
    return wrap(B.full(index._array.shape, number, input._array.dtype), input._device)


def _scattered(
    input: Tensor, dim: int, index: Tensor, src: Any = ..., *, value: Any = ..., reduce: Any = ...
) -> tuple | None:
    """The arguments of the primitive `scatter_`; None where another one is asked for."""
    if reduce is not ...:
        return None
    index, src, axis = _checked(input, dim, index, src, value)
    if not isinstance(src, Tensor):
        src = _repeated(input, index, fitting("scatter", src, input.dtype))
    return index, src, axis


@public(in_place=True, prepare=_scattered, out=Out(dtype="same", checks_first=True))
def scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor | complex = ...,  # pyright: ignore[reportArgumentType]
    *,
    value: complex = ...,  # pyright: ignore[reportArgumentType]
    reduce: str = ...,  # pyright: ignore[reportArgumentType]
) -> Tensor:
    """A copy with ``out[index[i][j]][j] = src[i][j]`` for ``dim=0``, and so on.

    Args:
        src: a tensor at least as large as ``index``, or a number (also called ``value``).
        reduce: "add" or "multiply" combines with what is there (not differentiable to src).

    Raises:
        RuntimeError: an index is out of bounds, the shapes or the dtypes do not fit.

    Example:
        >>> import nnkit
        >>> nnkit.zeros(3).scatter(0, nnkit.tensor([0, 2]), 1.0)
        tensor([1., 0., 1.])
    """
    index, src, axis = _checked(input, dim, index, src, value)
    if reduce is not ...:
        if isinstance(src, Tensor):
            warn_once(
                "scatter(): the argument 'reduce' beside a Tensor src is deprecated: use "
                "scatter_reduce(), which knows more of them"
            )
        return _scatter_with(input, axis, index, src, reduce)
    if isinstance(src, Tensor):
        return _scatter(input, index, src, axis)
    return _scatter_fill(input, index, axis, fitting("scatter", src, input.dtype))


def _scatter_with(input: Tensor, axis: int, index: Tensor, src: Any, reduce: str) -> Tensor:
    if reduce not in ("add", "multiply"):
        raise RuntimeError(
            f"scatter(): reduce argument must be either add or multiply, got {reduce}"
        )
    if not isinstance(src, Tensor):
        src = _repeated(input, index, src)
    name = {"add": "sum", "multiply": "prod"}[reduce]
    return _scatter_reduce(input, index, src, axis, name, True)


def _scattered_sums(input: Tensor, dim: int, index: Tensor, src: Tensor) -> tuple:
    """The arguments of the primitive `scatter_add`, checked."""
    check_tensor("scatter_add", src, "src")
    axis, index = _element_index("scatter_add", input, dim, index, src)
    same_dtype("scatter_add", input, src, "src")
    return *_fitted(input, index, src), axis


@public(in_place=True, prepare=_scattered_sums, out=Out(dtype="same", checks_first=True))
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """A copy with ``out[index[i][j]][j] += src[i][j]`` for ``dim=0``; repeated indices add up.

    Example:
        >>> import nnkit
        >>> nnkit.scatter_add(nnkit.zeros(2), 0, nnkit.tensor([0, 0, 1]), nnkit.ones(3))
        tensor([2., 1.])
    """
    return _scatter_add(input, *_scattered_sums(input, dim, index, src))


REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")
SHORT = {"max": "amax", "min": "amin"}  # which torch takes as well
UNDEFINED = {"mean": ("bool",), "amax": ("complex",), "amin": ("complex",)}


def check_reduce(name: str, input: Any, reduce: str, allowed: tuple[str, ...]) -> None:
    """Refuse an unknown reduction."""
    check_tensor(name, input)
    if reduce not in allowed:
        raise RuntimeError(
            f"{name}(): reduce argument must be either {', '.join(allowed)}, got {reduce}"
        )


def _scatter_reduce_in_place(self: Tensor, *arguments: Any, **options: Any) -> Tensor:
    return write(self, "scatter_reduce_", _scatter_reduced, *arguments, **options)


@public(in_place=_scatter_reduce_in_place, out=Out(dtype="same", checks_first=True))
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """A copy in which all ``src`` elements with one target are reduced into it.

    Args:
        reduce: "sum", "prod", "mean", "amax" (also "max") or "amin" (also "min").
        include_self: whether what ``input`` has there takes part.

    Example:
        >>> import nnkit
        >>> i, x = nnkit.tensor([0, 0, 1]), nnkit.tensor([1.0, 5.0, 2.0])
        >>> nnkit.zeros(2).scatter_reduce(0, i, x, "mean", include_self=False)
        tensor([3., 2.])
    """
    out = _scatter_reduced(input, dim, index, src, reduce, include_self=include_self)
    return real_gradient("scatter_reduce", out)


def _scatter_reduced(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    reduce = SHORT.get(reduce, reduce)
    check_reduce("scatter_reduce", input, reduce, REDUCTIONS)
    check_tensor("scatter_reduce", src, "src")
    axis, index = _element_index("scatter_reduce", input, dim, index, src)
    same_dtype("scatter_reduce", input, src, "src")
    if index._array.size or reduce == "mean":
        check_dtype("scatter_reduce", input.dtype, UNDEFINED.get(reduce, ()))
    return _scatter_reduce(input, *_fitted(input, index, src), axis, reduce, include_self)


@public(out=Out(dtype="same"))
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """`gather` whose input and indices are broadcast except along ``dim``; without ``dim`` both
    are flattened. Goes with `argsort` and `argmax`.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([[30, 10], [20, 40]])
        >>> nnkit.take_along_dim(x, x.argsort(1), 1)
        tensor([[10, 30],
                [20, 40]])
    """
    check_tensor("take_along_dim", input)
    check_tensor("take_along_dim", indices, "indices")
    if indices.dtype is not int64 and (dim is not None or indices.dtype.name != "int32"):
        raise RuntimeError(
            f"take_along_dim(): dtype of indices should be Long but got {indices.dtype}"
        )
    if dim is None:
        return gather(shapes.reshape(input, (-1,)), 0, shapes.reshape(indices, (-1,)))
    if input.ndim != indices.ndim:
        raise RuntimeError(
            f"take_along_dim(): input and indices should have the same number of dimensions, but "
            f"got {input.ndim} for input, and {indices.ndim} for indices"
        )
    axis = normalize_dim(dim, input.ndim, "take_along_dim")
    along = lambda shape, n: (*shape[:axis], n, *shape[axis + 1 :])  # noqa: E731
    one, other = (along(t._array.shape, 1) for t in (input, indices))
    common = one if one == other else broadcast_shape("take_along_dim", [one, other])
    size, count = input._array.shape[axis], indices._array.shape[axis]
    if size:  # modulo the size, as torch does here and nowhere else
        indices = OPS["remainder"](indices, size)
    source = OPS["expand"](input, along(common, size))
    return gather(source, axis, OPS["expand"](indices, along(common, count)))


# Positions in the flattened tensor


def _check_flat(name: str, input: Tensor, index: Any) -> None:
    check_tensor(name, input)
    check_tensor(name, index, "index")
    if index.dtype is not int64:
        raise RuntimeError(f"{name}(): expected a long tensor for index, got {index.dtype}")


_WRONG_TAKEN = (
    "take(): self and out expected to have the same dtype, but got self.dtype = {wanted} and "
    "out.dtype = {got}"
)


def _like_index(out: Any, result: Any, arguments: tuple) -> tuple[int, ...] | None:
    return order_of_result(result.shape, (arguments[1]._array,))


@public(out=Out(dtype="same", words=_WRONG_TAKEN, checks_first=True, axes=_like_index))
def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements at positions ``index`` of the flattened input, in the shape of ``index``.

    Raises:
        IndexError: a position is out of range.

    Example:
        >>> import nnkit
        >>> nnkit.take(nnkit.tensor([[10, 20], [30, 40]]), nnkit.tensor([3, 0]))
        tensor([40, 10])
    """
    _check_flat("take", input, index)
    return _take(input, index)


def _put_positions(input: Tensor, index: Tensor, source: Tensor, accumulate: bool) -> tuple:
    """The positions that a put names in the flattened input, and their elements, flattened too."""
    if not accumulate:
        refuse("put_")
    same_dtype("put", input, source, "source")
    _check_flat("put", input, index)
    B = index._device.backend
    flat = B.wrap_index(index._array, input._array.size)
    if source._array.size != index._array.size:
        raise IndexError(
            f"put(): expected source and index to have the same number of elements, got "
            f"{source._array.size} and {index._array.size}"
        )
    flat = wrap(B.reshape(flat, (flat.size,)), index._device)
    return flat, shapes.reshape(source, (-1,))


def _put_in_place(self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    def into(target: Any, index: Any, source: Any) -> None:
        B = self._device.backend
        flat = B.reshape(target, (target.size,))
        if accumulate:
            B.index_add_(flat, index, source, 0, 1)
        else:
            B.scatter_(flat, index, source, 0)

    def prepare(*operands: Any) -> tuple | None:
        # Reshaped, an array with gaps or in another order would be a copy.
        return _put_positions(*operands) if self.is_contiguous() else None

    return write(self, "put_", put, index, source, accumulate, kernel=into, prepare=prepare)


@public(in_place=_put_in_place)
@single(alone="recorded", node="PutBackward0")
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with ``source`` written (or added) at positions ``index`` of the flattened input.

    Example:
        >>> import nnkit
        >>> nnkit.put(nnkit.zeros(2, 2), nnkit.tensor([3, 0]), nnkit.tensor([5.0, 6.0]))
        tensor([[6., 0.],
                [0., 5.]])
    """
    flat, values = _put_positions(input, index, source, accumulate)
    positions = shapes.reshape(input, (-1,)), flat, values, 0
    out = OPS["index_add"](*positions, 1) if accumulate else _scatter(*positions)
    out = arranged(on_its_own(shapes.reshape(out, input._array.shape)), input)
    return guarded("put", out, index, *([source] if source.requires_grad else []))
