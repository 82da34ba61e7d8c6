"""Tensors of a forward level: each holds a `Dual`, a primal and its tangents, as its array.

A level is a device, so that whatever is computed with its tensors goes through its backend
(`nnkit.autograd.forward`). Primal and tangents are tensors of what happens around the level, with
the history that they have there: so levels may stand in each other, and in what is differentiated
backwards. A tensor from around the level joins it where it first meets one of the level.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from nnkit.autograd.grad_mode import MODE, inference_mode
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.autograd.views import LEVELS, check_expanded, laid, replay, strided
from nnkit.backend.device import device
from nnkit.backend.memory import has_order_of, order_of

Tangents = tuple[Tensor, ...] | None  # a derivative in each direction; None where all are zero


class Dual:
    """A primal and its tangents. What is asked of it as of an array is asked of the primal's.

    Args:
        primal: a tensor of what happens around the level.
        tangents: see `Tangents`; tensors that nobody writes to, since they may be shared.
        source: the dual whose memory it shares.
        link: gives the part of a tangent of ``source``, a view of it where it is laid out as the
            primal of ``source`` is.
    """

    __slots__ = ("_known", "_tangents", "link", "primal", "source")

    def __init__(
        self, primal: Tensor, tangents: Tangents, source: Any = None, link: Callable | None = None
    ) -> None:
        self.primal = primal
        self._tangents = tangents
        self.source = source
        self.link: Any = link
        self._known: Tangents = None  # those of the source that `tangents` are parts of

    def __getattr__(self, name: str) -> Any:
        return getattr(self.primal._data, name)

    @property
    def base(self) -> Any:
        """The dual that owns the memory, if it is another."""
        return None if self.source is None else self.source.base or self.source

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
            self._tangents = new
            return
        from nnkit.autograd.lifted import LIFTED

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
    from nnkit.autograd.lifted import LIFTED

    if has_order_of(tangent._data, primal._data):
        return tangent
    check_expanded("make_dual", primal._data)
    return laid(LIFTED, tangent, order_of(primal._data))


class ForwardLevel(device):
    """Where derivatives in ``count`` directions are carried along, while it is entered.

    Its tensors are those given to `lift` with tangents, and all that is computed with them.
    """

    __slots__ = ("_modes", "around", "count", "depth", "joined", "place")

    def __new__(cls, place: device, count: int = 1) -> ForwardLevel:
        from nnkit.autograd.forward import Forward

        self = object.__new__(cls)
        self.type, self.index = place.type, place.index
        self.around = MODE.forward
        self.depth = 1 + (self.around.depth if self.around else 0)
        self.place = device(place.type, place.index)
        self.joined: list[tuple[Tensor, Any]] = []
        self.count = count
        self.backend: Any = Forward(self)
        return self

    def __enter__(self) -> ForwardLevel:
        MODE.forward = self
        MODE.transforms += 1
        LEVELS.add(id(self))
        self._modes = MODE.enabled, inference_mode(False)
        self._modes[1].__enter__()
        MODE.enabled = self._modes[0]
        return self

    def __exit__(self, *exception: Any) -> None:
        self._modes[1].__exit__(*exception)
        MODE.transforms -= 1
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

    def without_history(self, value: Tensor) -> Tensor:
        """The tensor with primal and tangents that have no history."""
        primal, tangents = self.lower(value)
        return self.lift(primal.detach(), tangents and tuple([t.detach() for t in tangents]))

    def lift(self, value: Any, tangents: Tangents = None) -> Any:
        """A tensor of what happens around the level as one of the level."""
        if not isinstance(value, Tensor) or value._device is self:
            return value
        return wrap(Dual(value, tangents and tuple([laid_out(t, value) for t in tangents])), self)

    def join(self, x: Tensor) -> None:
        """Let ``x``, a tensor from around the level, be one of the level until that is left: what
        is written to it has tangents."""
        base = x._base
        if base is None:
            primal = wrap(x._data, x._device)
            whole = link = None
        else:
            chain = (strided(x),)
            if base._device is not self:
                self.join(base)
            whole, link = base._data, partial(replay, chain)
            primal = link(whole.primal)
        self.joined.append((x, base))
        _exchange(x, primal)
        x._data, x._device, x._base = Dual(primal, None, whole, link), self, base
        if base is not None:
            x._writes, x._viewed = base._writes, base._writes[0]

    def _leave(self, x: Tensor, base: Any) -> None:
        primal = x._data.primal
        x._data, x._device = primal._data, primal._device
        _exchange(primal, x)
        x._base = base

    def lower(self, value: Tensor) -> tuple[Tensor, Tangents]:
        """The primal and the tangents of a tensor; one from around the level is constant."""
        if value._device is not self:
            return value, None
        return value._data.primal, value._data.tangents


def _exchange(x: Tensor, y: Tensor) -> None:
    """Give ``y`` the place in the graph that ``x`` has, and ``x`` that of a leaf."""
    y._edge, y._requires_grad, y._writes, y._viewed, y._view = (
        x._edge, x._requires_grad, x._writes, x._viewed, x._view,
    )  # fmt: skip
    x._edge, x._requires_grad, x._writes, x._viewed = None, False, [0, None], 0


def on_one_device(name: str, values: tuple) -> tuple:
    """The tensors among the values on one device: at the innermost level, if there are levels.

    Raises:
        RuntimeError: they are on different devices.
    """
    places = [v._device for v in values if isinstance(v, Tensor)]
    if all(place is places[0] for place in places):
        return values
    levels = [place for place in places if isinstance(place, ForwardLevel)]
    if not levels or any(place.type != places[0].type for place in places):
        raise RuntimeError(
            f"{name}(): expected all tensors to be on the same device, "
            f"but found {' and '.join(map(str, places))}"
        )
    return tuple(map(max(levels, key=lambda level: level.depth).lift, values))


def is_dual(value: Any) -> bool:
    """Whether the value is a tensor of a forward level."""
    return isinstance(value, Tensor) and value._data.__class__ is Dual


def array_of(value: Any) -> Any:
    """The array of a Tensor, whatever levels it is in."""
    data = value._data
    while data.__class__ is Dual:
        data = data.primal._data
    return data
