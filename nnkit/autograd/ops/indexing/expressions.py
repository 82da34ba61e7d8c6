"""Reading and writing with index expressions: ``x[...]`` and ``x[...] = value``.

What an index means is worked out below the door (`nnkit.backend.index`), with torch's rules:
integers, slices and None give a view, integer tensors and masks a copy.
"""

from __future__ import annotations

import math
import operator
from typing import Any

from nnkit.autograd.arguments.dims import broadcasts, check_tensor, expanded_shape, normalize_dim
from nnkit.autograd.arguments.overriding import ENTERED, NOBODY, PLAIN, ask
from nnkit.autograd.arguments.sizes import integer
from nnkit.autograd.engine.saved import index_arrays
from nnkit.autograd.op.public import METHODS, attach, public
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.op.rule import check_source, copied_without_history, real_gradient, rule
from nnkit.autograd.op.single import seen
from nnkit.autograd.ops.creation.conversion import clone, converted
from nnkit.autograd.ops.shape import reshaping as shapes
from nnkit.autograd.surface.limits import fitting
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.autograd.views.history import is_unseen, wants_history, write, wrote
from nnkit.autograd.views.overlap import check_apart, check_expanded, shares_memory
from nnkit.backend.dtype import FLOATING, INTEGER, bool_, int64, python_number, uint8
from nnkit.backend.index import ALL, shape_mismatch, split_index
from nnkit.backend.memory import contiguous_format, has_expanded
from nnkit.backend.warning import warn


def _viewed_first(x: Tensor, index: Any) -> tuple[str, ...]:
    """x where the index has a basic part, of which torch makes a view first."""
    basic, advanced = split_index(index_arrays(index), x._data.shape)
    return () if advanced is None or _is_whole(basic, x._data.shape) else ("x",)


def _only_inserts(index: Any) -> bool:
    """Whether a basic index that keeps all elements selects nothing: it inserts dimensions."""
    items = index if isinstance(index, tuple) else (index,)
    return all(i is None or i is ... or (type(i) is slice and i.step in (None, 1)) for i in items)


def _reads(node: str) -> Any:
    """`getitem` under one of the names that torch has for its nodes."""
    return rule(
        "getitem", node=node, view=True, apart=_viewed_first,
        x=lambda B, g, index, x_shape: (
            g if index is ... else B.getitem_adjoint(g, index, x_shape)
        ),
    )  # fmt: skip


_select = _reads("SelectBackward0")
_slice = _reads("SliceBackward0")
_unsqueeze = rule(
    "getitem", node="UnsqueezeBackward0", view=True,
    x=lambda B, g, index, x_shape: (
        B.reshape(g, x_shape)
        if math.prod(g.shape) == math.prod(x_shape) and _only_inserts(index)
        else B.getitem_adjoint(g, index, x_shape)
    ),
)  # fmt: skip
_alias = rule("getitem", node="AliasBackward0", view=True, x=lambda B, g: g)
_index = _reads("IndexBackward0")
_getitem_adjoint = rule("getitem_adjoint", y=lambda B, g, index: B.getitem(g, index))


def _index_put_to_input(B: Any, g: Any, index: Any, accumulate: bool) -> Any:
    if accumulate:
        return g
    return B.index_put(g, B.zeros_like(B.getitem(g, index)), index, False)


_index_put = rule(
    "index_put", alone="recorded", broadcasts=True,
    x=_index_put_to_input, value=lambda B, g, index: B.getitem(g, index),
)  # fmt: skip
_slice_scatter = rule(
    "slice_scatter",
    alone="written",
    apart=copied_without_history,
    x=lambda B, g, index: B.slice_scatter(g, B.zeros_like(B.getitem(g, index)), index),
    y=lambda B, g, index: B.getitem(g, index),
)

# From what the user writes to what the op takes


def _normal_item(item: Any, device: Any) -> Any:
    if item.__class__ is int or item is None or item is Ellipsis or item.__class__ is bool:
        return item
    if isinstance(item, Tensor):
        dtype = item._data.dtype
        if dtype.kind == "i" and not item._data.ndim:
            return item._device.backend.item(item._data)
        if dtype is uint8.array and item._data.ndim:
            warn("indexing with a uint8 mask is deprecated: use a bool one")
        return item
    if item.__class__ is slice:
        start, stop = item.start, item.stop
        if (start is None or start.__class__ is int) and (stop is None or stop.__class__ is int):
            if item.step is None:
                return item
        return slice(_bound(item.start), _bound(item.stop), _bound(item.step))
    if isinstance(item, (list, tuple, range)):
        return _index_tensor(item, device)
    if isinstance(item, str):
        raise TypeError("an index must not be a str")
    try:
        return operator.index(item)
    except TypeError:
        return item  # an array, or what the op refuses


def _bound(value: Any) -> Any:
    try:
        return None if value is None else operator.index(value)
    except TypeError:
        raise TypeError(
            "slice indices must be integers or None or have an __index__ method, "
            f"got {type(value).__name__}"
        ) from None


def _index_tensor(items: Any, device: Any) -> Any:
    """A (nested) sequence of ints, bools or Tensors as an index tensor."""
    B = device.backend
    plain = _plain(items)
    first: Any = plain
    while isinstance(first, list):
        first = first[0] if first else 0
    if isinstance(first, str):
        raise TypeError("an index must not contain str")
    try:
        array = B.array(plain, (bool_ if isinstance(first, bool) else int64).array)
    except OverflowError:
        raise ValueError(f"Overflow when unpacking long long: index {plain}") from None
    return wrap(array, device)


def _plain(item: Any) -> Any:
    if isinstance(item, (list, tuple, range)):
        return [_plain(i) for i in item]
    return item.tolist() if isinstance(item, Tensor) else item


def _normal_index(index: Any, device: Any) -> Any:
    """An index with Tensors for lists and ints for 0-dim Tensors, as the op takes it."""
    if index.__class__ is list and _means_tuple(index):
        warn(
            "a list of lists as an index is deprecated, and means the tuple of its items: write "
            "x[tuple(index)]"
        )
        index = tuple(index)
    if index.__class__ is tuple:
        return tuple([_normal_item(item, device) for item in index])
    return _normal_item(index, device)


def _means_tuple(items: list) -> bool:
    # torch's inheritance from old NumPy: a short list that holds more than numbers is a tuple.
    return len(items) < 32 and any(
        isinstance(i, (Tensor, list, tuple, slice)) or i is None or i is Ellipsis for i in items
    )


def getitem(self: Tensor, index: Any) -> Tensor:
    """``self[index]``: a view for ints, slices, None and Ellipsis, a copy for tensors and lists.

    Raises:
        IndexError: an index is out of bounds, a mask does not fit, too many indices.
        ValueError: a slice with a step that is not positive.

    Example:
        >>> import nnkit
        >>> x = nnkit.arange(6).reshape(2, 3)
        >>> x[1, ::2]
        tensor([3, 5])
        >>> x[x > 3]
        tensor([4, 5])
    """
    if self.__class__ not in PLAIN or index.__class__ not in PLAIN or ENTERED:
        answered = ask(getitem, (self, index))
        if answered is not NOBODY:
            return answered
    index = _normal_index(index, self._device)
    kind = index.__class__
    if kind is int:
        return _select(self, index)
    if kind is slice:
        return _slice(self, index)
    read = _alias
    for item in index if kind is tuple else (index,):
        if item is None:
            read = _unsqueeze
        elif item.__class__ is slice:
            read = _slice if item != ALL or read is _alias else read
        elif item is not Ellipsis:
            if item.__class__ is bool or hasattr(item, "dtype"):
                return _index(self, index)
            read = _select
    return read(self, index)


def as_subclass(self: Tensor, cls: type) -> Any:
    """A view of the whole tensor as an instance of a subclass of Tensor.

    Example:
        >>> import nnkit
        >>> class Named(nnkit.Tensor): ...
        >>> nnkit.ones(2).as_subclass(Named) + 1
        Named([2., 2.])
    """
    out = _alias(self, Ellipsis)
    out.__class__ = cls
    return out


def setitem(self: Tensor, index: Any, value: Any) -> None:
    """``self[index] = value``; the value is broadcast, and history follows the write.

    Raises:
        TypeError: the value is neither a Tensor nor a number.
        RuntimeError: its shape does not broadcast to the indexed part, or (tensor indices only)
            its dtype is not that of ``self``.
    """
    if self.__class__ not in PLAIN or value.__class__ not in PLAIN or ENTERED:
        if ask(setitem, (self, index, value)) is not NOBODY:
            return
    B = self._device.backend
    # By itself True is a new dimension, and nothing is looked at where False is.
    index = None if index is True else _normal_index(index, self._device)
    arrays = index_arrays(index)
    tensors = [
        i for i in (index if index.__class__ is tuple else (index,)) if isinstance(i, Tensor)
    ]
    inferred = isinstance(value, Tensor) and value.is_inference()
    if inferred and is_unseen((self, *tensors)):
        value = value.detach()
    value = _value_tensor(self, arrays, value)
    if not value._data.size:
        _check_nothing(B, self._data, arrays, value._data.shape)
    if index is False:
        return
    simple = value._device is self._device
    if simple and not (wants_history(self, (value, *tensors)) or shares_memory(self, value)):
        if has_expanded(self._data) and (place := _plain_part(B, self._data, arrays)) is not None:
            check_expanded("setitem", place)
        B.setitem_(self._data, _without_leading_ones(value)._data, arrays)
        written = self
        if self.is_inference():  # torch writes a view, which is not counted where this may be
            basic, _ = split_index(arrays, self._data.shape)
            written = self if _is_whole(basic, self._data.shape) else _slice(self, basic)
        wrote(written, "setitem")
        return
    basic, advanced = split_index(arrays, self._data.shape)
    target = self if _is_whole(basic, self._data.shape) else _slice(self, basic)
    if advanced is None:
        operation = "copy_"
        if not value._data.ndim and target._data.ndim:
            operation = "fill_"
            check_expanded(operation, target._data)
        if value._data.shape != target._data.shape:
            if inferred and not self.is_inference():  # torch makes a view, without history
                value = value.detach() if value.ndim else seen(value)
            value = _without_leading_ones(value)
            if target._data.size == 1 and operation == "copy_" and not value._data.ndim:
                check_apart(operation, target, value)  # expanded it has other strides, all zero
            value = shapes.expand(value, target._data.shape)
        write(target, operation, OPS["overwrite"], value)
    else:
        given = {id(i._data): i for i in tensors}
        part = tuple([_part(given.get(id(i), i), self._device) for i in advanced])
        operation = "masked_fill_" if _is_fill(advanced, value) else "index_put_"
        value = _without_leading_ones(value)
        write(target, operation, _put, value, part, overlapping=_put_overlapping)


def _check_nothing(B: Any, array: Any, index: Any, shape: tuple) -> None:
    """RuntimeError where a value without elements does not fit: NumPy does not look at it."""
    target = (0, *array.shape) if index is False else B.getitem(array, index).shape
    while len(shape) > len(target) and shape[0] == 1:
        shape = shape[1:]
    if not broadcasts(shape, target):
        raise shape_mismatch(shape, target)


def _is_whole(basic: tuple, shape: tuple) -> bool:
    """Whether a basic index, which ends in an Ellipsis, leaves all as it is, as torch sees it."""
    for item, size in zip(basic[:-1], shape, strict=False):
        if item.__class__ is not slice or item.start or (item.step or 1) != 1:
            return False
        if item.stop is not None and item.stop < size:
            return False
    return len(basic) <= len(shape) + 1


def _part(item: Any, device: Any) -> Any:
    return _index_tensor(item, device) if item.__class__ is list else item


def _value_tensor(self: Tensor, index: Any, value: Any) -> Tensor:
    B, dtype = self._device.backend, self.dtype
    if isinstance(value, Tensor):
        if value._device.home is not self._device.home:
            value = _moved(self, value)
        if value._data.dtype is self._data.dtype:
            return value
        advanced = split_index(index, self._data.shape)[1]
        if advanced is not None and not _is_fill(advanced, value):
            raise RuntimeError(
                "Index put requires the source and destination dtypes match, got "
                f"{dtype} for the destination and {value.dtype} for the source."
            )
        return OPS["cast"](value, self._data.dtype)
    value = python_number(value)
    if not isinstance(value, (int, float, complex)):
        raise TypeError(
            f"can't assign a {type(value).__name__} to a {dtype} tensor: expected a Tensor or a "
            "number"
        )
    if dtype.category < FLOATING or isinstance(value, complex):
        value = fitting("setitem", value, dtype)
    return wrap(B.full((), value, self._data.dtype), self._device)


def _is_fill(advanced: tuple, value: Tensor) -> bool:
    """Whether one number is written at one mask: torch does that with `masked_fill_`, which casts
    it, and which may find it in the memory that is written."""
    arrays = [i for i in advanced if i is not ALL]
    if value._data.size != 1 or len(arrays) != 1 or isinstance(arrays[0], list):
        return False
    return arrays[0].dtype == bool_.array


def _moved(self: Tensor, value: Tensor) -> Tensor:
    if value.ndim:
        raise RuntimeError(
            f"setitem(): expected the value on {self._device}, but it is on {value._device}"
        )
    return METHODS["to"](value, self._device)


def _without_leading_ones(value: Tensor) -> Tensor:
    shape = value._data.shape
    if not shape or shape[0] != 1:
        return value
    first = next((d for d, n in enumerate(shape) if n != 1), len(shape))
    return shapes.reshape(value, shape[first:])


def _plain_part(B: Any, array: Any, index: Any) -> Any:
    """The view of an array that a basic index names; None for an index of another kind."""
    basic, advanced = split_index(index, array.shape)
    return B.getitem(array, basic) if advanced is None else None


def _put_overlapping(B: Any, x: Any, value: Tensor, index: tuple, accumulate: bool = False) -> Any:
    return B.index_put_(x, value._data, index_arrays(index), accumulate)


def _put(before: Tensor, value: Tensor, index: tuple) -> Tensor:
    return _index_put(before, value, index, False)


def _index_put_in_place(
    self: Tensor, indices: Any, values: Tensor, accumulate: bool = False
) -> Tensor:
    fills = not accumulate and _is_fill(index_arrays(_index_of(indices)), values)
    operation = "masked_fill_" if fills else "index_put_"
    put = lambda B, x, indices, values, accumulate: _put_overlapping(
        B, x, values, _index_of(indices), accumulate
    )
    return write(self, operation, index_put, indices, values, accumulate, overlapping=put)


def _index_of(indices: Any) -> tuple:
    if not isinstance(indices, (tuple, list)):
        got = type(indices).__name__
        raise TypeError(f"index_put(): argument 'indices' must be tuple of Tensors, not {got}")
    for position, item in enumerate(indices):
        if not isinstance(item, Tensor):
            got = type(item).__name__
            raise TypeError(
                f"index_put(): expected Tensor as element {position} in argument 'indices', "
                f"but got {got}"
            )
    return tuple(indices)


@public(name="index_put", in_place=_index_put_in_place)
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with ``input[indices] = values``, or ``+= values``, where repeated indices add up.

    Args:
        indices: a tuple of index tensors.
        values: of the dtype of ``input``, broadcast to the indexed shape; a single one that is
            written at a single mask may have any dtype.

    Raises:
        TypeError: ``indices`` is no tuple of Tensors.
        RuntimeError: the dtypes differ, or the shapes do not fit.

    Example:
        >>> import nnkit
        >>> i = nnkit.tensor([0, 0])
        >>> nnkit.zeros(2).index_put((i,), nnkit.tensor([1.0, 2.0]), accumulate=True)
        tensor([3., 0.])
    """
    check_tensor("index_put", input)
    check_tensor("index_put", values, "values")
    index = _index_of(indices)
    split_index(index_arrays(index), input._data.shape)  # does it fit at all
    if values._data.dtype != input._data.dtype:
        if accumulate or not _is_fill(index_arrays(index), values):
            raise RuntimeError(
                f"index_put(): values must have the dtype of input, got {values.dtype} for "
                f"{input.dtype}"
            )
        values = OPS["cast"](values, input._data.dtype)
    if values.ndim > 1 and values._data.shape[0] == 1 or not values._data.size:
        # NumPy would drop leading ones, and does not look at what is empty.
        place = input._device.backend.getitem(input._data, index_arrays(index)).shape
        expanded_shape("index_put", values._data.shape, place)
    return _index_put(input, values, index, accumulate)


# One dimension, by slices


@public
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """The slice at ``index`` of dimension ``dim``, which is dropped; a view.

    Example:
        >>> import nnkit
        >>> nnkit.select(nnkit.tensor([[1, 2], [3, 4]]), 1, 0)
        tensor([1, 3])
    """
    check_tensor("select", input)
    if not input.ndim:
        raise IndexError("select(): a 0-dim tensor has no dimension to select from")
    axis = normalize_dim(dim, input.ndim, "select")
    size = input._data.shape[axis]
    position = integer("select", "index", index)
    if not -size <= position < size:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input._data.shape)} "
            f"at dimension {axis}"
        )
    return _select(input, (ALL,) * axis + (position,))


@public
def narrow(input: Tensor, dim: int, start: Tensor | int, length: int) -> Tensor:
    """The ``length`` slices from ``start`` on along ``dim``; a view.

    Example:
        >>> import nnkit
        >>> nnkit.arange(5).narrow(0, 1, 3)
        tensor([1, 2, 3])
    """
    check_tensor("narrow", input)
    if not input.ndim:
        raise RuntimeError("narrow(): cannot be applied to a 0-dim tensor")
    if integer("narrow", "length", length) < 0:
        raise RuntimeError(f"narrow(): length must be non-negative, got {length}")
    axis = normalize_dim(dim, input.ndim, "narrow")
    size = input._data.shape[axis]
    if isinstance(start, Tensor) and (start.ndim or start.dtype.category != INTEGER):
        raise RuntimeError(f"narrow(): start must be a 0-dim integral Tensor, got {start.dtype}")
    first = integer("narrow", "start", start)
    if not -size <= first <= size:
        raise IndexError(
            f"start out of range (expected to be in range of [{-size}, {size}], but got {first})"
        )
    first += size if first < 0 else 0
    if first + length > size:
        raise RuntimeError(
            f"narrow(): start ({first}) + length ({length}) exceeds dimension size ({size})"
        )
    return _slice(input, (ALL,) * axis + (slice(first, first + length),))


@public(out=True)
def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """A copy of `narrow`.

    Example:
        >>> import nnkit
        >>> nnkit.narrow_copy(nnkit.arange(5), 0, 1, 2)
        tensor([1, 2])
    """
    return clone(narrow(input, dim, start, length), memory_format=contiguous_format)


@public
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy of ``input`` with ``src`` at ``index`` of dimension ``dim``.

    Example:
        >>> import nnkit
        >>> nnkit.select_scatter(nnkit.zeros(2, 2), nnkit.ones(2), dim=0, index=1)
        tensor([[0., 0.],
                [1., 1.]])
    """
    expected = select(input.detach(), dim, index)._data.shape
    axis = normalize_dim(dim, input.ndim, "select_scatter")
    return _scattered("select_scatter", input, src, (ALL,) * axis + (index,), expected)


@public
def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0,
    start: int | None = None, end: int | None = None, step: int = 1,
) -> Tensor:  # fmt: skip
    """A copy of ``input`` with ``src`` in ``start:end:step`` of dimension ``dim``.

    Example:
        >>> import nnkit
        >>> nnkit.slice_scatter(nnkit.zeros(4), nnkit.ones(2), dim=0, start=1, end=3)
        tensor([0., 1., 1., 0.])
    """
    check_tensor("slice_scatter", input)
    axis = normalize_dim(dim, input.ndim, "slice_scatter")
    index = (ALL,) * axis + (slice(start, end, step),)
    expected = input._device.backend.getitem(input._data, index).shape
    return _scattered("slice_scatter", input, src, index, expected)


def _scattered(name: str, input: Tensor, src: Any, index: tuple, expected: tuple) -> Tensor:
    check_tensor(name, src, "src")
    if src._data.shape != expected:
        raise RuntimeError(
            f"{name}(): expected src to have size {list(expected)}, got {list(src._data.shape)}"
        )
    check_source(name, input, src)
    return real_gradient(name, _slice_scatter(input, converted(src, input.dtype), index))


getitem.__name__, setitem.__name__ = "__getitem__", "__setitem__"
attach("as_subclass", as_subclass)
attach("__getitem__", getitem)
attach("__setitem__", setitem)
