"""Repetitions, reversals and grids: copies with the elements rearranged."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from nnkit.autograd.arguments.dims import (
    check_tensor,
    check_tensors,
    normalize_dim,
    normalize_dims,
    sizes_of,
)
from nnkit.autograd.arguments.sizes import MOST_ELEMENTS, check_integers, check_shape, integer
from nnkit.autograd.arguments.spatial import gradient_in_format
from nnkit.autograd.batch.examples import by_example
from nnkit.autograd.op.promotion import promoted_dtype
from nnkit.autograd.op.public import public
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.op.rule import guarded, rule
from nnkit.autograd.op.single import single
from nnkit.autograd.ops.creation import factories as creation
from nnkit.autograd.ops.creation.conversion import clone, composite_operands
from nnkit.autograd.ops.shape import joining
from nnkit.autograd.ops.shape import reshaping as shapes
from nnkit.autograd.tensor import Tensor, on_its_own, wrap
from nnkit.backend.dtype import int32, int64
from nnkit.backend.memory import by_rows, contiguous_format, strides_in_elements
from nnkit.backend.warning import warn_once


def _tile_adjoint(B: Any, g: Any, x_shape: tuple, repeats: tuple) -> Any:
    """Sum the copies: split every axis into (copy, element) and add over the copies."""
    new = len(repeats) - len(x_shape)
    split = (*repeats[:new], *[n for pair in zip(repeats[new:], x_shape) for n in pair])
    copies = (*range(new), *range(new, len(split), 2))
    return B.sum(B.reshape(g, split), copies, False)


def _moves(x: Any, axes: tuple) -> bool:
    """Whether flipping changes anything, where torch does not copy."""
    data, steps = x._array, strides_in_elements(x._array)
    return bool(data.size) and any(data.shape[axis] > 1 and steps[axis] for axis in axes)


_flip = rule(
    "flip", alone=lambda x, axes: None if _moves(x, axes) else "copied",
    x=lambda B, g, axes: B.flip(g, axes),
)  # fmt: skip
_roll = rule(
    "roll",  # as one sequence torch rolls a copy, unless the elements lie as one
    alone=lambda x, shifts, axes: None if axes or by_rows(x._array) else "recorded",
    x=lambda B, g, shifts, axes: B.roll(g, tuple(-n for n in shifts), axes),
)
_rot90 = rule(
    "rot90",
    alone=lambda x, k, a, b: None if _moves(x, ((), (b,), (a, b), (a,))[k]) else "recorded",
    x=lambda B, g, k, axis1, axis2: B.rot90(g, -k % 4, axis1, axis2),
)
_tile = rule("tile", node="RepeatBackward0", x=_tile_adjoint)
_pad = rule(
    "pad", node="ConstantPadNdBackward0",
    # Torch writes into a part of the result, what it cuts off is a view of what it is given.
    alone=lambda x, widths, value: None if any(min(ends) < 0 for ends in widths) else "written",
    x=lambda B, g, widths: gradient_in_format(
        B, B.pad(g, tuple((-a, -b) for a, b in widths), 0), g
    ),
)  # fmt: skip


# Repetitions and rearrangements


@public(namespace=False)
def repeat(input: Tensor, *times: Any, repeats: Sequence[int] | None = None) -> Tensor:
    """The tensor repeated that often along each dimension; more repeats than dimensions add new
    ones in front.

    Example:
        >>> import nnkit
        >>> nnkit.tensor([1, 2]).repeat(2, 2)
        tensor([[1, 2, 1, 2],
                [1, 2, 1, 2]])
    """
    counts = sizes_of("repeat", times, repeats, "repeats")
    if len(counts) < input.ndim:
        raise RuntimeError(
            f"repeat(): Number of dimensions of repeat dims ({len(counts)}) can not be smaller "
            f"than number of dimensions of tensor ({input.ndim})"
        )
    check_integers("repeat", "repeats", counts)
    if min(counts, default=0) < 0:
        raise RuntimeError(f"repeat(): repeats must not be negative, got {list(counts)}")
    padded = (1,) * (len(counts) - input.ndim) + input._array.shape
    check_shape("repeat", tuple(n * count for n, count in zip(padded, counts)))
    return _tile(input, counts)


@public(method=False)
def tile(input: Tensor, dims: Sequence[int]) -> Tensor:
    """`repeat` whose missing leading counts are 1; the method takes them one by one too.

    Example:
        >>> import nnkit
        >>> nnkit.tile(nnkit.tensor([1, 2]), (2, 2))
        tensor([[1, 2, 1, 2],
                [1, 2, 1, 2]])
    """
    check_tensor("tile", input)
    return _tiled(input, dims)


@public(name="tile", namespace=False)
def _tiled(input: Tensor, *times: Any, dims: Sequence[int] | None = None) -> Tensor:
    counts = sizes_of("tile", times, dims, "dims")
    return repeat(input, (1,) * (input.ndim - len(counts)) + counts)


@public(method=False)
def flip(input: Tensor, dims: Sequence[int]) -> Tensor:
    """A copy with the order along ``dims`` reversed; the method takes them one by one too.

    Example:
        >>> import nnkit
        >>> nnkit.flip(nnkit.tensor([[1, 2], [3, 4]]), dims=(0,))
        tensor([[3, 4],
                [1, 2]])
    """
    check_tensor("flip", input)
    return _flipped(input, dims)


@public(name="flip", namespace=False)
def _flipped(input: Tensor, *named: Any, dims: Sequence[int] | None = None) -> Tensor:
    given = sizes_of("flip", named, dims, "dims")
    axes = normalize_dims(given, input.ndim, "flip")
    return _flip(input, axes if input.ndim else ())


@public
def fliplr(input: Tensor) -> Tensor:
    """`flip` along dimension 1.

    Example:
        >>> import nnkit
        >>> nnkit.fliplr(nnkit.tensor([[1, 2], [3, 4]]))
        tensor([[2, 1],
                [4, 3]])
    """
    check_tensor("fliplr", input)
    if input.ndim < 2:
        raise RuntimeError(f"fliplr(): Input must be >= 2-d. Got {input.ndim} dimensions")
    return _flip(input, (1,))


@public
def flipud(input: Tensor) -> Tensor:
    """`flip` along dimension 0.

    Example:
        >>> import nnkit
        >>> nnkit.flipud(nnkit.tensor([[1, 2], [3, 4]]))
        tensor([[3, 4],
                [1, 2]])
    """
    check_tensor("flipud", input)
    if input.ndim < 1:
        raise RuntimeError(f"flipud(): Input must be >= 1-d. Got {input.ndim} dimensions")
    return _flip(input, (0,))


@public
def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Turn the plane of two dimensions by 90 degrees, ``k`` times, from the first to the second.

    Example:
        >>> import nnkit
        >>> nnkit.rot90(nnkit.tensor([[1, 2], [3, 4]]))
        tensor([[2, 4],
                [1, 3]])
    """
    check_tensor("rot90", input)
    if len(dims) != 2:
        raise RuntimeError(
            f"rot90(): expected total rotation dims == 2, but got dims = {len(dims)}"
        )
    if input.ndim < 2:
        raise RuntimeError(f"rot90(): expected total dims >= 2, but got total dims = {input.ndim}")
    a, b = (normalize_dim(d, input.ndim, "rot90") for d in dims)
    if a == b:
        raise RuntimeError(f"rot90(): expected rotation dims to be different, got {list(dims)}")
    return _rot90(input, integer("rot90", "k", k) % 4, a, b)


@public
def roll(
    input: Tensor, shifts: int | Sequence[int], dims: int | Sequence[int] | None = None
) -> Tensor:
    """Shift the elements along ``dims``; what leaves at one end enters at the other. Without
    dims the elements are shifted as one sequence.

    Example:
        >>> import nnkit
        >>> nnkit.roll(nnkit.arange(4), 1)
        tensor([3, 0, 1, 2])
    """
    check_tensor("roll", input)
    counts = shifts if isinstance(shifts, (tuple, list)) else (shifts,)
    counts = tuple(integer("roll", "shifts", n) for n in counts)
    axes = dims if isinstance(dims, (tuple, list)) else () if dims is None else (dims,)
    if not counts:
        raise RuntimeError("roll(): argument 'shifts' must not be empty")
    if len(counts) != len(axes) and (axes or len(counts) != 1):
        raise RuntimeError(
            f"roll(): shifts and dimensions must align. shifts: {len(counts)}, dims:{len(axes)}"
        )
    if not input._array.size:  # torch does not ask for the dimension of no elements
        viewed = input.is_inference() and not axes  # which has no history
        return (input.detach() if viewed else input).clone()
    if not axes:
        return _roll(input, counts, None)
    if not input.ndim:
        raise IndexError(f"roll(): dim {axes[0]} was given for a tensor without dimensions")
    return _roll(input, counts, tuple(normalize_dim(d, input.ndim, "roll") for d in axes))


@public(method=False)
def repeat_interleave(
    input: Tensor,
    repeats: Tensor | int = ...,  # pyright: ignore[reportArgumentType]
    dim: int | None = None,
    *,
    output_size: int | None = None,
) -> Tensor:
    """Every element (or slice along ``dim``) repeated so many times in place.

    Args:
        repeats: an int, or a tensor with a count for each; without it, which only the function may
            be, ``input`` holds the counts and the result says which index each output comes from.
        dim: without it the input is flattened first.
        output_size: the sum of the repeats, where it is known (it is checked).

    Example:
        >>> import nnkit
        >>> nnkit.tensor([1, 2]).repeat_interleave(nnkit.tensor([2, 1]))
        tensor([1, 1, 2])
    """
    name = "repeat_interleave"
    check_tensor(name, input)
    if repeats is ...:
        if dim is not None:
            raise TypeError(f"{name}() missing 1 required positional argument: 'repeats'")
        if input.ndim != 1:
            raise RuntimeError(f"{name}(): repeats must be a vector, got {input.ndim} dimensions")
        return _repeat_index(name, input, len(input)).to(input.dtype)
    if dim is None:
        input, dim = shapes.reshape(input, (-1,)), 0
    if not input.ndim:
        raise IndexError(f"{name}(): a 0-dim tensor has no dimension {dim}")
    axis = normalize_dim(dim, input.ndim, name)
    source = input
    size = source._array.shape[axis]
    if isinstance(repeats, Tensor):
        index = _repeat_index(name, repeats, size)
        length = len(index)
    else:
        repeats = integer(name, "repeats", repeats)
        if repeats < 0:
            raise RuntimeError(f"{name}(): Repeats must be non-negative, got {repeats}")
        length = size * repeats
        check_shape(name, (*source._array.shape[:axis], length, *source._array.shape[axis + 1 :]))
    if output_size is not None and output_size != length:
        raise RuntimeError(
            f"{name}(): output_size is {output_size}, but the repeats sum to {length}"
        )
    if isinstance(repeats, Tensor):
        return OPS["index_select"](source, index, axis)
    each = OPS["unsqueeze"](source, axis + 1)
    shape = (*source._array.shape[: axis + 1], repeats, *source._array.shape[axis + 1 :])
    copied = clone(OPS["expand"](each, shape), memory_format=contiguous_format)
    return shapes.flatten(copied, axis, axis + 1)


def _repeated(
    input: Tensor,
    repeats: Tensor | int,
    dim: int | None = None,
    *,
    output_size: int | None = None,
) -> Tensor:
    return repeat_interleave(input, repeats, dim, output_size=output_size)


_repeated.__name__ = _repeated.__qualname__ = "repeat_interleave"
public(_repeated, namespace=False)


@by_example
def _repeat_index(name: str, repeats: Tensor, size: int) -> Tensor:
    """0, 1, ..., size - 1, the i-th as often as the i-th of ``repeats`` (or the only one) says."""
    B, counts = repeats._device.backend, repeats._array
    if counts.ndim > 1 or (counts.ndim == 1 and counts.shape[0] not in (1, size)):
        raise RuntimeError(
            f"{name}(): repeats must have the same size as input along dim ({size}), or one "
            f"element, but got shape {list(counts.shape)}"
        )
    if counts.dtype not in (int32.array, int64.array):
        raise NotImplementedError(f"{name}(): repeats has to be int32 or int64, got {counts.dtype}")
    if counts.size:
        if B.item(B.amin(counts, None, False)) < 0:
            raise RuntimeError(f"{name}(): repeats can not be negative")
        total = B.item(B.amax(counts, None, False)) * size
        if total > MOST_ELEMENTS and counts.size > 1:
            total = sum(B.to_numpy(counts).tolist())  # exact
        check_shape(name, (total,))
    return wrap(B.repeat_index(counts, size), repeats._device)


# Grids and products


@public(method=False, in_python=True)
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """The coordinates of a grid: each 1-dim tensor expanded along all the others.

    Args:
        indexing: "ij" (dimension k follows tensor k), as by default, or "xy" (the first two
            exchanged).

    Example:
        >>> import nnkit
        >>> rows, columns = nnkit.meshgrid(nnkit.arange(2), nnkit.arange(3), indexing="ij")
        >>> rows
        tensor([[0, 0, 0],
                [1, 1, 1]])
    """
    given = _unpacked("meshgrid", tensors)
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(
            f'meshgrid(): indexing must be one of "xy" or "ij", but received: {indexing}'
        )
    for tensor in given:
        if tensor.ndim > 1:
            raise RuntimeError(
                f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got one of shape "
                f"{list(tensor.shape)}"
            )
        if tensor.dtype is not given[0].dtype:
            raise RuntimeError(
                f"meshgrid expects all tensors to have the same dtype, got {given[0].dtype} and "
                f"{tensor.dtype}"
            )
        if tensor._device != given[0]._device:
            raise RuntimeError(
                f"meshgrid expects all tensors to have the same device, got {given[0]._device} and "
                f"{tensor._device}"
            )
    if indexing is None:
        warn_once(
            "meshgrid(): it will be required to pass the indexing argument, which is 'ij' where it "
            "is left out"
        )
    sizes = [t._array.size for t in given]
    swap = indexing == "xy" and len(given) > 1
    order = [1, 0, *range(2, len(given))] if swap else list(range(len(given)))
    shape = tuple(sizes[k] for k in order)
    grids = []
    for k, tensor in enumerate(composite_operands(*given)):
        place = order.index(k)
        line = (1,) * place + (sizes[k],) + (1,) * (len(given) - place - 1)
        grids.append(OPS["expand"](OPS["reshape"](tensor, line), shape))
    return tuple(grids)


def _unpacked(name: str, tensors: tuple) -> tuple[Tensor, ...]:
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return check_tensors(name, tensors)


@public(method=False, in_python=True)
def cartesian_prod(*tensors: Any) -> Tensor:
    """All combinations of one element from each 1-dim tensor, one row each.

    Example:
        >>> import nnkit
        >>> nnkit.cartesian_prod(nnkit.tensor([1, 2]), nnkit.tensor([3, 4]))
        tensor([[1, 3],
                [1, 4],
                [2, 3],
                [2, 4]])
    """
    given = check_tensors("cartesian_prod", tensors)
    for tensor in given:
        if tensor.ndim != 1:
            raise RuntimeError(
                f"cartesian_prod(): Expect a 1D vector, but got shape {list(tensor.shape)}"
            )
    if len(given) == 1:
        return composite_operands(*given)[0]
    return joining.stack(
        [shapes.reshape(grid, (-1,)) for grid in meshgrid(*given, indexing="ij")], 1
    )


@public(method=False)
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All combinations of ``r`` elements of a 1-dim tensor, in order, one row each.

    Example:
        >>> import nnkit
        >>> nnkit.combinations(nnkit.tensor([1, 2, 3]))
        tensor([[1, 2],
                [1, 3],
                [2, 3]])
    """
    check_tensor("combinations", input)
    if input.ndim != 1:
        raise RuntimeError(f"combinations(): Expect a 1D vector, but got shape {list(input.shape)}")
    if integer("combinations", "r", r) < 0:
        raise RuntimeError(f"combinations(): Expect a non-negative number, but got {r}")
    pick = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = pick(range(len(input)), r) if r else ()
    index = input._device.backend.array([*itertools.chain.from_iterable(rows)], int64.array)
    shape = (index.size // r, r) if r else (0,)
    source = input.detach() if input.is_inference() else input  # torch takes views of it
    chosen = OPS["index_select"](source, wrap(index, input._device), 0)
    return guarded("combinations", on_its_own(shapes.reshape(chosen, shape)), input)


@public(method=False, in_python=True)
@single(node="BlockDiagBackward0")
def block_diag(*tensors: Any) -> Tensor:
    """A matrix with the given ones (vectors are rows) along its diagonal, zero elsewhere.

    Example:
        >>> import nnkit
        >>> nnkit.block_diag(nnkit.tensor([[1, 2]]), nnkit.tensor([[3]]))
        tensor([[1, 2, 0],
                [0, 0, 3]])
    """
    given = check_tensors("block_diag", tensors) if tensors else [creation.empty(1, 0)]
    dtype = promoted_dtype("block_diag", *given)
    matrices = [joining.atleast_2d(t).to(dtype) for t in given]
    for position, tensor in enumerate(given):
        if tensor.ndim > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input "
                f"{position} has {tensor.ndim} dimensions"
            )
    width = sum(m._array.shape[1] for m in matrices)
    rows, start = [], 0
    for matrix in matrices:
        stop = start + matrix._array.shape[1]
        rows.append(_pad(matrix, ((0, 0), (start, width - stop)), 0))
        start = stop
    return joining.cat(rows, 0)
