"""`Index`: an index expression, analysed by torch's rules for the shape that it indexes."""

from __future__ import annotations

import operator
from typing import Any

from nnkit.autograd.arguments.sizes import is_int64
from nnkit.autograd.batch.examples import is_batched
from nnkit.autograd.compiled import divide_basic
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.autograd.views.history import refresh
from nnkit.backend.dtype import bool_, int64
from nnkit.backend.index import ALL
from nnkit.backend.warning import warn

# The classes of items that need no conversion.
_PLAIN = frozenset((int, bool, type(None), type(...), slice))
_MASKS = "bu"  # the kinds of mask dtypes: bool, and uint8, which is deprecated


class Index:
    """An index expression, divided into a basic and an advanced part for one shape.

    Integers belong to the basic part, as in torch; so they do not move the dimensions of the
    advanced part to the front as they do in NumPy.

    Attributes:
        basic: integers, slices and None, which select a view. It ends in an Ellipsis, so that the
            result is always an array.
        advanced: what is applied to that view: Tensors of integers and masks, full slices, and
            lists for scalar bools (``[0]`` is true, ``[]`` is false). None if there is none.
        last: the class of the last item in the basic part, Ellipsis if it selects everything.

    Raises:
        IndexError: an integer or a mask does not fit, there are too many items, or an item has
            another type.
        ValueError: the step of a slice is not positive, or an integer does not fit in 64 bits.
        TypeError: an item is a str, or the bound of a slice is not an integer.
    """

    __slots__ = ("advanced", "basic", "last")

    basic: tuple
    advanced: tuple | None
    last: type

    def __init__(self, expression: Any, indexed: Tensor) -> None:
        shape = indexed._array.shape
        kind = expression.__class__
        if kind is tuple:
            divided = divide_basic(expression, shape, ALL)
            if divided is not None:
                self.basic, self.last = divided
                self.advanced = None
                return
        elif shape:  # one item, as most indices are
            if kind is int:
                is_simple = -shape[0] <= expression < shape[0]
            elif kind is slice:
                start, stop = expression.start, expression.stop
                is_simple = expression.step is None and (
                    (start is None or start.__class__ is int)
                    and (stop is None or stop.__class__ is int)
                )
            elif kind is Tensor:
                if expression._device is not indexed._device:
                    expression = _within_reach(expression, indexed)
                data = expression._array
                if (data.ndim and data.dtype.kind == "i") or (
                    data.shape == shape and data.dtype.kind == "b"
                ):
                    self.basic, self.advanced, self.last = (...,), (expression,), type(...)
                    return
                is_simple = False
            else:
                is_simple = expression is None
            if is_simple:
                self.basic, self.advanced, self.last = (expression, ...), None, kind
                return
        if kind is list and _means_tuple(expression):
            warn(
                "a list of lists as an index is deprecated, and means the tuple of its items: "
                "write x[tuple(index)]"
            )
            expression = tuple(expression)
        elif kind is str and 0 < len(expression) < 32:  # torch takes it for a list of lists
            expression = tuple(expression)
        several = expression.__class__ is tuple
        items = expression if several else (expression,)
        try:
            for place, item in enumerate(items):
                kind = item.__class__
                if kind in _PLAIN:
                    continue
                if not (kind is Tensor and item._array.ndim):
                    item = _normal(item, indexed._device)
                if isinstance(item, Tensor) and item._device is not indexed._device:
                    item = _within_reach(item, indexed)
                if item is not items[place]:
                    items = (*items[:place], item, *items[place + 1 :])
            self._divide(items, several, shape)
        except (IndexError, ValueError, TypeError) as error:
            wrong = _too_many(items, shape)
            if wrong is None and getattr(self, "last", type(...)) is not type(...):
                refresh(indexed)  # as in torch, which has applied the items before the wrong one
            raise wrong or error from None

    def _divide(self, items: tuple, several: bool, shape: tuple[int, ...]) -> None:
        """Set the attributes, given items of plain classes and Tensors with dimensions."""
        basic: list[Any] = []
        advanced: list[Any] = []
        last, dim, ndim, has_advanced, skipped = type(...), 0, len(shape), False, None
        for place, item in enumerate(items):
            kind = item.__class__
            self.last = last
            if kind is int:
                if not -shape[dim] <= item < shape[dim]:
                    raise _out_of_bounds(item, dim, shape[dim])
                basic.append(item)
                last = int
                dim += 1
            elif kind is slice:
                start, stop, step = item.start, item.stop, item.step
                size = shape[dim]
                if not (
                    (start is None or start.__class__ is int)
                    and (stop is None or stop.__class__ is int)
                    and (step is None or step.__class__ is int)
                ):
                    item = slice(_bound(start), _bound(stop), _bound(step))
                    start, stop, step = item.start, item.stop, item.step
                if not (step is None or step > 0):
                    raise ValueError(f"slice step must be greater than zero, got {step}")
                basic.append(item)
                advanced.append(ALL)
                is_whole = not start and (step or 1) == 1 and (stop is None or stop >= size)
                if not (is_whole and several):
                    last = slice
                dim += 1
            elif item is None or kind is bool:
                basic.append(None)
                advanced.append(ALL if item is None else [0] if item else [])
                has_advanced = has_advanced or kind is bool
                last = type(None)
            elif item is Ellipsis:
                skipped = _skipped(ndim, dim, items[place + 1 :], skipped)
                whole = [ALL] * min(skipped, ndim - dim)
                basic += whole
                advanced += whole
                dim += skipped
            else:
                self.last = kind
                data = item._array
                of = data.dtype.kind
                consumed = data.ndim if of in _MASKS else 1
                if dim + consumed > ndim or of not in "iub":
                    raise IndexError(
                        "tensors used as indices must be long, int, byte or bool tensors, "
                        f"got {data.dtype} at dimension {dim}"
                    )
                if of == "u":
                    warn("indexing with a uint8 mask is deprecated: use a bool one")
                if of != "i" and shape[dim : dim + consumed] != data.shape:
                    raise _wrong_mask(data.shape, dim, shape)
                basic += [ALL] * consumed
                advanced.append(item)
                has_advanced = True
                dim += consumed
        self.basic = (...,) if last is type(...) else (*basic, ...)
        self.advanced = tuple(advanced) if has_advanced else None
        self.last = last


def _means_tuple(items: list) -> bool:
    """Whether a list means the tuple of its items: torch inherited from old NumPy that a short list
    that holds more than numbers does."""
    return len(items) < 32 and any(
        isinstance(i, (Tensor, list, tuple, slice)) or i is None or i is Ellipsis for i in items
    )


def _normal(item: Any, device: Any) -> Any:
    """An item of another class, as an int, a bool or a Tensor with dimensions."""
    if isinstance(item, Tensor):
        data = item._array
        if data.ndim or is_batched(item):
            return item
        if data.dtype.kind == "i":
            return item._device.backend.item(data)
        if data.dtype.kind in _MASKS:
            return bool(item._device.backend.item(data))
    if isinstance(item, (list, tuple, range)):
        return index_tensor(item, device)
    if isinstance(item, (str, bytes)):
        raise TypeError(f"an index must not be a {type(item).__name__}")
    try:
        return operator.index(item)
    except TypeError:
        if hasattr(item, "__array_interface__") and hasattr(item, "__len__"):  # a NumPy array
            dtype = None if item.dtype.name in ("bool", "uint8") else int64.array
            return _normal(wrap(device.backend.array(item, dtype), device), device)
    raise IndexError(
        "only integers, slices, ellipsis, None and integer or bool tensors are valid "
        f"indices, got {getattr(item, 'dtype', type(item).__name__)}"
    )


def _within_reach(index: Tensor, indexed: Tensor) -> Tensor:
    """An index tensor whose array the backend of the indexed one can read.

    Raises:
        RuntimeError: it is neither on that device nor on the CPU.
    """
    place = indexed._device
    if index._device.type == place.type:
        return index
    if index._device.type != "cpu":
        raise RuntimeError(
            "indices should be either on cpu or on the same device as the indexed tensor "
            f"({place}), got one on {index._device}"
        )
    return index.to(str(place))


def _bound(value: Any) -> Any:
    try:
        return None if value is None else operator.index(value)
    except TypeError:
        raise TypeError(
            "slice indices must be integers or None or have an __index__ method, "
            f"got {type(value).__name__}"
        ) from None


def index_tensor(items: Any, device: Any) -> Tensor:
    """A (nested) sequence of ints, bools or Tensors as an index tensor."""
    plain = _plain(items)
    first: Any = plain
    while isinstance(first, list):
        first = first[0] if first else 0
    if isinstance(first, str):
        raise TypeError("an index must not contain str")
    try:
        dtype = bool_ if isinstance(first, bool) else int64
        return wrap(device.backend.array(plain, dtype.array), device)
    except OverflowError:
        raise ValueError(f"Overflow when unpacking long long: index {plain}") from None


def _plain(item: Any) -> Any:
    if isinstance(item, (list, tuple, range)):
        return [_plain(i) for i in item]
    if isinstance(item, Tensor) and item._array.dtype.kind not in "iub":
        raise TypeError(
            "only integer tensors can be converted to an index: got one of dtype "
            f"{item.dtype} inside a sequence"
        )
    return item.tolist() if isinstance(item, Tensor) else item


def _consumed(item: Any) -> int:
    """The number of dimensions that an item of an index consumes."""
    if item.__class__ in _PLAIN:
        return int(item.__class__ is int or item.__class__ is slice)
    is_mask = isinstance(item, Tensor) and item._array.dtype.kind in _MASKS
    return item._array.ndim if is_mask else 1


def _skipped(ndim: int, dim: int, rest: tuple, first: int | None) -> int:
    """The number of dimensions that an Ellipsis at ``dim`` stands for, in front of the items
    ``rest``.

    As in torch, each of several stands for as many as if it were the only one. ``first`` is the
    number of the first of them, which may put the others behind the last dimension.
    """
    consumed = sum(map(_consumed, rest))
    if first is None:
        skipped = ndim - dim - consumed
        fits = skipped >= 0
    else:
        skipped = first
        fits = dim + skipped + consumed <= ndim or all(item is Ellipsis for item in rest)
    if not fits:
        raise IndexError(f"too many indices for tensor of dimension {ndim}")
    return skipped


def _wrong_mask(mask: tuple[int, ...], dim: int, shape: tuple[int, ...]) -> IndexError:
    k = next(k for k, n in enumerate(mask) if shape[dim + k] != n)
    return IndexError(
        f"The shape of the mask {list(mask)} at index {k} does not match the shape of the indexed "
        f"tensor {list(shape)} at index {dim + k}"
    )


def _too_many(items: Any, shape: tuple[int, ...]) -> IndexError | None:
    """The error of more items than a tensor has dimensions, which comes before all others."""
    used = sum(map(_consumed, items))
    if used <= len(shape):
        return None
    if not shape:
        return IndexError(
            "invalid index of a 0-dim tensor, which has no dimension: use item() for its number"
        )
    return IndexError(f"too many indices for tensor of dimension {len(shape)}: got {used}")


def _out_of_bounds(number: int, dim: int, size: int) -> Exception:
    if not is_int64(number):
        return ValueError(f"Overflow when unpacking long long: index {number}")
    return IndexError(f"index {number} is out of bounds for dimension {dim} with size {size}")
