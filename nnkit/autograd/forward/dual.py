"""Tensors of a forward level: each holds a `Dual`, a primal and its tangent, as its array.

Primal and tangent are tensors outside the level (`nnkit.autograd.forward.level`). The backend of
the level, which carries tangents through the primitives, is `nnkit.autograd.forward.algebra`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.autograd.forward.level import Level
from nnkit.autograd.grad_mode import MODE, capturing
from nnkit.autograd.op.registry import LIFTED
from nnkit.autograd.tensor import Tensor, on_its_own, wrap
from nnkit.autograd.views.overlap import check_expanded
from nnkit.autograd.views.replay import laid
from nnkit.backend.device import device
from nnkit.backend.dtype import FLOATING
from nnkit.backend.lazy import Lazy, LazyPlace, is_zero, memory_of, plain
from nnkit.backend.memory import has_order_of, order_of


class Dual:
    """A primal and its tangent, with the attributes of the primal's array.

    Args:
        primal: a tensor outside the level.
        tangent: its derivative, None where that is zero; nobody writes to it, since it may be
            shared. Only one that the user has ``given`` is written along with the primal, as in
            torch.
        source: the dual whose memory it shares.
        link: from a tangent of ``source`` to the part that belongs to this one; a view, where the
            tangent is laid out as the primal of ``source`` is.
    """

    __slots__ = ("_known", "_tangent", "given", "link", "primal", "source")

    def __init__(
        self, primal: Tensor, tangent: Tensor | None, source: Any = None,
        link: Callable | None = None,
    ) -> None:  # fmt: skip
        self.primal = primal
        self._tangent = tangent
        self.given = False
        self.source = source
        self.link: Any = link
        self._known: Tensor | None = None  # the source's tangent of which `tangent` is a part

    def __getattr__(self, name: str) -> Any:
        return getattr(self.primal._array, name)

    @property
    def base(self) -> Any:
        """The dual that owns the memory, if it is another."""
        if self.source is None or self.source.source is None:
            return self.source
        return self.source.base

    @property
    def tangent(self) -> Tensor | None:
        """The tangent that it was made with or given last; for a view, its part of the source's."""
        if self.source is not None:
            whole = self.source.tangent
            if whole is not self._known:
                self._known = whole
                self._tangent = None if whole is None else self.link(whole)
        return self._tangent

    @tangent.setter
    def tangent(self, new: Tensor | None) -> None:
        if self.source is None:
            if self.given and self._tangent is not None:
                _write(self._tangent, new)
            else:
                self._tangent = new
            return
        links, root = [self.link], self.source
        while root.source is not None:
            links.append(root.link)
            root = root.source
        whole = root.tangent
        if whole is None and new is None:
            return
        if whole is None:
            written = root._zeros(new)
        elif new is None or not new._device.depth or root.given:
            written = laid_out(whole, root.primal).clone()
        else:  # it may differ between examples where the source's tangent does not
            written = laid_out(root._zeros(new).copy_(whole), root.primal)
        part = written
        for link in reversed(links):
            part = link(part)
        _write(part, new)
        root.tangent = written

    def _zeros(self, tangent: Tensor) -> Tensor:
        """A tangent of zeros, on the level of ``tangent``."""
        place, data = tangent._device.home, self.primal._array
        return wrap(place.backend.zeros(data.shape, data.dtype), place)


def _write(tangent: Tensor, new: Tensor | None) -> None:
    with capturing(None):  # whether what is written was captured is checked for the primal
        tangent.zero_() if new is None else tangent.copy_(new)


def laid_out(tangent: Tensor, primal: Tensor) -> Tensor:
    """The tangent with its elements in memory in the order of those of its primal."""
    if has_order_of(tangent._array, primal._array):
        return settled(tangent, primal)
    return on_its_own(laid(LIFTED, tangent, order_of(primal._array)))


def same(value: Any) -> Tensor:
    """A view of all of a tensor, whose tangent is the very one that the tensor has."""
    view = inner = value[...]
    while is_dual(inner):
        dual_of(inner).link = lambda tangent: tangent
        inner = dual_of(inner).primal
    return view


def _spaced(tangent: Tensor, primal: Tensor) -> Tensor:
    """The tangent, copied unless it has the geometry of its primal in a storage of the same size:
    then views of the one match views of the other."""
    place, storage = _place_of(primal)
    other = _place_of(tangent)
    if 0 in place[0] or other == (place, storage):
        return tangent
    level: Any = primal._device
    if level.depth and level is tangent._device and not is_dual(primal):
        (whole, dim), (along, mine) = map(level.lower, (primal, tangent))
        if dim is not None is not mine:  # in a `vmap`, torch does not compare the storages
            if other[0] == place and other[1][1:] == storage[1:]:
                return tangent
            with level.outside():
                return level.lift(_spaced(along.movedim(mine, dim), whole), dim)
    memory = _zeros_beside(tangent, storage[0])
    copied = LIFTED.as_strided(memory, *place, ((storage[0],), (1,), 0)).copy_(tangent)
    return copied if copied.requires_grad else on_its_own(copied)


def _zeros_beside(value: Tensor, size: int) -> Tensor:
    """``size`` zeros, on the levels of a tensor."""
    place: Any = value._device
    if is_dual(value):
        return place.lift(_zeros_beside(dual_of(value).primal, size))
    return wrap(place.home.backend.zeros((size,), value._array.dtype), place.home)


def _place_of(value: Tensor) -> tuple[tuple, tuple]:
    """Shape, strides and offset in the storage; its size, and whether it is conjugated or negated
    lazily."""
    value = primal_below(value)
    array = memory_of(value._array)
    steps = [s if n > 1 else 0 for n, s in zip(array.shape, value.stride(), strict=True)]
    place = tuple(array.shape), tuple(steps), value.storage_offset()
    size = value._device.home.backend.storage_size(array)
    return place, (size, value.is_conj(), value.is_neg())


def read_only_zeros_like(value: Tensor) -> Tensor:
    """Read-only zeros, outside all levels."""
    place = value._device
    place = place.place if isinstance(place, Level) else place
    place = LazyPlace.before(place.home)
    return wrap(place.zeros(value._array.shape, value._array.dtype), place)


def settled(tangent: Tensor, primal: Tensor) -> Tensor:
    """The tangent, copied if it is read-only but its primal is not."""
    return tangent.clone() if is_read_only(tangent) and not is_read_only(primal) else tangent


def is_read_only(value: Tensor) -> bool:
    """Whether a tensor consists of read-only zeros, below all levels."""
    while value._device.depth:
        data: Any = value._array
        value = data.primal if data.__class__ is Dual else data.whole
    return is_zero(value._array)


class ForwardLevel(Level):
    """The device of tensors that carry tangents, while a forward transform runs.

    Its tensors are those given to `lift` with a tangent, and all that is computed with them.

    Args:
        batched: tangents are batches of several directions; then read-only zeros remain
            tangents.
        by_hand: it was opened by `forward_ad.dual_level`; then its tensors can be differentiated
            backwards, as their primals can.
    """

    __slots__ = ("batched", "by_hand", "carried")

    def __new__(cls, place: device, batched: bool = False, by_hand: bool = False) -> ForwardLevel:
        self = Level.__new__(cls, place)
        self.batched = batched
        self.by_hand = by_hand
        return self

    def __enter__(self) -> ForwardLevel:
        MODE.begun += 1
        self.carried = MODE.carries
        MODE.carries = MODE.carries or not self.by_hand
        return Level.__enter__(self)

    def __exit__(self, *exception: Any) -> None:
        MODE.carries = self.carried
        Level.__exit__(self, *exception)

    def detached(self, array: Dual) -> Dual:
        """The dual without a tangent, and its primal without history."""
        return Dual(array.primal.detach(), None)

    def lift(self, value: Any, tangent: Tensor | None = None) -> Any:
        """A tensor from outside the level as one of the level."""
        if not isinstance(value, Tensor) or value._device is self:
            return value
        return wrap(Dual(value, tangent), self)

    def point(self, value: Tensor, tangent: Tensor) -> Tensor:
        """The point of differentiation: ``value``, with the tangent that the user gives it.

        Raises:
            RuntimeError: elements of ``value`` share memory, and the tangent is not read-only.
        """
        if is_read_only(tangent):
            laid_alike = settled(tangent, value)
        else:
            if not has_order_of(tangent._array, value._array):
                check_expanded("make_dual", value._array)
            laid_alike = laid_out(tangent, value)
            if not self.batched:
                laid_alike = _spaced(laid_alike, value)
        found = wrap(Dual(same(value), laid_alike), self)
        if self.by_hand:
            self.count_writes(found, value._writes)
        dual_of(found).given = True
        return found

    def hold(self, value: Tensor, source: Any, link: Any) -> Dual:
        """The dual of a tensor from outside the level, without a tangent."""
        return Dual(value, None, source, link)

    def position(self, value: Tensor) -> Tensor:
        """A position of an index as a tensor outside the level: it has no derivative."""
        return self.lower(value)[0]

    def inside(self, array: Any) -> Tensor:
        return array.primal

    def lower(self, value: Tensor) -> tuple[Tensor, Tensor | None]:
        """The primal and the tangent of a tensor; one from outside the level is constant."""
        if value._device is not self:
            return value, None
        return dual_of(value).primal, dual_of(value).tangent


def dual_of(value: Tensor) -> Any:
    """The `Dual` that a tensor of a forward level holds."""
    return value._array


def is_dual(value: Any) -> bool:
    """Whether the value is a tensor of a forward level."""
    return isinstance(value, Tensor) and value._array.__class__ is Dual


def has_derivative(value: Any) -> bool:
    """Whether the value is a tensor of a dtype that has derivatives."""
    return isinstance(value, Tensor) and value.dtype.category >= FLOATING


def array_of(value: Any) -> Any:
    """The array of a Tensor below all levels; anything else as it is."""
    if not isinstance(value, Tensor):
        return value
    data = value._array
    return plain(primal_below(value)._array) if data.__class__ in (Dual, Lazy) else data


def positions_on(place: Any, positions: tuple) -> tuple:
    """The positions of an index as the algebra of a place takes them: arrays, or on a level the
    tensors outside it."""
    if not place.depth:
        return tuple(map(array_of, positions))
    found = []
    for item in positions:
        if isinstance(item, Tensor):
            while item._device.depth > place.depth:
                item, _ = item._device.lower(item)
            item = place.position(item)
        found.append(item)
    return tuple(found)


def primal_below(value: Any) -> Any:
    """The primal below all forward levels that a tensor is on."""
    while is_dual(value):
        value = dual_of(value).primal
    return value
