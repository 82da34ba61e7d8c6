"""Reading and writing with index expressions: ``x[...]`` and ``x[...] = value``.

An `Index` divides the expression into two parts. The basic part (integers, slices, None) is done by
the primitive ``getitem``, which gives a view. The advanced part (integer tensors, masks) is done by
``index``, which copies elements of that view. So the graph has two nodes, as in torch.
"""

from __future__ import annotations

import math
from typing import Any

from nnkit.autograd.arguments.dims import broadcasts, check_tensor, expanded_shape
from nnkit.autograd.arguments.overriding import ENTERED, NOBODY, PLAIN, ask
from nnkit.autograd.arguments.sizes import is_int64
from nnkit.autograd.batch.examples import beside, join_index
from nnkit.autograd.forward.dual import array_of, positions_on
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.promotion import (
    ASKING,
    asking_among,
    beside_asking,
    kernel_asked,
)
from nnkit.autograd.op.public import METHODS, attach, public
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.op.rule import rule
from nnkit.autograd.op.single import seen
from nnkit.autograd.ops.creation.conversion import fill_with
from nnkit.autograd.ops.indexing.index import Index
from nnkit.autograd.ops.indexing.masking import check_fill, fill_at_once
from nnkit.autograd.ops.shape import reshaping as shapes
from nnkit.autograd.surface.limits import FLOAT32_MAX, fitting
from nnkit.autograd.tensor import Tensor, recast, wrap
from nnkit.autograd.views.counters import Uncounted
from nnkit.autograd.views.overlap import (
    check_apart,
    check_expanded,
    check_positions,
    shares_memory,
    warn_expanded,
)
from nnkit.autograd.views.writes import is_unseen, wants_history, write, wrote
from nnkit.backend.dtype import FLOATING, bool_, python_number
from nnkit.backend.index import ALL, shape_mismatch, shape_of_indexed
from nnkit.backend.memory import has_expanded, has_same_elements, steps_of


def _inserts(index: tuple) -> bool:
    """Whether a basic index, which keeps all elements, only inserts dimensions."""
    return all(i is None or i is ... or (type(i) is slice and i.step in (None, 1)) for i in index)


def _to_viewed(B: Any, g: Any, index: tuple, x_shape: tuple) -> Any:
    if index == (...,):
        return g
    if math.prod(g.shape) == math.prod(x_shape) and None in index and _inserts(index):
        return B.reshape(g, x_shape)
    return B.getitem_adjoint(g, index, x_shape)


# The ops for the basic part, by the class of its last item: they differ in torch's name of the
# node.
VIEWS = {
    last: rule("getitem", node=f"{node}Backward0", view=True, x=_to_viewed)
    for last, node in {
        type(...): "Alias", type(None): "Unsqueeze", int: "Select", slice: "Slice",
    }.items()
}  # fmt: skip
rule("getitem_adjoint", y=lambda B, g, index: B.getitem(g, index))

_index = rule(
    "index",
    x=lambda B, g, positions, x_shape: B.index_adjoint(g, positions, x_shape),
)
rule("index_adjoint", y=lambda B, g, positions: B.index(g, positions))


def _index_put_to_input(B: Any, g: Any, positions: tuple, accumulate: bool) -> Any:
    if accumulate:
        return g
    return B.index_put(g, B.zeros_like(B.index(g, positions)), positions, False)


_index_put = rule(
    "index_put",
    alone="recorded",
    broadcasts=True,
    linear=True,
    x=_index_put_to_input,
    value=lambda B, g, positions: B.index(g, positions),
)


def _is_plain_index(index: Any) -> bool:
    """Whether neither an index nor its items can override functions (``__torch_function__``)."""
    if index.__class__ in (tuple, list):
        return PLAIN.issuperset(map(type, index))
    return index.__class__ in PLAIN


def getitem(self: Tensor, index: Any) -> Tensor:
    """``self[index]``: a view for ints, slices, None and Ellipsis; a copy for tensors and lists.

    Raises:
        IndexError: an index is out of bounds, a mask has the wrong shape, or there are too many
            indices.
        ValueError: the step of a slice is not positive.

    Example:
        >>> import nnkit
        >>> x = nnkit.arange(6).reshape(2, 3)
        >>> x[1, ::2]
        tensor([3, 5])
        >>> x[x > 3]
        tensor([4, 5])
    """
    if self.__class__ not in PLAIN or not _is_plain_index(index) or ENTERED:
        answered = ask(getitem, (self, index))
        if answered is not NOBODY:
            return answered
    if MODE.batches:
        self = beside(self, index)
    found = Index(index, self)
    if found.advanced is None:
        return VIEWS[found.last](self, found.basic)
    view = self if found.last is type(...) else VIEWS[found.last](self, found.basic)
    return _index(beside_asking(view, found.advanced) if ASKING else view, found.advanced)


def as_subclass(self: Tensor, cls: type) -> Any:
    """A view of the whole tensor as an instance of a subclass of Tensor.

    Example:
        >>> import nnkit
        >>> class Named(nnkit.Tensor): ...
        >>> nnkit.ones(2).as_subclass(Named) + 1
        Named([2., 2.])
    """
    if not issubclass(cls, Tensor):
        raise TypeError(
            f"as_subclass(): Creating a Tensor subclass from a class that does not inherit from "
            f"Tensor is not possible: got {cls.__name__}"
        )
    return recast(VIEWS[type(...)](self, (Ellipsis,)), cls)


def setitem(self: Tensor, index: Any, value: Any) -> None:
    """``self[index] = value``: the value is broadcast, and autograd records the write.

    Raises:
        TypeError: the value is neither a Tensor nor a number.
        RuntimeError: its shape does not broadcast to the indexed part, or (with tensor indices)
            its dtype is not that of ``self``.

    Example:
        >>> import nnkit
        >>> x = nnkit.zeros(2, 3)
        >>> x[1, 1:] = nnkit.tensor([5.0, 6.0])
        >>> x[x == 0] = -1
        >>> x
        tensor([[-1., -1., -1.],
                [-1.,  5.,  6.]])
    """
    plain = self.__class__ in PLAIN and value.__class__ in PLAIN
    if not plain or not _is_plain_index(index) or ENTERED:
        if ask(setitem, (self, index, value)) is not NOBODY:
            return
    if MODE.batches:
        join_index(self, index)
    elif index.__class__ is Tensor and index._array.shape == self._array.shape:
        if fill_at_once(self, index, value) is not None:
            return
    given = value
    is_tensor = isinstance(value, Tensor)
    if not is_tensor:
        value = _number_tensor(self, value)
    if index is False:
        return
    if index is True:
        index = None
    elif index.__class__ is slice:
        index = (index,)  # so that a full slice selects the tensor itself, as in torch
    found = Index(index, self)
    advanced = found.advanced
    tensors = [] if advanced is None else [i for i in advanced if isinstance(i, Tensor)]
    inferred = is_tensor and given._is_inference()
    if inferred and given is not self and is_unseen((self, *tensors)):
        value = value.detach()
    if value._device is not self._device:
        if value._device.home is not self._device.home and value._device != self._device:
            value = _moved(self, advanced, value)
    fills = advanced is not None and _is_fill(advanced, value)
    if advanced is not None and value._array.dtype is not self._array.dtype:
        if not fills:
            place = self._device.backend.getitem(self._array, found.basic)
            raise _wrong_dtype(self, place, advanced, value)
        check_fill("masked_fill_", self, value)
        value = OPS["cast"](value, self._array.dtype)  # a basic index needs no cast: copying casts
    shared = is_tensor and shares_memory(self, given)
    is_there = shared and _is_part(self, found, given)
    if _is_plain(self, shared and not is_there, value, tensors):
        _write_plainly(self, found, tensors, None if is_there else value)
    elif advanced is None:
        _write_part(_view(self, found), value, inferred and not self._is_inference())
    else:
        _write_positions(_view(self, found), advanced, tensors, value, fills)


def _is_part(self: Tensor, index: Index, value: Tensor) -> bool:
    """Whether a value is the indexed part itself, as ``x[i] += y`` assigns it once it is added."""
    if index.advanced is not None or value._device is not self._device or self._device.depth:
        return False
    B = self._device.backend
    return has_same_elements(B, B.getitem(self._array, index.basic), value._array)


def _is_plain(self: Tensor, shared: bool, value: Tensor, tensors: list[Tensor]) -> bool:
    """Whether a write need not be recorded, and reads nothing that it writes.

    Args:
        shared: whether the value lies in the memory that is written.
    """
    # A view of an Uncounted tensor is an error, which must come before the write.
    if value._device is not self._device or self._writes.__class__ is Uncounted:
        return False
    if MODE.captures is not None or shared:
        return False
    for t in tensors:
        if t._array.dtype is self._array.dtype and shares_memory(self, t):
            return False
    return not wants_history(self, (value, *tensors))


def _write_plainly(self: Tensor, index: Index, tensors: list[Tensor], value: Tensor | None) -> None:
    """Write a value into the indexed part, on arrays; None for what it holds already."""
    if value is not None:
        asking = asking_among((self, tensors)) if ASKING else None
        B, data = (asking or self._device).backend, self._array
        place = data if index.last is type(...) else B.getitem(data, index.basic)
        if value._array.shape[:1] == (1,):
            value = _without_leading_ones(value)
        if index.advanced is None:
            if has_expanded(place):
                check_expanded("setitem", place)
            if value._array.ndim and value._array.shape != place.shape:
                _check_broadcast(value, place.shape)
            B.copy_(place, value._array)
        else:
            if has_expanded(place):
                warn_expanded("index_put_")
            B.index_put_(place, value._array, positions_on(self._device, index.advanced), False)
    # torch writes to a view, which for an inference tensor may have no counter.
    is_normal = self._writes.__class__ is list or not self._is_inference()
    wrote(self if is_normal else _view(self, index), "setitem")


def _write_part(target: Tensor, value: Tensor, without_history: bool) -> None:
    """Write a value into a view, and record it.

    Args:
        without_history: whether a value that must be broadcast loses its history, as in the views
            that torch makes of inference tensors.
    """
    operation, overwrite = "copy_", OPS["overwrite"]
    if not value._array.ndim and target._array.ndim:
        operation, overwrite = "fill_", fill_with
        check_expanded(operation, target._array)
    if value._array.shape != target._array.shape:
        if without_history:
            value = value.detach() if value.ndim else seen(value)
        value = _without_leading_ones(value)
        _check_broadcast(value, target._array.shape)
        if operation == "copy_":
            alone = not value._array.ndim and target._array.size == 1
            # Once expanded, its strides might all be zero.
            if alone and any(steps_of(target._array)):
                check_apart(operation, target, value)
            value = shapes.expand(value, target._array.shape)
    kernel = kernel_asked("copy_", value) or target._device.backend.copy_
    write(target, operation, overwrite, value, kernel=kernel)


def _write_positions(
    target: Tensor, advanced: tuple, tensors: list[Tensor], value: Tensor, fills: bool
) -> None:
    """Write a value at positions of a view, and record it."""
    operation = "masked_fill_" if fills else "index_put_"
    value = _without_leading_ones(value)
    check_positions(operation, target, tensors)
    write(target, operation, _put, value, advanced, overlapping=_put_overlapping)


def _view(x: Tensor, index: Index) -> Tensor:
    """The tensor after the basic part of an index: a view of it."""
    return x if index.last is type(...) else VIEWS[index.last](x, index.basic)


def _check_broadcast(value: Tensor, shape: tuple) -> None:
    """RuntimeError if a value does not broadcast to the shape of the part that is written."""
    if not broadcasts(value._array.shape, shape):
        raise shape_mismatch(value._array.shape, shape)


def _number_tensor(self: Tensor, value: Any) -> Tensor:
    """A number as a 0-dim Tensor of the dtype of ``self``. As in torch, it may be a Python number
    or an integer of NumPy."""
    dtype = self.dtype
    if value.__class__ is not float:
        number = python_number(value)
        if not isinstance(value, (int, float, complex)) and number.__class__ is not int:
            raise TypeError(
                f"can't assign a {type(value).__name__} to a {dtype} tensor: expected a Tensor or "
                "a number"
            )
        if isinstance(number, int) and not is_int64(number):
            raise ValueError(f"Overflow when unpacking long long: {number}")
        value = number
    if dtype.category < FLOATING or isinstance(value, complex) or abs(value) > FLOAT32_MAX:
        value = fitting("setitem", value, dtype, True)
    return wrap(self._device.backend.full((), value, self._array.dtype), self._device)


def _wrong_dtype(input: Tensor, place: Any, positions: tuple, value: Tensor) -> RuntimeError:
    """The error for a value whose dtype is not that of ``input``. As in torch, errors of the
    positions and of the shape come first."""
    _check_broadcast(
        _without_leading_ones(value), shape_of_indexed(place, tuple(map(array_of, positions)))
    )
    return RuntimeError(
        "Index put requires the source and destination dtypes match, got "
        f"{input.dtype} for the destination and {value.dtype} for the source."
    )


def _is_fill(advanced: tuple, value: Tensor) -> bool:
    """Whether one number is written at one mask: torch does that by `masked_fill_`, which casts
    the number, and allows it to be a part of what is written.

    Raises:
        RuntimeError: the mask has dtype uint8.
    """
    if value._array.size != 1:
        return False
    arrays = advanced if len(advanced) == 1 else [i for i in advanced if i is not ALL]
    if len(arrays) != 1 or arrays[0].__class__ is list:
        return False
    dtype = arrays[0]._array.dtype
    if dtype.kind == "u":
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got one of {dtype}")
    return dtype is bool_.array


def _moved(self: Tensor, advanced: tuple | None, value: Tensor) -> Tensor:
    if advanced is not None and value.ndim:
        raise RuntimeError(
            f"setitem(): expected the value on {self._device}, but it is on {value._device}"
        )
    return METHODS["to"](value, self._device)


def _without_leading_ones(value: Tensor) -> Tensor:
    shape = value._array.shape
    if not shape or shape[0] != 1:
        return value
    first = next((d for d, n in enumerate(shape) if n != 1), len(shape))
    return shapes.reshape(value, shape[first:])


def _put_overlapping(
    B: Any, x: Any, value: Tensor, positions: tuple, accumulate: bool = False
) -> Any:
    return B.index_put_(x, value._array, positions_on(value._device, positions), accumulate)


def _put(before: Tensor, value: Tensor, positions: tuple) -> Tensor:
    return _index_put(beside_asking(before, positions), value, positions, False)


def _index_put_in_place(
    self: Tensor, indices: Any, values: Tensor, accumulate: bool = False
) -> Tensor:
    positions, fills = _positions_of(indices, self, values, accumulate)
    operation = "masked_fill_" if fills else "index_put_"
    check_positions(operation, self, positions)
    put = lambda B, x, values, *_: _put_overlapping(B, x, values, positions, accumulate)
    given = values, positions, fills, accumulate
    kernel = self._device.backend.index_put_
    return write(
        self, operation, _put_at, *given, kernel=kernel, prepare=_prepare_put, overlapping=put
    )


def _is_loose(values: Tensor) -> bool:
    """Whether NumPy takes values of such a shape for too many: it drops leading ones, and does not
    check empty values."""
    return values.ndim > 1 and values._array.shape[0] == 1 or not values._array.size


def _prepare_put(
    input: Tensor, values: Tensor, positions: tuple, fills: bool, accumulate: bool
) -> tuple | None:
    """The arguments of the primitive `index_put_`; None for what `_put_at` looks at further."""
    if fills or values._array.dtype != input._array.dtype or _is_loose(values):
        return None
    return values, positions_on(values._device, positions), accumulate


def _positions_of(
    indices: Any, input: Tensor, values: Tensor, accumulate: bool
) -> tuple[tuple, bool]:
    """The index tensors after torch's checks, and whether this `_is_fill`."""
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
    positions = tuple(indices)
    if len(positions) > input.ndim:
        raise IndexError(
            f"index_put(): too many indices for tensor of dimension {input.ndim}: {len(positions)}"
        )
    fills = not accumulate and _is_fill(positions, values)
    if not fills:
        # torch counts the dimensions of masks: one without dimensions selects nothing here.
        positions = tuple(i for i in positions if i.ndim or i._array.dtype.kind not in "bu")
        if not positions:
            raise RuntimeError("index_put(): expected an index other than 0-dim bool tensors")
    Index(positions, input)  # raises if they do not fit
    return positions, fills


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
    positions, fills = _positions_of(indices, input, values, accumulate)
    return _put_at(input, values, positions, fills, accumulate)


def _put_at(
    input: Tensor, values: Tensor, positions: tuple, fills: bool, accumulate: bool
) -> Tensor:
    """A copy with values written at positions that `_positions_of` has checked."""
    input = beside_asking(beside(input, positions), positions)
    if values._array.dtype != input._array.dtype:
        if not fills:
            raise _wrong_dtype(input, input._array, positions, values)
        values = OPS["cast"](values, input._array.dtype)
    if fills:
        values = shapes.reshape(values, ()) if values.ndim else values
        if not positions[0].ndim:
            return METHODS["masked_fill"](input, positions[0], values)
    elif _is_loose(values):
        place = shape_of_indexed(input._array, tuple(map(array_of, positions)))
        expanded_shape("index_put", values._array.shape, place)
    return _index_put(input, values, positions, accumulate)


getitem.__name__, setitem.__name__ = "__getitem__", "__setitem__"
attach("as_subclass", as_subclass)
attach("__getitem__", getitem)
attach("__setitem__", setitem)


def _delete(self: Tensor, index: Any) -> None:
    raise TypeError("Tensor does not support deleting items")


attach("__delitem__", _delete)
