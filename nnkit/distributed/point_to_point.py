"""Messages from one rank to another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.autograd.tensor import Tensor
from nnkit.distributed.collectives import check_tensor
from nnkit.distributed.groups import ProcessGroup, chosen_rank, default_group, member_of
from nnkit.distributed.work import Work

__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]


def _check_not_self(group: ProcessGroup, rank: int, word: str) -> None:
    if group.rank() == rank:
        raise ValueError(
            f"Invalid {word} rank: {word} rank should not be the same as the rank of the current "
            "process."
        )


def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:
    """Begin to send ``tensor`` to rank ``dst``; it must not be written before the work is done.

    Raises:
        ValueError: ``dst`` is this rank, or none.
    """
    check_tensor(tensor, "tensor")
    members = member_of("isend", group)
    if members is None:
        return None
    to = chosen_rank(members, dst, group_dst)
    _check_not_self(members, to, "destination")
    place = tensor._device
    ticket = place.backend.send([tensor._array], to, tag, members._members)
    return Work(place, ticket, [tensor])


def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work | None:
    """Begin to receive into ``tensor`` what rank ``src`` sends; from any rank by default.

    Raises:
        ValueError: ``src`` is this rank, or none.
    """
    check_tensor(tensor, "tensor")
    members = member_of("irecv", group)
    if members is None:
        return None
    source = -1
    if src is not None or group_src is not None:
        source = chosen_rank(members, src, group_src)
        _check_not_self(members, source, "source")
    elif members.size() == 1:
        raise ValueError("irecv: there is no other rank in the group")
    place = tensor._device
    ticket = place.backend.receive_([tensor._array], source, tag, members._members)
    return Work(place, ticket, [tensor])


def send(
    tensor: Tensor,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Send ``tensor`` to rank ``dst``; returns when it may be written again."""
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Receive into ``tensor`` what rank ``src`` sends, or any rank by default.

    Returns:
        The global rank that has sent it; -1 if this process is not in the group.

    Raises:
        DistBackendError: nothing has come in time, or a message of another size.
    """
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    return work.source_rank()


class P2POp:
    """A message for `batch_isend_irecv`.

    Args:
        op: `isend` or `irecv`.
        tensor: what is sent, or where it arrives.
        peer: the other rank.
        group, tag: as in `isend`.
        group_peer: the other rank's number in the group, in place of ``peer``.

    Raises:
        ValueError: ``op`` is neither, or the other rank is this one.
    """

    def __init__(
        self,
        op: Callable,
        tensor: Tensor,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``."
            )
        check_tensor(tensor, "tensor")
        self.op = op
        self.tensor = tensor
        self.group = default_group() if group is None else group
        self.group_peer = chosen_rank(self.group, peer, group_peer)
        self.peer = self.group._members.ranks[self.group_peer]
        _check_not_self(self.group, self.group_peer, "peer")
        self.tag = tag

    def __repr__(self) -> str:
        return (
            f"P2POp({self.op.__name__}, {self.tensor.dtype} {list(self.tensor.shape)}, "
            f"peer={self.peer}, tag={self.tag})"
        )


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Begin several messages; their order does not matter.

    Raises:
        ValueError: the list is no list of `P2POp`, or they are for different groups.
    """
    if not isinstance(p2p_op_list, list) or not all(isinstance(p, P2POp) for p in p2p_op_list):
        raise ValueError(
            "Invalid ``p2p_op_list``. Each op is expected to to be of type "
            "``torch.distributed.P2POp``."
        )
    if any(p.group is not p2p_op_list[0].group for p in p2p_op_list):
        raise ValueError("All ops need to use the same group.")
    works = [p.op(p.tensor, None, p.group, p.tag, p.group_peer) for p in p2p_op_list]
    return [work for work in works if work is not None]
