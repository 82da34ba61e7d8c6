"""Collectives on Python objects, which are pickled: only for ranks that trust each other."""

from __future__ import annotations

import pickle
from typing import Any

from nnkit.autograd.ops.creation.factories import empty, tensor
from nnkit.autograd.ops.exchange.interchange import frombuffer
from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import DTYPES
from nnkit.distributed.collectives import all_gather, broadcast, gather, place_of, scatter
from nnkit.distributed.groups import ProcessGroup, chosen_rank, member_of
from nnkit.distributed.point_to_point import recv, send

__all__ = [
    "all_gather_object", "broadcast_object_list", "gather_object", "recv_object_list",
    "scatter_object_list", "send_object_list",
]  # fmt: skip


def _pickled(value: Any, group: ProcessGroup) -> tuple[Tensor, Tensor]:
    """The pickled bytes of an object, and their number."""
    content = bytearray(pickle.dumps(value))
    place = place_of(group)
    sent = frombuffer(content, dtype=DTYPES["uint8"]).to(place)
    return sent, tensor([len(content)], dtype=DTYPES["int64"], device=place)


def _unpickled(content: Tensor, size: int) -> Any:
    return pickle.loads(content[:size].cpu().numpy().tobytes())


def _bytes(size: int, group: ProcessGroup) -> Tensor:
    return empty(size, dtype=DTYPES["uint8"], device=place_of(group))


def _number(group: ProcessGroup) -> Tensor:
    return tensor([0], dtype=DTYPES["int64"], device=place_of(group))


def _padded(content: Tensor, size: int, group: ProcessGroup) -> Tensor:
    """The bytes followed by zeros, ``size`` in all."""
    out = _bytes(size, group)
    out[: content.numel()] = content
    out[content.numel() :] = 0
    return out


def _all_sizes(own: Tensor, group: ProcessGroup) -> list[int]:
    sizes = [_number(group) for _ in range(group.size())]
    all_gather(sizes, own, group)
    return [int(size) for size in sizes]


def all_gather_object(object_list: list, obj: Any, group: Any = None) -> None:
    """Put the object of rank r at place r of every rank's ``object_list``.

    The objects are pickled: whoever can send bytes here can run programs here.

    Example:
        >>> import nnkit.distributed as dist
        >>> dist.init_process_group()
        >>> found = [None]
        >>> dist.all_gather_object(found, {"loss": 1})
        >>> found
        [{'loss': 1}]
        >>> dist.destroy_process_group()
    """
    members = member_of("all_gather_object", group)
    if members is None:
        return
    content, size = _pickled(obj, members)
    sizes = _all_sizes(size, members)
    parts = [_bytes(max(sizes), members) for _ in sizes]
    all_gather(parts, _padded(content, max(sizes), members), members)
    for index, (part, length) in enumerate(zip(parts, sizes)):
        object_list[index] = _unpickled(part, length)


def gather_object(
    obj: Any,
    object_gather_list: list | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """Put the object of rank r at place r of ``object_gather_list`` on rank ``dst``, 0 by default.

    Raises:
        ValueError: the list is missing on rank ``dst``, or given on another.
    """
    members = member_of("gather_object", group)
    if members is None:
        return
    root = chosen_rank(members, 0 if dst is None and group_dst is None else dst, group_dst)
    receives = members.rank() == root
    if receives and not object_gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if not receives and object_gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    content, size = _pickled(obj, members)
    sizes = _all_sizes(size, members)
    parts = [_bytes(max(sizes), members) for _ in sizes] if receives else None
    gather(_padded(content, max(sizes), members), parts, group=members, group_dst=root)
    if parts is not None and object_gather_list is not None:
        for index, (part, length) in enumerate(zip(parts, sizes)):
            object_gather_list[index] = _unpickled(part, length)


def broadcast_object_list(
    object_list: list,
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Put the objects of rank ``src`` (0 by default) into every rank's list of equal length."""
    members = member_of("broadcast_object_list", group)
    if members is None:
        return
    root = chosen_rank(members, 0 if src is None and group_src is None else src, group_src)
    size, content = _number(members), None
    if members.rank() == root:
        content, size = _pickled(list(object_list), members)
    broadcast(size, group=members, group_src=root)
    content = _bytes(int(size), members) if content is None else content
    broadcast(content, group=members, group_src=root)
    if members.rank() != root:
        object_list[:] = _unpickled(content, int(size))


def scatter_object_list(
    scatter_object_output_list: list,
    scatter_object_input_list: list | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Put the object at place r of rank ``src``'s list at place 0 of rank r's output list.

    Raises:
        ValueError: the output list is no list or empty, or rank ``src`` has no input list.
    """
    members = member_of("scatter_object_list", group)
    if members is None:
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError(
            "Expected argument scatter_object_output_list to be a list of size at least 1."
        )
    root = chosen_rank(members, 0 if src is None and group_src is None else src, group_src)
    sizes = contents = None
    longest = _number(members)
    if members.rank() == root:
        if scatter_object_input_list is None:
            raise ValueError("source rank must provide non-None scatter_object_input_list")
        pairs = [_pickled(value, members) for value in scatter_object_input_list]
        sizes = [size for _, size in pairs]
        longest.fill_(max(int(size) for size in sizes))
        contents = [_padded(content, int(longest), members) for content, _ in pairs]
    broadcast(longest, group=members, group_src=root)
    content, size = _bytes(int(longest), members), _number(members)
    scatter(content, contents, group=members, group_src=root)
    scatter(size, sizes, group=members, group_src=root)
    scatter_object_output_list[0] = _unpickled(content, int(size))


def send_object_list(
    object_list: list,
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send the objects to rank ``dst``, which calls `recv_object_list`."""
    members = member_of("send_object_list", group)
    if members is None:
        return
    content, size = _pickled(list(object_list), members)
    send(size, dst, members, group_dst=group_dst)
    send(content, dst, members, group_dst=group_dst)


def recv_object_list(
    object_list: list,
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Put the objects that rank ``src`` (any by default) sends into the list.

    Returns:
        The rank that has sent them; -1 if this process is not in the group.
    """
    members = member_of("recv_object_list", group)
    if members is None:
        return -1
    size = _number(members)
    source = recv(size, src, members, group_src=group_src)
    content = _bytes(int(size), members)
    recv(content, source, members)
    object_list[:] = _unpickled(content, int(size))
    return source
