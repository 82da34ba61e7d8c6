"""Tensors of a batch level: each holds a `Batched`, a tensor with one more dimension, as its array.

`nnkit.func.vmap` calls its function once, with tensors that look like one example. What the
function computes with them is computed for all examples at once (`nnkit.autograd.batch.algebra`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from nnkit.autograd.forward.dual import Dual, primal_below
from nnkit.autograd.forward.level import Level
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.registry import LIFTED
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.backend.device import device
from nnkit.backend.lazy import memory_of

DRAWS_ALIKE = (
    "Vmap does not currently support same randomness with a batched tensor input: draw beside "
    "what is the same for all examples, or pass randomness='different'"
)


class Batched:
    """All examples, in place of the array of a tensor. Its shape and the like are those of one.

    Args:
        whole: a tensor outside the level.
        dim: the dimension of the examples in it; None if all examples share it.
        source: the batched array whose memory it shares.
    """

    __slots__ = ("_first", "dim", "shape", "source", "whole")

    def __init__(self, whole: Tensor, dim: int | None, source: Batched | None = None) -> None:
        self.whole = whole
        self.dim = dim
        self.source = source
        shape = whole._array.shape
        self.shape: tuple[int, ...] = shape if dim is None else shape[:dim] + shape[dim + 1 :]
        self._first: Any = None

    def __getattr__(self, name: str) -> Any:
        if name not in _GEOMETRY:  # for all else it is no array
            raise AttributeError(name)
        return getattr(self.first, name)

    @property
    def dtype(self) -> Any:
        """The type of its elements."""
        return self.whole._array.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions of an example."""
        return len(self.shape)

    @property
    def first(self) -> Any:
        """The array of the first example; an empty one if there is none."""
        if self._first is None:
            place = self.whole._device
            array = _array(self.whole)
            B = place.home.backend if not isinstance(place, Level) else place.place.backend
            if self.dim is None:
                self._first = array
            elif array.shape[self.dim]:
                self._first = B.getitem(array, (*[slice(None)] * self.dim, 0, ...))
            else:
                self._first = B.empty(self.shape, array.dtype)
        return self._first

    @property
    def base(self) -> Any:
        """The batched array that owns the memory, if that is another one."""
        return self.source if self.source is None or self.source.source is None else (
            self.source.base
        )  # fmt: skip


_GEOMETRY = frozenset(("flags", "itemsize", "nbytes", "size", "strides", "transpose"))


def _array(value: Tensor) -> Any:
    """The array that has the geometry of a tensor on any level."""
    data: Any = value._array
    if data.__class__ is Batched:
        return data.first
    return _array(data.primal) if data.__class__ is Dual else memory_of(data)


class VmapInfo(NamedTuple):
    """The first argument of the ``vmap`` of a `nnkit.autograd.Function`."""

    batch_size: int
    randomness: str


class BatchLevel(Level):
    """The device of tensors that hold ``size`` examples, while a `vmap` runs."""

    __slots__ = ("randomness", "size")
    maps = True

    def __new__(cls, place: device, size: int, randomness: str) -> BatchLevel:
        self = Level.__new__(cls, place)
        self.size = size
        self.randomness = randomness
        return self

    def check_data(self) -> None:
        if MODE.captures is self.captures:  # elsewhere it is asked of what another level holds
            raise RuntimeError("data: cannot be used inside a function that is mapped by vmap")

    def detached(self, array: Batched) -> Batched:
        """The batch without its history."""
        return Batched(array.whole.detach(), array.dim, array.source)

    def lift(self, value: Any, dim: int | None = None) -> Any:
        """A tensor from outside the level as one of the level, with examples along ``dim``; or
        shared by all examples, if that is None."""
        if not isinstance(value, Tensor) or value._device is self:
            return value
        return wrap(Batched(value, dim), self)

    def position(self, value: Tensor) -> Any:
        """A position as a batched array."""
        return self.lift(value)._array

    def inside(self, array: Any) -> Tensor:
        return array.whole

    def lower(self, value: Tensor) -> tuple[Tensor, int | None]:
        """The tensor of all examples, and the dimension of the examples (None if shared)."""
        if value._device is not self:
            return value, None
        data = batched_of(value)
        return data.whole, data.dim

    @contextmanager
    def outside(self) -> Iterator[None]:
        """A block in which operations are computed outside the level."""
        inner = MODE.wrapping  # maybe a level that was entered inside of it
        MODE.wrapping = self.around
        MODE.transforms -= 1
        MODE.batches -= 1
        try:
            yield
        finally:
            MODE.wrapping = inner
            MODE.transforms += 1
            MODE.batches += 1

    def hold(self, value: Tensor, source: Any, link: Any) -> Batched:
        """A tensor from outside the level, as one that all examples share."""
        return Batched(value, None, source)


def without_history(value: Tensor) -> Tensor:
    """The tensor without its history on any level, but with its tangent."""
    place: Any = value._device
    if not place.depth:
        return value.detach()
    if isinstance(place, BatchLevel):
        whole, dim = place.lower(value)
        return place.lift(without_history(whole), dim)
    primal, tangent = place.lower(value)
    kept = None if tangent is None else without_history(tangent)
    return place.lift(without_history(primal), kept)


def of_all(value: Any) -> Any:
    """The tensor of all examples, outside all batch levels."""
    while isinstance(value, Tensor) and isinstance(value._device, BatchLevel):
        value, _ = value._device.lower(value)
    return value


def lowest(value: Tensor) -> Tensor:
    """The tensor below all levels: of all examples, and the primal of a dual tensor."""
    place: Any = value._device
    while place.depth:
        value, _ = place.lower(value)
        place = value._device
    return value


def batched_of(value: Tensor) -> Any:
    """The `Batched` that a tensor of a batch level holds."""
    return value._array


def is_batched(value: Tensor) -> bool:
    """Whether a tensor is one example of several that differ."""
    place: Any = value._device
    return isinstance(place, BatchLevel) and place.lower(value)[1] is not None


def make_beside(value: Tensor, shape: tuple, make: Callable[[tuple, Any], Tensor]) -> Tensor:
    """The result of ``make(shape, device)`` for the device of a tensor. Inside `vmap` it is a new
    tensor for each example, since the function may write to it."""
    value = primal_below(value)
    level: Any = value._device
    if not isinstance(level, BatchLevel):
        return make(shape, level)
    whole, dim = level.lower(value)
    if dim is None:
        return make_beside(whole, shape, make)
    return level.lift(make_beside(whole, (level.size, *shape), make), 0)


def beside(value: Tensor, index: Any) -> Tensor:
    """The tensor, lifted to the level of the positions in an index, if these differ by example."""
    items = index if index.__class__ is tuple else (index,)
    levels = [i._device for i in items if isinstance(i, Tensor) and is_batched(i)]
    level = max(levels, key=lambda level: level.depth, default=None)
    return value if level is None or value._device.depth >= level.depth else level.lift(value)


def join_index(value: Tensor, index: Any) -> None:
    """Move a tensor that is about to be written to the level of the positions."""
    joined = beside(value, index)
    if joined is not value:
        joined._device.join(value)


def example(value: Any, i: int) -> Any:
    """One example of an array, or of the positions in an index, as a tensor; zeros if the batch is
    empty."""
    if value.__class__ is tuple:
        return tuple([example(v, i) for v in value])
    if value.__class__ is not Batched or value.dim is None:
        return value.whole if value.__class__ is Batched else value
    whole, at = value.whole, (slice(None),) * value.dim
    if whole._array.shape[value.dim]:
        return LIFTED.getitem(whole, (*at, i, ...))
    if whole.dtype.category > 1:
        return LIFTED.sum(whole, value.dim, False)  # so that its history goes on
    B = whole._device.backend
    return wrap(B.zeros(value.shape, value.dtype), whole._device)


def stacked(rows: Sequence[Any], size: int) -> Any:
    """The results of all examples (tensors or tuples), stacked along dimension 0."""
    first = rows[0]
    if isinstance(first, (tuple, list)):
        return type(first)([stacked(column, size) for column in zip(*rows, strict=True)])
    found = LIFTED.stack(tuple(rows), 0)
    return found if size else LIFTED.getitem(found, (slice(0, 0), ...))


def by_example(function: Callable) -> Callable:
    """Decorate a function whose steps or shapes depend on values: inside `vmap` it is called for
    one example after the other.

    Raises:
        RuntimeError: the shapes of the results differ between examples.
    """

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        level = _innermost((*arguments, *options.values())) if MODE.batches else None
        if level is None:
            return function(*arguments, **options)

        def pick(value: Any, i: int) -> Any:
            if isinstance(value, (tuple, list)):
                return type(value)([pick(v, i) for v in value])
            mine = isinstance(value, Tensor) and value._device is level
            return example(value._array, i) if mine else value

        with level.outside():
            rows = [
                call(*pick(arguments, i), **{k: pick(v, i) for k, v in options.items()})
                for i in range(max(level.size, 1))
            ]
            found = stacked(rows, level.size)
        return lifted(found, level)

    def lifted(found: Any, level: BatchLevel) -> Any:
        if isinstance(found, (tuple, list)):
            return type(found)([lifted(each, level) for each in found])
        return level.lift(found, 0)

    return call


def _innermost(values: Sequence[Any]) -> BatchLevel | None:
    """The innermost level on which one of the values differs between examples."""
    found = None
    for value in values:
        if isinstance(value, (tuple, list)):
            level = _innermost(value)
        else:
            level = value._device if isinstance(value, Tensor) and is_batched(value) else None
        if level is not None and (found is None or level.depth > found.depth):
            found = level
    return found


def empty_of_each(shape: tuple, dtype: Any, place: device) -> Tensor:
    """Memory for random numbers: for each example, if they are to differ."""
    if not MODE.batches:
        return wrap(place.backend.empty(shape, dtype), place)
    levels = _differing()
    place = _below(place, levels)
    sizes = tuple([level.size for level in levels])
    found = wrap(place.backend.empty((*sizes, *shape), dtype), place)
    for level in levels:
        found = level.lift(found, 0)
    return found


def drawn_for_each(draw: Callable[[Any], Any], place: device) -> Tensor:
    """The result of ``draw``: one for each example, if random numbers are to differ."""

    def drawn(levels: Sequence[BatchLevel]) -> Tensor:
        if not levels:
            return wrap(draw(place.backend), place)
        rows = [drawn(levels[1:]) for _ in range(levels[0].size)]
        return LIFTED.stack(tuple(rows), 0) if rows else drawn(levels[1:])[None][:0]

    levels = _differing()
    place = _below(place, levels)
    found = drawn(levels)
    for level in levels:
        found = level.lift(found, 0)
    return found


def _below(place: device, levels: list[BatchLevel]) -> device:
    """The device below all levels, if the result is to be lifted to some of them."""
    return place.place if levels and isinstance(place, Level) else place


def of_each(value: Tensor, level: Any = ...) -> Tensor:
    """The tensor that random numbers are drawn for, copied for each example if they are to differ:
    on all active levels, or from ``level`` outwards."""
    if MODE.batches:
        for each in _differing(level):
            value = _copied(value, each)
    return value


def _copied(value: Tensor, level: BatchLevel) -> Tensor:
    """A tensor as one of a level, or of one within it, that has a copy for each example."""
    place: Any = value._device
    if place.depth >= level.depth:
        within, held = place.lower(value)
        if place is level and held is not None:
            return value
        if place is not level:
            copied = _copied(within, level)
            return value if copied is within else place.lift(copied, held)
        value = within
    return level.lift(LIFTED.expand(value, (level.size, *value._array.shape)), 0)


def check_differs(name: str, value: Tensor, beside: Sequence[Any] = ()) -> None:
    """RuntimeError if random numbers that are to differ are drawn into a tensor that all examples
    share. (If it is a parameter of the distribution, ``beside``, that differs, the write raises.)
    """
    for each in _differing():
        if not (_may_differ(value, each) or any(_may_differ(given, each) for given in beside)):
            raise RuntimeError(
                f"vmap: Cannot ask {name}() for different inplace randomness on an unbatched "
                "tensor, which is the same for all examples: draw out of place"
            )


def check_alike(value: Tensor) -> None:
    """RuntimeError if random numbers that are to be the same have parameters that differ."""
    while isinstance(value._device, Level):
        level: Any = value._device
        value, other = level.lower(value)
        if isinstance(level, BatchLevel) and level.randomness != "different" and other is not None:
            raise RuntimeError(DRAWS_ALIKE)


def _may_differ(value: Any, level: BatchLevel) -> bool:
    """Whether a tensor belongs to a level and may differ between its examples."""
    if not isinstance(value, Tensor) or value._device.depth < level.depth:
        return False
    return value._device is not level or is_batched(value)


def _differing(level: Any = ...) -> list[BatchLevel]:
    """The active levels (or those from ``level`` outwards) with different random numbers for each
    example, outermost first."""
    levels: list[BatchLevel] = []
    level = MODE.wrapping if level is ... else level
    while level is not None:
        if isinstance(level, BatchLevel) and level.randomness == "different":
            levels.insert(0, level)
        level = level.around
    return levels
