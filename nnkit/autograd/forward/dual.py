"""Tensors of a forward level: each holds a `Dual`, a primal and its tangents, as its array.

A level is a device, so that whatever is computed with its tensors goes through its backend
(`nnkit.autograd.forward.algebra`). Primal and tangents are tensors of what happens around the
level, with the history that they have there: so levels may stand in each other, and in what is
differentiated backwards. A tensor from around the level joins it where it first meets one of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.registry import LIFTED
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.autograd.views.history import LEVELS
from nnkit.autograd.views.overlap import check_expanded
from nnkit.autograd.views.replay import laid, replay, strided
from nnkit.backend.device import device
from nnkit.backend.lazy import Lazy, LazyPlace, is_zero, plain
from nnkit.backend.memory import has_order_of, order_of

Tangents = tuple[Tensor, ...] | None  # a derivative in each direction; None where all are zero


class Dual:
    """A primal and its tangents. What is asked of it as of an array is asked of the primal's.

    Args:
        primal: a tensor of what happens around the level.
        tangents: see `Tangents`; tensors that nobody writes to, since they may be shared. Only
            those that the user has ``given`` are written along with the primal, as in torch.
        source: the dual whose memory it shares.
        link: gives the part of a tangent of ``source``, a view of it where it is laid out as the
            primal of ``source`` is.
    """

    __slots__ = ("_known", "_tangents", "given", "link", "primal", "source")

    def __init__(
        self, primal: Tensor, tangents: Tangents, source: Any = None, link: Callable | None = None
    ) -> None:
        self.primal = primal
        self._tangents = tangents
        self.given = False
        self.source = source
        self.link: Any = link
        self._known: Tangents = None  # those of the source that `tangents` are parts of

    def __getattr__(self, name: str) -> Any:
        return getattr(self.primal._data, name)

    @property
    def base(self) -> Any:
        """The dual that owns the memory, if it is another."""
        if self.source is None or self.source.source is None:
            return self.source
        return self.source.base

    @property
    def tangents(self) -> Tangents:
        """Those that it was made with or given last; of a view those of its source's part."""
        if self.source is not None:
            whole = self.source.tangents
            if whole is not self._known:
                self._known = whole
                self._tangents = whole and tuple([self.link(t) for t in whole])
        return self._tangents

    @tangents.setter
    def tangents(self, new: Tangents) -> None:
        if self.source is None:
            if self.given and self._tangents:
                for i, tangent in enumerate(self._tangents):
                    tangent.copy_(new[i]) if new else tangent.zero_()
            else:
                self._tangents = new
            return
        count = len(new or self.source.tangents or ())
        if not count:
            return
        whole = self.source.tangents or (LIFTED.zeros_like(self.source.primal),) * count
        written = tuple([laid_out(t, self.source.primal).clone() for t in whole])
        for i, tangent in enumerate(written):
            part = self.link(tangent)
            part.copy_(new[i]) if new else part.zero_()
        self.source.tangents = written


def laid_out(tangent: Tensor, primal: Tensor) -> Tensor:
    """The tangent with its elements in the order in memory of those of its primal."""
    if has_order_of(tangent._data, primal._data):
        return settled(tangent, primal)
    return laid(LIFTED, tangent, order_of(primal._data))


def fixed_zeros_like(value: Tensor) -> Tensor:
    """Zeros that nobody may write, of what happens around all levels."""
    place = value._device
    while isinstance(place, ForwardLevel):
        place = place.place
    place = LazyPlace.before(place.home)
    return wrap(place.zeros(value._data.shape, value._data.dtype), place)


def settled(tangent: Tensor, primal: Tensor) -> Tensor:
    """The tangent, copied if it is zeros that nobody may write but its primal is not."""
    return tangent.clone() if is_fixed(tangent) and not is_fixed(primal) else tangent


def is_fixed(value: Tensor) -> bool:
    """Whether a tensor is of zeros that nobody may write, whatever levels it is in."""
    return is_zero(_bottom(value))


class ForwardLevel(device):
    """Where derivatives in ``count`` directions are carried along, while it is entered.

    In torch the directions may be ``batched``: then zeros that nobody may write remain tangents.
    Its tensors are those given to `lift` with tangents, and all that is computed with them.
    """

    __slots__ = ("around", "batched", "count", "depth", "joined", "place")
    algebra: Callable[[ForwardLevel], Any]  # `nnkit.autograd.forward.algebra`
    joined: list[tuple[Tensor, Any]]

    def __new__(cls, place: device, count: int = 1, batched: bool = False) -> ForwardLevel:
        self = object.__new__(cls)
        self.type, self.index = place.type, place.index
        self.around = MODE.forward
        self.depth = 1 + (self.around.depth if self.around else 0)
        self.place = device(place.type, place.index)
        self.joined = []
        self.count = count
        self.batched = batched
        self.backend = ForwardLevel.algebra(self)
        return self

    def __enter__(self) -> ForwardLevel:
        MODE.forward = self
        MODE.derivatives += 1
        LEVELS.add(id(self))
        return self

    def __exit__(self, *exception: Any) -> None:
        MODE.forward = self.around
        LEVELS.discard(id(self))
        while self.joined:
            self._leave(*self.joined.pop())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    __hash__ = device.__hash__

    def detached(self, array: Dual) -> Dual:
        """The dual without tangents, and its primal without history."""
        return Dual(array.primal.detach(), None)

    def lift(self, value: Any, tangents: Tangents = None) -> Any:
        """A tensor of what happens around the level as one of the level."""
        if not isinstance(value, Tensor) or value._device is self:
            return value
        return wrap(Dual(value, tangents), self)

    def point(self, value: Tensor, tangents: tuple[Tensor, ...]) -> Tensor:
        """What is differentiated by: ``value``, with the tangents that the user gives it.

        Raises:
            RuntimeError: elements of ``value`` share their memory, as those of a tangent do not.
        """
        if any(not has_order_of(t._data, value._data) for t in tangents):
            check_expanded("make_dual", value._data)
        primal: Any = value
        found = wrap(Dual(primal[...], tuple([laid_out(t, value) for t in tangents])), self)
        dual_of(found).given = True
        return found

    def join(self, x: Any) -> None:
        """Let ``x``, a tensor from around the level, be one of the level until that is left: what
        is written to it has tangents."""
        base = x._base
        if base is None:
            primal = wrap(x._data, x._device)
            whole = link = None
        else:
            chain = strided(x)
            if base._device is not self:
                self.join(base)
            whole, link = base._data, partial(replay, chain)
            primal = link(whole.primal)
        self.joined.append((x, base))
        _give_place(x, primal)
        x._edge, x._requires_grad, x._writes, x._viewed = None, False, [0, None], 0
        x._data, x._device, x._base = Dual(primal, None, whole, link), self, base
        if base is not None:
            x._writes, x._viewed = base._writes, base._writes[0]

    def _leave(self, x: Tensor, base: Any) -> None:
        primal = dual_of(x).primal
        x._data, x._device = primal._data, primal._device
        _give_place(primal, x)  # which keeps it too: nodes may have saved it
        x._base = base

    def lower(self, value: Tensor) -> tuple[Tensor, Tangents]:
        """The primal and the tangents of a tensor; one from around the level is constant."""
        if value._device is not self:
            return value, None
        return dual_of(value).primal, dual_of(value).tangents


def _give_place(x: Tensor, y: Tensor) -> None:
    """Give ``y`` the place in the graph that ``x`` has."""
    y._edge, y._requires_grad, y._writes, y._viewed, y._view = (
        x._edge, x._requires_grad, x._writes, x._viewed, x._view,
    )  # fmt: skip


def without_history(value: Tensor) -> Tensor:
    """The tensor with primals and tangents that have no history."""
    if value._data.__class__ is not Dual:
        return value.detach()
    primal, tangents = value._device.lower(value)
    kept = tangents and tuple(map(without_history, tangents))
    return value._device.lift(without_history(primal), kept)


def dual_of(value: Tensor) -> Any:
    """The `Dual` that a tensor of a forward level holds."""
    return value._data


def is_dual(value: Any) -> bool:
    """Whether the value is a tensor of a forward level."""
    return isinstance(value, Tensor) and value._data.__class__ is Dual


def array_of(value: Any) -> Any:
    """The array of a Tensor, whatever levels it is in; what is no Tensor, as it is."""
    if not isinstance(value, Tensor):
        return value
    data = value._data
    return plain(_bottom(value)) if data.__class__ in (Dual, Lazy) else data


def _bottom(value: Any) -> Any:
    """What the tensor below all levels holds."""
    while is_dual(value):
        value = dual_of(value).primal
    return value._data
