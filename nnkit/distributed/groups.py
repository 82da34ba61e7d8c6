"""Process groups: the default one of all ranks, and groups of some of them."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any, ClassVar

from nnkit.backend import ranks as world_of_ranks
from nnkit.backend.errors import DistBackendError, DistNetworkError, DistStoreError
from nnkit.backend.ranks import Group
from nnkit.backend.warning import warn
from nnkit.distributed.debug_level import DebugLevel, get_debug_level
from nnkit.distributed.rendezvous import find_world

default_pg_timeout = timedelta(minutes=30)
BACKENDS = ("mpi", "gloo", "nccl", "undefined")


class Backend(str):
    """The name of a backend in lower case: ``mpi``, ``nccl``, or ``gloo``, for which MPI serves."""

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    MPI = "mpi"
    backend_list = list(BACKENDS)
    default_device_backend_map: ClassVar[dict[str, str]] = {
        "cpu": GLOO, "cuda": NCCL, "mps": GLOO,
    }  # fmt: skip

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return super().__new__(cls, name.lower())


class ProcessGroup:
    """A group of ranks, which call collectives together; made by `new_group`."""

    def __init__(self, members: Group, backend: str, name: str, description: str) -> None:
        self._members = members
        self._backend = backend
        self.group_name = name
        self.group_desc = description

    def rank(self) -> int:
        """The number of this process in the group."""
        return self._members.rank

    def size(self) -> int:
        """The number of processes in the group."""
        return self._members.size

    def name(self) -> str:
        """The name of the backend."""
        return self._backend

    def set_timeout(self, timeout: timedelta) -> None:
        """Set how long its members wait for each other."""
        self._members.seconds = seconds_of(timeout)

    def __repr__(self) -> str:
        return f"<ProcessGroup {self.group_name} of ranks {self._members.ranks}>"


class GroupMember:
    """The default group, and the value that `new_group` returns to ranks outside the group."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = -100


group = GroupMember

_pg_map: dict[ProcessGroup, tuple[str, Any]] = {}  # the groups, with their backends and stores


def is_available() -> bool:
    """Whether there are process groups: always. Those of several processes need mpi4py."""
    return True


def is_mpi_available() -> bool:
    """Whether mpi4py and a library of MPI are installed."""
    try:
        world_of_ranks.load_mpi()
    except RuntimeError:
        return False
    return True


def is_gloo_available() -> bool:
    """As `is_mpi_available`: MPI serves for gloo."""
    return is_mpi_available()


def is_nccl_available() -> bool:
    """Whether CuPy is installed with NCCL."""
    try:
        from nnkit.backend.cuda.collective import load_nccl

        load_nccl()
    except RuntimeError:
        return False
    return True


def is_ucc_available() -> bool:
    """False: there is no such backend here."""
    return False


is_xccl_available = is_ucc_available


def is_backend_available(backend: str) -> bool:
    """Whether a backend of that name is installed."""
    found = {"mpi": is_mpi_available, "gloo": is_gloo_available, "nccl": is_nccl_available}
    return backend.lower() in found and found[backend.lower()]()


def is_initialized() -> bool:
    """Whether `init_process_group` was called."""
    return GroupMember.WORLD is not None


def is_torchelastic_launched() -> bool:
    """Whether `nnkit.distributed.run` has started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The number of this process among those on its machine, from ``LOCAL_RANK``.

    Raises:
        RuntimeError: no launcher has set it, and no ``fallback_rank`` is given.
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow "
        "`get_node_local_rank` to work, where no launcher has set it."
    )


def seconds_of(timeout: timedelta | None) -> float:
    """A timeout in seconds; TypeError if it is no timedelta."""
    if timeout is None:
        return default_pg_timeout.total_seconds()
    if not isinstance(timeout, timedelta):
        raise TypeError(
            f"Expected timeout argument to be of type datetime.timedelta, got {timeout}"
        )
    return timeout.total_seconds()


def backend_named(backend: str | None) -> Backend:
    """The name of a backend, or of several by device, as in ``cpu:gloo,cuda:nccl``.

    Raises:
        ValueError: there is none of that name.
    """
    name = Backend("undefined" if backend is None else backend)
    for each in name.split(","):
        if each.rpartition(":")[2] not in BACKENDS:
            raise ValueError(f"Invalid backend: {backend!r}, expected one of mpi, nccl, gloo, None")
    return name


def get_default_backend_for_device(device: Any) -> str:
    """The backend for the tensors of a device: ``gloo`` for the CPU, ``nccl`` for GPUs.

    Raises:
        ValueError: there is none.
    """
    kind = device if isinstance(device, str) else device.type
    name = Backend.default_device_backend_map.get(kind.partition(":")[0])
    if name is None:
        raise ValueError(f"Default backend not registered for device : {device}")
    return name


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
    _ranks: Any = None,
) -> None:
    """Make the default group, of all processes of the job.

    They are found by, in this order: a launcher of MPI (``mpiexec``) that has started this process;
    ``rank`` and ``world_size``, or the variables ``RANK`` and ``WORLD_SIZE`` that
    `nnkit.distributed.run` sets; without any of these, this process is a world of one. A world of
    one needs no MPI.

    Args:
        backend: ``"mpi"``, ``"nccl"`` for tensors on GPUs, ``"gloo"`` (for which MPI serves), or
            None for whatever the tensors need.
        init_method: where the processes meet: ``env://`` (the default: at ``MASTER_ADDR`` and
            ``MASTER_PORT``), ``tcp://host:port``, ``file:///path``, or a scheme of
            `register_rendezvous_handler`.
        timeout: how long a collective waits for the other ranks; half an hour by default.
        world_size, rank: the number of processes, and the number of this one.
        store: a store by which they find each other, in place of ``init_method``.
        group_name, pg_options, device_id: accepted.

    Raises:
        ValueError: it was called before, there is no such backend, or a variable is missing.
        RuntimeError: there are several processes, and MPI is not installed.
        DistNetworkError: the address cannot be used.
        DistStoreError: not all processes have come within ``timeout``.

    Example:
        >>> import nnkit.distributed as dist
        >>> dist.init_process_group()
        >>> dist.get_rank(), dist.get_world_size()
        (0, 1)
        >>> dist.destroy_process_group()
    """
    if GroupMember.WORLD is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    name = backend_named(backend)
    seconds = seconds_of(timeout)
    if store is not None:
        if world_size <= 0:
            raise AssertionError("world_size must be positive if using store")
        if rank < 0:
            raise AssertionError("rank must be non-negative if using store")
    world = find_world(init_method or "env://", world_size, rank, store, seconds)
    members = world.group(list(range(world.size)), seconds)
    members.compares_shapes = get_debug_level() is DebugLevel.DETAIL
    GroupMember.WORLD = ProcessGroup(members, name, "0", "default_pg")
    _pg_map[GroupMember.WORLD] = name, None


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Free a group, by default all of them.

    Raises:
        AssertionError: there is no default group.
        ValueError: the group is not one of this process.
    """
    if group == GroupMember.NON_GROUP_MEMBER:
        return
    found = GroupMember.WORLD if group is None else group
    if found is None:
        raise AssertionError("Process group cannot be None")
    if found not in _pg_map:
        raise ValueError("Invalid process group specified")
    for each in list(_pg_map) if found is GroupMember.WORLD else [found]:
        del _pg_map[each]
        each._members.free()
    if found is GroupMember.WORLD:
        GroupMember.WORLD = None


def new_group(
    ranks: list[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Any:
    """A group of some ranks; all processes call this, in the same order.

    Args:
        ranks: the members; all by default.
        timeout: how long its members wait for each other.
        backend: as in `init_process_group`.
        pg_options, device_id: accepted.
        use_local_synchronization: only the members call this.
        group_desc: a description.
        sort_ranks: number the members by their ranks, and not in the given order.

    Returns:
        The group, or ``GroupMember.NON_GROUP_MEMBER`` if this process is not in it.

    Raises:
        ValueError: a rank comes twice or does not exist, or there is no default group.
    """
    default = default_group()
    world = default._members.world
    name = default._backend if backend is None else backend_named(backend)
    seconds = seconds_of(timeout)
    ranks = list(range(world.size)) if ranks is None else list(ranks)
    if sort_ranks:
        ranks = sorted(ranks)
    if use_local_synchronization and world.rank not in ranks:
        return None
    if len(set(ranks)) != len(ranks):
        raise ValueError(f"ranks list must not contain duplicate entries, got {ranks}")
    if len(ranks) > world.size:
        raise ValueError(
            "the new group's world size should be less or equal to the world size set by "
            "init_process_group"
        )
    for each in ranks:
        if not 0 <= each < world.size:
            raise ValueError(
                f"Rank {each} is out of range. Valid ranks are 0 to {world.size - 1} "
                f"(world_size={world.size})"
            )
    if world.rank not in ranks:
        return GroupMember.NON_GROUP_MEMBER
    members = world.group(ranks, seconds)
    members.compares_shapes = default._members.compares_shapes
    made = ProcessGroup(members, name, str(len(_pg_map)), group_desc or "undefined")
    _pg_map[made] = name, None
    return made


def new_subgroups(
    group_size: int | None = None,
    group: ProcessGroup | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list]:
    """Groups of ``group_size`` neighbouring ranks each: this process's own, and all of them.

    Raises:
        ValueError: ``group_size`` is not positive or does not divide the number of ranks.
    """
    size = get_world_size()
    if group_size is None:
        group_size = int(os.environ.get("LOCAL_WORLD_SIZE", size))
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    if size < group_size:
        raise ValueError(
            f"The arg 'group_size' ({group_size}) must not exceed the world size ({size})"
        )
    if size % group_size:
        raise ValueError(f"The world size ({size}) must be divisible by 'group_size={group_size}'")
    parts = [list(range(start, start + group_size)) for start in range(0, size, group_size)]
    return new_subgroups_by_enumeration(parts, timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: list[list[int]],
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list]:
    """Groups of the given ranks: this process's own, and all of them.

    Raises:
        ValueError: the list is empty, or a rank is in two groups.
    """
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    seen: set[int] = set()
    for part in ranks_per_subgroup_list:
        for each in part:
            if each in seen:
                raise ValueError(f"Rank {each} has appeared in both subgroups")
            seen.add(each)
    made = [new_group(part, timeout, backend) for part in ranks_per_subgroup_list]
    own = [g for g in made if g != GroupMember.NON_GROUP_MEMBER]
    return (own[0] if own else None), made


def split_group(
    parent_pg: ProcessGroup | None = None,
    split_ranks: list[list[int]] | None = None,
    timeout: timedelta | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
    backend: str | None = None,
) -> ProcessGroup | None:
    """Groups of the members of one group, each of which calls this.

    Args:
        parent_pg: the group; that of all by default.
        split_ranks: the members of each part, by their ranks in the group.
        timeout: how long the members of a part wait for each other.
        pg_options: accepted.
        group_desc: a description.
        backend: that of the group, if given.

    Returns:
        The part that this process is in, or None.

    Raises:
        ValueError: there is no part, one is empty or has a rank twice or one that does not exist,
            the group is none of this process's, or ``backend`` is another than the group's.

    Example:
        >>> import nnkit.distributed as dist
        >>> dist.init_process_group()
        >>> dist.split_group(split_ranks=[[0]]).size()
        1
        >>> dist.destroy_process_group()
    """
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    parent = parent_pg or default_group()
    if parent not in _pg_map:
        raise ValueError(f"Group {parent} is not registered")
    if backend is not None and backend_named(backend) != parent._backend:
        raise ValueError(
            f"Backend mismatch: parent has '{parent._backend}', requested '{backend}'. Backend "
            "names must match exactly when filtering split_group backends."
        )
    for part in split_ranks:
        if not part:
            raise ValueError("the split group cannot be empty")
        if len(part) > get_world_size():
            raise ValueError(
                "the split group's size should be less or equal to the world_size set by "
                "init_process_group"
            )
        if len(part) != len(set(part)):
            raise ValueError("the split group cannot have duplicate ranks")
        if parent.rank() in part:
            ranks = [get_global_rank(parent, each) for each in sorted(part)]
            name = group_desc or f"{parent.group_desc}:split"
            return new_group(ranks, timeout, parent._backend, pg_options, group_desc=name)
    return None


# Queries


def default_group() -> ProcessGroup:
    """The default group.

    Raises:
        ValueError: `init_process_group` was not called.
    """
    if GroupMember.WORLD is None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call "
            "init_process_group."
        )
    return GroupMember.WORLD


def member_of(name: str, group: Any) -> ProcessGroup | None:
    """The group of a collective; None, with a warning, if this process is not in it."""
    if group is None:
        return default_group()
    if group == GroupMember.NON_GROUP_MEMBER:
        rank = -1 if GroupMember.WORLD is None else GroupMember.WORLD.rank()
        warn(f"Running {name} on global rank {rank} which does not belong to the given group.")
        return None
    return group


def get_rank(group: ProcessGroup | None = None) -> int:
    """The number of this process in the group; -1 if it is not in it."""
    return -1 if group == GroupMember.NON_GROUP_MEMBER else (group or default_group()).rank()


def get_world_size(group: ProcessGroup | None = None) -> int:
    """The number of processes in the group; -1 if this one is not among them."""
    return -1 if group == GroupMember.NON_GROUP_MEMBER else (group or default_group()).size()


def get_backend(group: ProcessGroup | None = None) -> Backend:
    """The name of the group's backend.

    Raises:
        ValueError: this process is not in the group.
    """
    if group == GroupMember.NON_GROUP_MEMBER:
        raise ValueError("Invalid process group specified")
    return Backend((group or default_group())._backend)


get_backend_config = get_backend


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """The global ranks of the members, in the order of their ranks in the group."""
    return list((group or default_group())._members.ranks)


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The rank in the group of a global rank; ValueError if it is no member."""
    ranks = group._members.ranks
    if global_rank not in ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return ranks.index(global_rank)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The global rank of a rank in the group; ValueError if there is none."""
    if not 0 <= group_rank < group.size():
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return group._members.ranks[group_rank]


def get_pg_count() -> int:
    """The number of groups that this process is in."""
    return len(_pg_map)


def chosen_rank(group: ProcessGroup, global_rank: int | None, group_rank: int | None) -> int:
    """The rank in the group that one of two arguments gives.

    Raises:
        ValueError: both or none of them is given, or it is no member.
    """
    if group_rank is not None:
        if global_rank is not None:
            raise ValueError("Can't specify both group_rank and global_rank")
        get_global_rank(group, group_rank)
        return group_rank
    if global_rank is None:
        raise ValueError("Must specify global_rank or group_rank")
    return get_group_rank(group, global_rank)


__all__ = [
    "Backend", "DistBackendError", "DistNetworkError", "DistStoreError", "GroupMember",
    "ProcessGroup", "default_pg_timeout", "destroy_process_group", "get_backend",
    "get_backend_config", "get_default_backend_for_device",
    "get_global_rank", "get_group_rank", "get_node_local_rank", "get_pg_count",
    "get_process_group_ranks", "get_rank", "get_world_size", "group", "init_process_group",
    "is_available", "is_backend_available", "is_gloo_available", "is_initialized",
    "is_mpi_available", "is_nccl_available", "is_torchelastic_launched", "is_ucc_available",
    "is_xccl_available", "new_group", "new_subgroups", "new_subgroups_by_enumeration",
    "split_group",
]  # fmt: skip
