"""Tensors of a forward level: each holds a `Dual`, a primal and its tangents, as its array.

A level is a device, so that whatever is computed with its tensors goes through its backend
(`nnkit.autograd.forward.algebra`). Primal and tangents are tensors of what happens around the
level, with the history that they have there: so levels may stand in each other, and in what is
differentiated backwards. A tensor from around the level joins it where it first meets one of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.autograd.forward.level import Level
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.registry import LIFTED
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.autograd.views.overlap import check_expanded
from nnkit.autograd.views.replay import laid
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
        whole = self.source.tangents or tuple([self._zeros(t) for t in new or ()])
        if not whole:
            return
        written = tuple([laid_out(t, self.source.primal).clone() for t in whole])
        for i, tangent in enumerate(written):
            part = self.link(tangent)
            part.copy_(new[i]) if new else part.zero_()
        self.source.tangents = written

    def _zeros(self, tangent: Tensor) -> Tensor:
        """A tangent of zeros for the source, of the level that ``tangent`` is of."""
        place, data = tangent._device.home, self.source.primal._data
        return wrap(place.backend.zeros(data.shape, data.dtype), place)


def laid_out(tangent: Tensor, primal: Tensor) -> Tensor:
    """The tangent with its elements in the order in memory of those of its primal."""
    if has_order_of(tangent._data, primal._data):
        return settled(tangent, primal)
    return laid(LIFTED, tangent, order_of(primal._data))


def fixed_zeros_like(value: Tensor) -> Tensor:
    """Zeros that nobody may write, of what happens around all levels."""
    place = value._device
    place = place.place if isinstance(place, Level) else place
    place = LazyPlace.before(place.home)
    return wrap(place.zeros(value._data.shape, value._data.dtype), place)


def settled(tangent: Tensor, primal: Tensor) -> Tensor:
    """The tangent, copied if it is zeros that nobody may write but its primal is not."""
    return tangent.clone() if is_fixed(tangent) and not is_fixed(primal) else tangent


def is_fixed(value: Tensor) -> bool:
    """Whether a tensor is of zeros that nobody may write, whatever levels it is in."""
    while value._device.depth:
        data: Any = value._data
        value = data.primal if data.__class__ is Dual else data.whole
    return is_zero(value._data)


class ForwardLevel(Level):
    """Where derivatives in ``count`` directions are carried along, while it is entered.

    In torch the directions may be ``batched``: then zeros that nobody may write remain tangents.
    Its tensors are those given to `lift` with tangents, and all that is computed with them.
    """

    __slots__ = ("batched", "count")

    def __new__(cls, place: device, count: int = 1, batched: bool = False) -> ForwardLevel:
        self = Level.__new__(cls, place)
        self.count = count
        self.batched = batched
        return self

    def __enter__(self) -> ForwardLevel:
        MODE.derivatives += 1
        return Level.__enter__(self)

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

    def hold(self, value: Tensor, source: Any, link: Any) -> Dual:
        """What a tensor of the level holds that has no tangents."""
        return Dual(value, None, source, link)

    def lower(self, value: Tensor) -> tuple[Tensor, Tangents]:
        """The primal and the tangents of a tensor; one from around the level is constant."""
        if value._device is not self:
            return value, None
        return dual_of(value).primal, dual_of(value).tangents


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
