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
from nnkit.autograd.tensor import Size, Tensor
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
        return cls.made(values, _coordinates=indices, _shape=Size(shape), _coalesced=coalesced)

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

    def flat(self, dims: Sequence[int] | None = None) -> Tensor:
        """For each stored element the place of its index among all that there may be."""
        dims = range(self.sparse_dims) if dims is None else dims
        rows = self._coordinates
        place = rows.new_zeros(rows.shape[1])
        for dim in dims:
            place = place * self._shape[dim] + rows[dim]
        return place

    def at(self) -> tuple[Tensor, ...]:
        """The index of the stored elements in a tensor that is strided."""
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
    """The sizes that indices need at least."""
    if not indices._array.shape[1]:
        return [0] * indices._array.shape[0]
    return (indices.amax(1) + 1).tolist()


def unflattened(place: Tensor, sizes: Sequence[int]) -> Tensor:
    """The indices, (len(sizes), n), of places among all that there may be."""
    rows = []
    for size in reversed(sizes):
        rows.append(place % size if size else place)
        place = place.div(max(size, 1), rounding_mode="floor")
    return PUBLIC["stack"](rows[::-1]) if rows else place.new_empty((0, place.shape[0]))


def added(values: Tensor) -> Tensor:
    """The sum of the values of one index, in their dtype."""
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
    """The same elements wherever an index of 1 repeats them in a larger shape.

    Raises:
        RuntimeError: the shape is no larger one.
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
    rows = [rows[0].new_zeros(rows[0].shape) if rows else _zeros_of(x)] * more + rows
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


def _zeros_of(x: CoordinateTensor) -> Tensor:
    return x._coordinates.new_zeros(x._nnz())


def joined_keys(x: CoordinateTensor, y: CoordinateTensor) -> tuple[Tensor, Tensor]:
    """For each element of ``x`` where in ``y``, which is coalesced, its index stands, and whether
    it does."""
    own, other = x.flat(), y.flat()
    if not other.shape[0]:
        return own.new_zeros(own.shape), own != own
    where = PUBLIC["searchsorted"](other, own).clamp(max=other.shape[0] - 1)
    return where, other[where] == own
