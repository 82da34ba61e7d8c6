"""Levels: the devices of transforms, whose tensors hold something else in place of an array.

Everything computed with the tensors of a level goes through its backend, which computes with
tensors outside the level. Those keep their own history, so levels can be nested, also in functions
that are differentiated backwards. A tensor from outside joins the level when it first meets one of
its tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from nnkit.autograd.compiled import tell_levels
from nnkit.autograd.grad_mode import MODE, capturing
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.autograd.views.counters import counter_of
from nnkit.autograd.views.replay import replay, strided
from nnkit.backend.algebra import CATALOGUE, Algebra
from nnkit.backend.device import device

# The ids of the levels that any thread has entered, and by their ids the views made meanwhile.
ENTERED_LEVELS: set[Any] = set()
tell_levels(ENTERED_LEVELS)
_VIEWS: WeakValueDictionary[int, Tensor] = WeakValueDictionary()


def keep_view(view: Tensor) -> None:
    """Remember a view made while a level is entered: it joins the level when its base does."""
    _VIEWS[id(view)] = view


class Level(device):
    """The device of the tensors of a transform, while the transform runs."""

    __slots__ = ("around", "captures", "counters", "depth", "joined", "place")
    joined: list[tuple[Tensor, Any]]
    counters: dict[int, Any]  # their counters of writes, by id

    algebra: Callable[[Any], Any]  # makes its backend; set by the module of the primitives

    def __new__(cls, place: device) -> Any:
        self = object.__new__(cls)
        self.type, self.index = place.type, place.index
        self.around, self.captures = MODE.wrapping, MODE.captures
        self.depth = 1 + (self.around.depth if self.around else 0)
        self.place = device(place.type, place.index)
        self.joined, self.counters = [], {}
        self.backend = cls.algebra(self)
        return self

    def __enter__(self) -> Any:
        MODE.wrapping = self
        ENTERED_LEVELS.add(id(self))
        return self

    def __exit__(self, *exception: Any) -> None:
        MODE.wrapping = self.around
        ENTERED_LEVELS.discard(id(self))
        if not ENTERED_LEVELS:
            _VIEWS.clear()
        while self.joined:
            self._leave(*self.joined.pop())
        # What holds tensors; the level and its backend hold each other until they are collected.
        self.captures = None

    def lowered(self, write: Callable) -> Callable:
        """The primitive ``write`` of this level's backend, which writes a tensor outside the level.

        Only the transforms outside the level check whether they captured that tensor. A write to
        one that has joined is counted once, by its writer in the level.
        """

        def write_around(x: Any, *arguments: Any) -> Any:
            counter = counter_of(self.inside(x)._writes)
            before = counter[0] if counter is not None else 0
            with capturing(self.captures):
                found = write(x, *arguments)
            if counter is not None and counter[0] > before and id(counter) in self.counters:
                counter[0] -= 1
            return found

        return write_around

    def inside(self, array: Any) -> Tensor:
        """The tensor outside the level that an array of the level holds."""
        raise NotImplementedError

    def hold(self, value: Tensor, source: Any, link: Any) -> Any:
        """The array in the level of a tensor from outside."""
        raise NotImplementedError

    def join(self, x: Any) -> None:
        """Make ``x``, a tensor from outside, one of the level until the level is left.

        Its base and the views of that join as well: what is written into one is seen in all.
        """
        base = x if x._base is None else x._base
        views = [] if x is base else [x]
        if base._device is not self:
            views = self._views_of(base, views)
            self._hold(base, wrap(base._array, base._device), None, None)
        for view in views:
            whole, _ = self.lower(base)
            link = partial(replay, strided(view, whole))
            self._hold(view, link(whole), base, link)

    def _views_of(self, base: Tensor, views: list) -> list:
        """All known views of a tensor, the given ones among them."""
        if self.by_hand and not self.joined:  # transforms refuse writes to what was there before
            _VIEWS.update({id(t): t for t in Tensor._living() if t._base is not None})
        known = [view for view in _VIEWS.values() if view._base is base]
        found = {id(view): view for view in [*views, *known]}
        return list(found.values())

    def _hold(self, x: Any, inner: Tensor, base: Any, link: Any) -> None:
        self.joined.append((x, x._base))
        give_place(x, inner)
        x._edge, x._requires_grad, x._viewed = None, False, 0
        self.count_writes(x, x._writes)
        x._array = self.hold(inner, None if base is None else base._array, link)
        x._device = self
        if base is not None:
            x._writes, x._viewed = base._writes, base._writes[0]

    def count_writes(self, x: Any, writes: Any) -> None:
        """Let a tensor of the level share the counter of writes of one from outside."""
        x._writes = counter_of(writes) or [0, None, None]
        self.counters[id(x._writes)] = x._writes

    def _leave(self, x: Tensor, base: Any) -> None:
        inner, _ = self.lower(x)
        x._array, x._device = inner._array, inner._device
        give_place(inner, x)  # which keeps it too: nodes may have saved it
        x._base = base

    def lower(self, value: Tensor) -> tuple[Tensor, Any]:
        """The tensor outside the level that one of the level holds, and the rest that it holds."""
        raise NotImplementedError


class LevelAlgebra(Algebra):
    """The primitives on what the tensors of a level hold in place of arrays.

    Its module sets the functions for them, which get the algebra, the primitive and the arguments:
    those of some writes by name, one for all other writes, and one that computes the rest.
    """

    _writes: dict[str, Callable[..., Any]]
    _write: Callable[..., Any]
    _compute: Callable[..., Any]

    def __init__(self, level: Any) -> None:
        self.level = level

    def _find(self, name: str) -> Callable[..., Any]:
        if name not in CATALOGUE:
            raise AttributeError(f"no primitive {name!r} in the algebra")
        primitive, kind = CATALOGUE[name], type(self)
        if not primitive.writes:
            return partial(kind._compute, self, primitive)
        write = kind._writes.get(name, kind._write)
        return self.level.lowered(partial(write, self, primitive))


def give_place(x: Tensor, y: Tensor) -> None:
    """Give ``y`` the place of ``x`` in the graph."""
    y._edge, y._requires_grad, y._writes, y._viewed, y._view = (
        x._edge, x._requires_grad, x._writes, x._viewed, x._view,
    )  # fmt: skip
