"""Placements: how a `DTensor` is distributed along each dimension of its mesh."""

from __future__ import annotations

from dataclasses import dataclass


class Placement:
    """A tensor's placement along one dimension of a mesh: `Shard`, `Replicate` or `Partial`."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether it is divided (along ``dim``, if that is given)."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether every rank has all of it."""
        return isinstance(self, Replicate)

    def is_partial(self) -> bool:
        """Whether it is the sum, or another reduction, of what the ranks have."""
        return isinstance(self, Partial)


@dataclass(frozen=True)
class Shard(Placement):
    """Divided along a dimension: each of n ranks has ``ceil(size / n)`` rows, the last ones fewer
    or none."""

    dim: int


@dataclass(frozen=True)
class Replicate(Placement):
    """Every rank has all of it."""


@dataclass(frozen=True)
class Partial(Placement):
    """Terms that are still to be reduced: by ``sum``, ``avg``, ``min``, ``max`` or ``product``."""

    reduce_op: str = "sum"

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"


def part(rows: int, number: int, place: int) -> tuple[int, int]:
    """The first row of one of so many parts, and how many rows it has."""
    chunk = -(-rows // number)
    start = min(place * chunk, rows)
    return start, min(chunk, rows - start)
