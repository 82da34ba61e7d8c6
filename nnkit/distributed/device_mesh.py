"""Meshes of ranks, with a group along each dimension, as ``torch.distributed.device_mesh``."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

from nnkit.autograd.ops.creation.factories import arange
from nnkit.autograd.ops.exchange.interchange import tensor
from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import DTYPES
from nnkit.distributed.groups import (
    GroupMember,
    ProcessGroup,
    default_group,
    get_process_group_ranks,
    init_process_group,
    is_initialized,
    new_group,
)

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """Ranks in an array of one or several dimensions, with a group along each.

    Args:
        device_type: the device of their tensors, ``"cpu"`` or ``"cuda"``.
        mesh: the ranks, a tensor of integers or nested lists.
        mesh_dim_names: a name for each dimension; ``mesh["name"]`` is the part along it.

    Raises:
        RuntimeError: there are more ranks in it than in the world, or not as many names as
            dimensions.

    Example:
        >>> import nnkit
        >>> mesh = nnkit.distributed.device_mesh.init_device_mesh("cpu", (1,))
        >>> mesh
        DeviceMesh((1,), 'cpu', stride=(1,))
        >>> nnkit.distributed.destroy_process_group()
    """

    def __init__(
        self,
        device_type: str,
        mesh: Any,
        *,
        mesh_dim_names: tuple[str, ...] | None = None,
        _groups: list[Any] | None = None,
    ) -> None:
        if not is_initialized():
            init_process_group()
        self.device_type = device_type
        given = mesh if isinstance(mesh, Tensor) else tensor(mesh)
        self.mesh = given.detach().to(DTYPES["int32"])
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        ranks = self.mesh.flatten().tolist()
        world = default_group()
        if len(ranks) > world.size():
            raise RuntimeError(
                f"Mesh should not be bigger than default world size {world.size()}, but found "
                f"{len(ranks)} ranks!"
            )
        if len(set(ranks)) < len(ranks):
            raise RuntimeError(f"DeviceMesh cannot have duplicate ranks, got {ranks}")
        place = ranks.index(world.rank()) if world.rank() in ranks else None
        coordinates = list(product(*map(range, self.shape)))
        self._coordinate = None if place is None else coordinates[place]
        self._groups = self._make_groups() if _groups is None else _groups

    def _make_groups(self) -> list[Any]:
        """The group of this rank along each dimension; all ranks make all groups, in one order."""
        world = default_group()
        own: list[Any] = []
        for dim in range(self.ndim):
            rows = self.mesh.movedim(dim, -1).reshape(-1, self.shape[dim]).tolist()
            if rows == [get_process_group_ranks(world)]:
                own.append(world)
                continue
            made = [new_group(row) for row in rows]
            own.append(next((g for g in made if g != GroupMember.NON_GROUP_MEMBER), None))
        return own

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of ranks along each dimension."""
        return tuple(self.mesh.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.mesh.ndim

    def size(self, mesh_dim: int | None = None) -> int:
        """The number of ranks, in all or along a dimension."""
        return prod(self.shape) if mesh_dim is None else self.shape[mesh_dim]

    def get_coordinate(self) -> tuple[int, ...] | None:
        """The coordinate of this rank in the mesh; None if it is not in it."""
        return self._coordinate

    def get_rank(self) -> int:
        """The global rank of this process."""
        return default_group().rank()

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """The coordinate of this rank along a dimension, which may be omitted if there is only one.

        Raises:
            RuntimeError: there are several dimensions, and none is chosen.
        """
        dim = self._dim("get_local_rank", mesh_dim)
        if self._coordinate is None:
            raise RuntimeError(f"rank {self.get_rank()} is not in {self}")
        return self._coordinate[dim]

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """The group along a dimension that this rank is in.

        Raises:
            RuntimeError: there are several dimensions, and none is chosen.
        """
        return self._groups[self._dim("get_group", mesh_dim)]

    def get_all_groups(self) -> list[ProcessGroup]:
        """The groups of this rank along all dimensions."""
        return list(self._groups)

    def _dim(self, name: str, dim: int | str | None) -> int:
        if isinstance(dim, str):
            return self._named(dim)
        if dim is None and self.ndim > 1:
            raise RuntimeError(
                f"Found the DeviceMesh have {self.ndim} dimensions. Optional kwarg `mesh_dim` "
                f"needs to be specified in {name} when device_mesh.ndim > 1."
            )
        return dim or 0

    def _named(self, name: str) -> int:
        if name not in (self.mesh_dim_names or ()):
            raise KeyError(
                f"Invalid mesh_dim_name '{name}' specified. Valid mesh_dim_names are "
                f"{self.mesh_dim_names}."
            )
        return self.mesh_dim_names.index(name)  # type: ignore[union-attr]

    def __getitem__(self, names: str | tuple[str, ...]) -> DeviceMesh:
        """The sub-mesh of this rank along the dimensions of these names, with the same groups.

        Raises:
            KeyError: there is no dimension of that name.
        """
        chosen = (names,) if isinstance(names, str) else tuple(names)
        dims = [self._named(name) for name in chosen]
        if self._coordinate is None:
            raise RuntimeError(f"rank {self.get_rank()} is not in {self}")
        index = tuple(slice(None) if d in dims else c for d, c in enumerate(self._coordinate))
        order = [sorted(dims).index(d) for d in dims]
        return DeviceMesh(
            self.device_type, self.mesh[index].permute(order), mesh_dim_names=chosen,
            _groups=[self._groups[d] for d in dims],
        )  # fmt: skip

    @staticmethod
    def from_group(
        group: ProcessGroup, device_type: str, *, mesh_dim_names: tuple[str, ...] | None = None
    ) -> DeviceMesh:
        """The mesh of one dimension that consists of a group."""
        ranks = get_process_group_ranks(group)
        return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names, _groups=[group])

    def __eq__(self, other: Any) -> bool:
        return self is other or (isinstance(other, DeviceMesh) and self._key() == other._key())

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple:
        ranks = tuple(self.mesh.flatten().tolist())
        return self.device_type, self.shape, ranks, self.mesh_dim_names

    def __repr__(self) -> str:
        names, shape = self.mesh_dim_names, self.shape
        pairs = ", ".join(f"{n}={s}" for n, s in zip(names or (), shape))
        strides = tuple(prod(shape[d + 1 :]) for d in range(self.ndim))
        sizes = f"({pairs})" if names else shape
        return f"DeviceMesh({sizes}, '{self.device_type}', stride={strides})"


def init_device_mesh(
    device_type: str,
    mesh_shape: tuple[int, ...],
    *,
    mesh_dim_names: tuple[str, ...] | None = None,
    backend_override: Any = None,
) -> DeviceMesh:
    """The mesh of ranks 0, 1, ... by rows; all ranks call this.

    Args:
        device_type: ``"cpu"`` or ``"cuda"``.
        mesh_shape: how many ranks lie along each dimension.
        mesh_dim_names: a name for each dimension.
        backend_override: accepted.

    Raises:
        RuntimeError: two dimensions have one name, there are not as many names as dimensions, the
            world is too small, or ``device_type`` holds a number.

    Example:
        >>> import nnkit.distributed as dist
        >>> mesh = dist.init_device_mesh("cpu", (1, 1), mesh_dim_names=("replicate", "shard"))
        >>> mesh["shard"].size(), mesh.get_local_rank("replicate")
        (1, 0)
        >>> dist.destroy_process_group()
    """
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) != len(mesh_dim_names):
            raise RuntimeError(
                f"Each mesh_dim_name must be unique. Found repeated mesh_dim_name in mesh_dim_names"
                f" {mesh_dim_names}"
            )
        if len(mesh_shape) != len(mesh_dim_names):
            raise RuntimeError(
                "mesh_shape and mesh_dim_names should have same length! Found len(mesh_dim_names): "
                f"{len(mesh_dim_names)} and len(mesh_shape):{len(mesh_shape)}."
            )
    if not device_type.isalpha():
        raise RuntimeError(
            f"Device type with index is not supported but got {device_type}. If you maintained a "
            "'torch.device' object, it's recommended to pass in 'device.type'."
        )
    return DeviceMesh(
        device_type, arange(prod(mesh_shape)).view(mesh_shape), mesh_dim_names=mesh_dim_names
    )
