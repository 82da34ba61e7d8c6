"""`CoordinateTensor`: the sparse layout of coordinates, ``nnkit.sparse_coo``.

Of n stored elements it holds the indices, (sparse_dim, n), and the values, (n, *dense_dims). Where
an index stands several times, its values are to be added: the tensor is not *coalesced*.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from nnkit.autograd.engine.node import SPARSE
from nnkit.autograd.op.public import PUBLIC
from nnkit.autograd.sparse.tensor import SparseTensor
from nnkit.autograd.surface.size import Size
from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import int64
from nnkit.backend.memory import sparse_coo


class CoordinateTensor(SparseTensor):
    """A tensor of layout ``nnkit.sparse_coo``; made by `nnkit.sparse_coo_tensor`."""

    _layout = sparse_coo
    _names = ("_coordinates",)
    _coordinates: Tensor
    _coalesced: bool

    @classmethod
    def of(
        cls, indices: Tensor, values: Tensor, shape: Sequence[int], coalesced: bool | None = None
    ) -> CoordinateTensor:
        """The tensor of these indices and values; one of fewer than two is coalesced."""
        if coalesced is None:
            coalesced = values._array.shape[0] < 2
        return cls.with_values(
            values, _coordinates=indices, _shape=Size(shape), _coalesced=coalesced
        )

    def like(self, values: Tensor, **changed: Any) -> Any:
        changed.setdefault("_coalesced", self._coalesced)
        return super().like(values, **changed)

    def parts(self) -> tuple:
        return (*super().parts(), self._coalesced)

    is_sparse = property(lambda self: True, doc="Whether it is stored by coordinates.")

    @property
    def sparse_dims(self) -> int:
        """The number of dimensions that have indices."""
        return self._coordinates._array.shape[0]

    @property
    def nbytes(self) -> int:
        """Not defined: RuntimeError."""
        raise RuntimeError(
            "nbytes is not defined for sparse tensors. If you want the size of the constituent "
            "tensors, add the nbytes of the indices and values."
        )

    @property
    def dense_dims(self) -> int:
        """The number of dimensions that each stored value has."""
        return self.ndim - self.sparse_dims

    def flat(self, dims: Sequence[int] | None = None) -> Tensor:
        """The index of each stored element as one number, along some dimensions or all."""
        dims = range(self.sparse_dims) if dims is None else dims
        rows = self._coordinates
        place = rows.new_zeros(rows.shape[1])
        for dim in dims:
            place = place * self._shape[dim] + rows[dim]
        return place

    def at(self) -> tuple[Tensor, ...]:
        """The index that selects the stored elements from a strided tensor."""
        return tuple(self._coordinates.unbind(0))

    def __reduce_ex__(self, protocol: Any) -> tuple:
        function, (kind, values, attributes, requires_grad) = super().__reduce_ex__(protocol)
        attributes["_coalesced"] = self._coalesced
        return function, (kind, values, attributes, requires_grad)

    def _texts(self) -> list[tuple[str, Tensor]]:
        return [("indices", self._coordinates)]

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return self._printed(below=True)


SPARSE.add(CoordinateTensor)


def is_ascending(x: CoordinateTensor) -> bool:
    """Whether its indices are in ascending order, and none stands twice."""
    places = x.flat()
    return x._coalesced or bool((places[1:] > places[:-1]).all())


def least_sizes(indices: Tensor) -> list[int]:
    """The smallest sizes that contain the indices."""
    if not indices._array.shape[1]:
        return [0] * indices._array.shape[0]
    return (indices.amax(1) + 1).tolist()


def unflattened(place: Tensor, sizes: Sequence[int]) -> Tensor:
    """The indices, (len(sizes), n), that `CoordinateTensor.flat` gave as one number each."""
    rows = []
    for size in reversed(sizes):
        rows.append(place % size if size else place)
        place = place.div(max(size, 1), rounding_mode="floor")
    return PUBLIC["stack"](rows[::-1]) if rows else place.new_empty((0, place.shape[0]))


def added(values: Tensor) -> Tensor:
    """The sum of several values, in their dtype."""
    return values.sum(0, dtype=values.dtype)


def coalesce(x: CoordinateTensor) -> CoordinateTensor:
    """The same tensor with every index once, in ascending order; values of one index are added."""
    if x._coalesced:
        return x
    if x._nnz() < 2:
        return x.like(x.stored().clone(), _coalesced=True)
    if not x.sparse_dims:
        values = added(x.stored())[None]
        return CoordinateTensor.of(x._coordinates[:, :1], values, x._shape, True)
    places, which = PUBLIC["unique"](x.flat(), return_inverse=True)
    values = x.stored()
    order = which.argsort(stable=True)
    first = values.new_zeros((places.shape[0], *values.shape[1:]))
    values = first.index_add(0, which[order], values.index_select(0, order))
    indices = unflattened(places, x._shape[: x.sparse_dims])
    return CoordinateTensor.of(indices, values, x._shape, True)


def to_dense(x: CoordinateTensor) -> Tensor:
    """The strided tensor of the same elements."""
    values = x.stored()
    if not x.sparse_dims:
        return added(values)
    out = values.new_zeros(x._shape)
    return out.index_put(x.at(), values, accumulate=True)


def from_dense(x: Tensor, sparse_dims: int) -> CoordinateTensor:
    """The elements of a strided tensor that are not 0, or the slices that are not all 0."""
    shape = x.shape
    if not sparse_dims:
        value = x[None][x[None].detach() != 0]
        return CoordinateTensor.of(x.new_empty((0, len(value)), dtype=int64), value, shape, True)
    found = x.detach() != 0
    if x.ndim > sparse_dims:
        found = found.reshape(*shape[:sparse_dims], prod(shape[sparse_dims:])).any(-1)
    indices = found.nonzero().t().contiguous()
    return CoordinateTensor.of(indices, x[tuple(indices.unbind(0))], shape, True)


def broadcast(x: CoordinateTensor, shape: Sequence[int]) -> CoordinateTensor:
    """The tensor expanded to a larger shape, each element stored as often as it is repeated.

    Raises:
        RuntimeError: its sizes do not broadcast to those of the shape.
    """
    more = len(shape) - x.ndim
    for dim, (n, wanted) in enumerate(zip(x._shape, shape[max(more, 0) :])):
        if n not in (1, wanted) or more < 0:
            raise RuntimeError(
                f"The input's length {n} at dimension {dim + more} does not broadcast over the "
                f"requested shape of length {wanted} at dimension {dim + more}"
            )
    if tuple(shape) == tuple(x._shape):
        return x
    values, rows = x.stored(), list(x._coordinates.unbind(0))
    rows = [x._coordinates.new_zeros(x._nnz())] * more + rows
    for dim, size in enumerate(shape[: len(rows)]):
        if dim >= more and x._shape[dim - more] == size:
            continue
        count = values.shape[0]
        rows = [row.repeat_interleave(size) for row in rows]
        rows[dim] = PUBLIC["arange"](size, device=rows[dim].device).repeat(count)
        values = values.repeat_interleave(size, 0)
    values = values.expand(values.shape[0], *shape[len(rows) :])
    indices = PUBLIC["stack"](rows) if rows else x._coordinates
    return CoordinateTensor.of(indices, values, shape, False)


def find_indices(x: CoordinateTensor, y: CoordinateTensor) -> tuple[Tensor, Tensor]:
    """The position in ``y``, which is coalesced, of the index of each element of ``x``, and
    whether ``y`` has it."""
    own, other = x.flat(), y.flat()
    if not other.shape[0]:
        return own.new_zeros(own.shape), own != own
    where = PUBLIC["searchsorted"](other, own).clamp(max=other.shape[0] - 1)
    return where, other[where] == own


def pairs_of_equal(left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    """The positions of all pairs of equal elements; ``right`` is in ascending order."""
    first = PUBLIC["searchsorted"](right, left)
    count = PUBLIC["searchsorted"](right, left, right=True) - first
    of_left = PUBLIC["arange"](len(left), device=left.device).repeat_interleave(count)
    within = PUBLIC["arange"](len(of_left), device=left.device) - (count.cumsum(0) - count)[of_left]
    return of_left, first[of_left] + within
