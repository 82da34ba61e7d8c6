"""Collectives on tensors, which all members of a group call in the same order."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from nnkit.autograd.tensor import Tensor
from nnkit.backend.device import cpu, located
from nnkit.backend.memory import strided
from nnkit.distributed.groups import (
    ProcessGroup,
    chosen_rank,
    default_group,
    member_of,
    seconds_of,
)
from nnkit.distributed.reduce_op import ReduceOp, named, operation, supports_complex
from nnkit.distributed.work import Work

__all__ = [
    "all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_gather_single",
    "all_reduce", "all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier",
    "broadcast", "gather", "monitored_barrier", "reduce", "reduce_scatter",
    "reduce_scatter_single", "reduce_scatter_tensor", "scatter",
]  # fmt: skip


def check_tensor(value: Any, name: str) -> None:
    """TypeError unless the argument is a Tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor "
            f"but got {type(value)} instead."
        )
    _check_strided(value, name)


def _check_strided(value: Tensor, name: str) -> None:
    if value.layout is not strided:
        raise NotImplementedError(f"`{name}` has layout {value.layout}: send to_dense() of it")


def check_tensors(values: Any, name: str) -> None:
    """TypeError unless the argument is a list of Tensors."""
    if not isinstance(values, list) or not all(isinstance(v, Tensor) for v in values):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor] "
            f"but got {type(values)} instead."
        )
    for value in values:
        _check_strided(value, name)


def _check_one_dtype(*tensors: Any) -> None:
    """ValueError unless all have one dtype; complex ones go with the real dtype of their parts."""
    flat = itertools.chain.from_iterable(t if isinstance(t, list) else (t,) for t in tensors)
    dtypes = {t.dtype.to_real(): t.dtype for t in flat}
    if len(dtypes) > 1:
        first, second = list(dtypes.values())[:2]
        raise ValueError(
            f"Invalid usage of tensors with different dtypes: found {first} and {second}"
        )


def _check_number(values: Sequence, group: ProcessGroup, name: str) -> None:
    if len(values) != group.size():
        raise ValueError(
            f"{name} must have one tensor for each of the {group.size()} ranks, got {len(values)}"
        )


def _check_sizes(parts: Sequence[Tensor], whole: Tensor, name: str) -> None:
    """ValueError unless each part has as many elements as the tensor of this rank."""
    for index, part in enumerate(parts):
        if part.numel() != whole.numel():
            raise ValueError(
                f"{name}: tensor {index} has shape {list(part.shape)}, "
                f"expected {list(whole.shape)} or as many elements"
            )


def arrays(tensors: Sequence[Tensor]) -> list:
    return [t._array for t in tensors]


def finished(work: Work, async_op: bool) -> Work | None:
    """The work itself if it is asked for, else None once it is done."""
    if async_op:
        return work
    work.wait()
    return None


def all_reduce(
    tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Reduce the tensors of all ranks by ``op``; each rank gets the result in ``tensor``.

    Args:
        tensor: of the same shape and dtype on every rank.
        op: see `ReduceOp`.
        group: the ranks that take part; all by default.
        async_op: return a `Work` at once.

    Raises:
        TypeError: ``tensor`` is no tensor.
        ValueError: ``op`` is not defined for complex numbers.
        DistBackendError: not all ranks have called this, or with other shapes or dtypes.

    Example:
        >>> import nnkit
        >>> import nnkit.distributed as dist
        >>> dist.init_process_group()
        >>> x = nnkit.tensor([1.0, 2.0])
        >>> dist.all_reduce(x)
        >>> x
        tensor([1., 2.])
        >>> dist.destroy_process_group()
    """
    check_tensor(tensor, "tensor")
    members = member_of("all_reduce", group)
    return None if members is None else _all_reduce([tensor], op, members, async_op)


def all_reduce_coalesced(
    tensors: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """`all_reduce` of several tensors of one dtype at once."""
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    check_tensors(tensors, "tensors")
    _check_one_dtype(tensors)
    members = member_of("all_reduce_coalesced", group)
    return None if members is None else _all_reduce(tensors, op, members, async_op)


def _all_reduce(tensors: list[Tensor], op: Any, group: ProcessGroup, async_op: bool) -> Work | None:
    place = tensors[0]._device
    check_operation("all_reduce", tensors[0], op)
    ticket = place.backend.all_reduce_(arrays(tensors), operation(op), group._members)
    return finished(Work(place, ticket, tensors), async_op)


def scale_and_sum(tensors: list[Tensor], factor: float, group: ProcessGroup) -> Work:
    """Begin to multiply tensors of one dtype by ``factor`` and to sum them over the ranks."""
    place = tensors[0]._device
    return Work(
        place, place.backend.scale_and_sum_(arrays(tensors), factor, group._members), tensors
    )


def check_operation(name: str, tensor: Tensor, op: Any) -> None:
    """ValueError for a complex tensor without such a reduction, RuntimeError for one of floats."""
    found = named(op)
    if tensor.is_complex() and not supports_complex(op):
        raise ValueError(f"{name} does not support {found} on complex tensors")
    if tensor.is_floating_point() and found in (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR):
        raise RuntimeError(f"Cannot use ReduceOp.{found.name} with non-integral dtype")


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """As `all_reduce`, but only rank ``dst`` gets the result; other tensors stay as they are."""
    check_tensor(tensor, "tensor")
    members = member_of("reduce", group)
    if members is None:
        return None
    root = chosen_rank(members, dst, group_dst)
    check_operation("reduce", tensor, op)
    place = tensor._device
    ticket = place.backend.reduce_([tensor._array], operation(op), root, members._members)
    return finished(Work(place, ticket, [tensor]), async_op)


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Copy the ``tensor`` of rank ``src`` into that of every rank."""
    check_tensor(tensor, "tensor")
    members = member_of("broadcast", group)
    if members is None:
        return None
    root = chosen_rank(members, src, group_src)
    place = tensor._device
    ticket = place.backend.broadcast_([tensor._array], root, members._members)
    return finished(Work(place, ticket, [tensor]), async_op)


def broadcast_coalesced(tensors: Sequence[Tensor], root: int, group: ProcessGroup) -> list[Work]:
    """Begin to broadcast several tensors of a rank, in one message for each device and dtype."""
    kinds: dict[Any, list[Tensor]] = {}
    for each in tensors:
        kinds.setdefault((each._device, each.dtype), []).append(each)
    works = []
    for (place, _), members in kinds.items():
        ticket = place.backend.broadcast_(arrays(members), root, group._members)
        works.append(Work(place, ticket, members))
    return works


def all_gather(
    tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Copy the ``tensor`` of rank r into ``tensor_list[r]`` on every rank.

    Raises:
        TypeError: ``tensor_list`` is no list of tensors.
        ValueError: the dtypes differ, there is not one tensor for each rank, or one has another
            number of elements.
    """
    check_tensors(tensor_list, "tensor_list")
    check_tensor(tensor, "tensor")
    _check_one_dtype(tensor_list, tensor)
    members = member_of("all_gather", group)
    if members is None:
        return None
    _check_number(tensor_list, members, "tensor_list")
    _check_sizes(tensor_list, tensor, "all_gather")
    return _all_gather(tensor_list, tensor, members, async_op)


def all_gather_single(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Copy the tensors of all ranks, concatenated or stacked, into every rank's output.

    Raises:
        ValueError: ``output_tensor`` has not as many elements as all inputs.
    """
    check_tensor(output_tensor, "output_tensor")
    check_tensor(input_tensor, "input_tensor")
    _check_one_dtype(output_tensor, input_tensor)
    members = member_of("all_gather_into_tensor", group)
    if members is None:
        return None
    if output_tensor.numel() != members.size() * input_tensor.numel():
        raise ValueError(
            f"output tensor size must be equal to world_size times input tensor size: got "
            f"{list(output_tensor.shape)} for {members.size()} times {list(input_tensor.shape)}"
        )
    return _all_gather([output_tensor], input_tensor, members, async_op)


all_gather_into_tensor = _all_gather_base = all_gather_single


def _all_gather(
    outputs: list[Tensor], tensor: Tensor, group: ProcessGroup, async_op: bool
) -> Work | None:
    place = tensor._device
    if any(o.is_complex() is not tensor.is_complex() for o in outputs):
        raise ValueError(f"all_gather: got {outputs[0].dtype} for {tensor.dtype}")
    ticket = place.backend.all_gather_(arrays(outputs), [tensor._array], group._members)
    return finished(Work(place, ticket, outputs), async_op)


def all_gather_coalesced(
    output_tensor_lists: list, input_tensor_list: list, group: Any = None, async_op: bool = False
) -> Any:
    """`all_gather` of several tensors: ``output_tensor_lists[r][i]`` is rank r's tensor i."""
    check_tensors(input_tensor_list, "input_tensor_list")
    if not isinstance(output_tensor_lists, list):
        raise TypeError("Invalid function argument: output_tensor_lists should be a list")
    members = member_of("all_gather_coalesced", group)
    if members is None:
        return None
    _check_number(output_tensor_lists, members, "output_tensor_lists")
    for outputs in output_tensor_lists:
        check_tensors(outputs, "output_tensor_lists")
        for output, own in zip(outputs, input_tensor_list):
            _check_sizes([output], own, "all_gather_coalesced")
    flat = list(itertools.chain.from_iterable(output_tensor_lists))
    _check_one_dtype(flat, input_tensor_list)
    place = input_tensor_list[0]._device
    ticket = place.backend.all_gather_(arrays(flat), arrays(input_tensor_list), members._members)
    return finished(Work(place, ticket, output_tensor_lists), async_op)


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Copy rank r's ``tensor`` into ``gather_list[r]`` on rank ``dst`` (0 by default).

    Raises:
        ValueError: ``gather_list`` is missing on rank ``dst``, or given on another.
    """
    outputs = [] if gather_list is None else gather_list
    known = _known_at_root("gather", tensor, outputs, "destination", group, dst, group_dst)
    if known is None:
        return None
    place, (members, root) = tensor._device, known
    ticket = place.backend.gather_ranks_(arrays(outputs), [tensor._array], root, members._members)
    return finished(Work(place, ticket, outputs), async_op)


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Copy ``scatter_list[r]`` of rank ``src`` (0 by default) into rank r's ``tensor``.

    Raises:
        ValueError: ``scatter_list`` is missing on rank ``src``, or given on another.
    """
    inputs = [] if scatter_list is None else scatter_list
    known = _known_at_root("scatter", tensor, inputs, "source", group, src, group_src)
    if known is None:
        return None
    place, (members, root) = tensor._device, known
    ticket = place.backend.scatter_ranks_([tensor._array], arrays(inputs), root, members._members)
    return finished(Work(place, ticket, [tensor]), async_op)


def _known_at_root(
    name: str, tensor: Tensor, parts: list, role: str, group: Any, rank: Any, group_rank: Any
) -> tuple[ProcessGroup, int] | None:
    """The group and the rank in it that has the list of tensors; None if this rank is no member."""
    parameter = f"{name}_list"
    check_tensor(tensor, "tensor")
    check_tensors(parts, parameter)
    _check_one_dtype(tensor, parts)
    members = member_of(name, group)
    if members is None:
        return None
    root = chosen_rank(members, 0 if rank is None and group_rank is None else rank, group_rank)
    if members.rank() == root:
        if not parts:
            raise ValueError(f"Argument ``{parameter}`` must be specified on {role} rank.")
        _check_number(parts, members, parameter)
        _check_sizes(parts, tensor, name)
    elif parts:
        raise ValueError(f"Argument ``{parameter}`` must NOT be specified on non-{role} ranks.")
    return members, root


def reduce_scatter(
    output: Tensor,
    input_list: list[Tensor],
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Reduce the lists of all ranks; rank r gets the result at place r in ``output``."""
    check_tensor(output, "output")
    check_tensors(input_list, "input_list")
    _check_one_dtype(output, input_list)
    members = member_of("reduce_scatter", group)
    if members is None:
        return None
    _check_number(input_list, members, "input_list")
    _check_sizes(input_list, output, "reduce_scatter")
    return _reduce_scatter(output, input_list, op, members, async_op)


def reduce_scatter_single(
    output: Tensor,
    input: Tensor,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Reduce the inputs of all ranks; rank r gets the r-th part of the result.

    Raises:
        ValueError: ``input`` has not as many elements as all outputs.
    """
    check_tensor(output, "output")
    check_tensor(input, "input")
    _check_one_dtype(output, input)
    members = member_of("reduce_scatter_tensor", group)
    if members is None:
        return None
    if input.numel() != members.size() * output.numel():
        raise ValueError(
            f"input tensor must be the same size as output size times world size: got "
            f"{list(input.shape)} for {members.size()} times {list(output.shape)}"
        )
    return _reduce_scatter(output, [input], op, members, async_op)


reduce_scatter_tensor = _reduce_scatter_base = reduce_scatter_single


def _reduce_scatter(
    output: Tensor, inputs: list[Tensor], op: Any, group: ProcessGroup, async_op: bool
) -> Work | None:
    check_operation("reduce_scatter", output, op)
    place = output._device
    ticket = place.backend.reduce_scatter_(
        [output._array], arrays(inputs), operation(op), group._members
    )
    return finished(Work(place, ticket, [output]), async_op)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Send the r-th part of ``input`` to rank r, and receive the r-th part of ``output`` from it.

    Args:
        output_split_sizes, input_split_sizes: the parts' sizes along dim 0; equal by default.

    Raises:
        ValueError: the sizes do not add up, or do not divide evenly.
    """
    check_tensor(output, "output")
    check_tensor(input, "input")
    _check_one_dtype(output, input)
    members = member_of("all_to_all_single", group)
    if members is None:
        return None
    received = _counts(output, output_split_sizes, members.size(), "output")
    sent = _counts(input, input_split_sizes, members.size(), "input")
    return _all_to_all([output], [input], received, sent, members, async_op)


def _counts(tensor: Tensor, sizes: Any, number: int, name: str) -> tuple[int, ...]:
    """The number of elements of each rank's part of a tensor."""
    rows = tensor.shape[0] if tensor.ndim else 1
    if not sizes:
        if rows % number:
            raise ValueError(
                f"{name}: dim 0 of shape {list(tensor.shape)} does not divide equally across "
                f"{number} ranks"
            )
        sizes = [rows // number] * number
    if len(sizes) != number or sum(sizes) != rows:
        raise ValueError(
            f"{name}_split_sizes must be {number} numbers whose sum is dim 0 of shape "
            f"{list(tensor.shape)}, got {list(sizes)}"
        )
    row = tensor.numel() // rows if rows else 0
    return tuple(int(n) * row for n in sizes)


def all_to_all(
    output_tensor_list: list[Tensor],
    input_tensor_list: list[Tensor],
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Send ``input_tensor_list[r]`` to rank r, and receive ``output_tensor_list[r]`` from it."""
    check_tensors(output_tensor_list, "output_tensor_list")
    check_tensors(input_tensor_list, "input_tensor_list")
    _check_one_dtype(output_tensor_list, input_tensor_list)
    members = member_of("all_to_all", group)
    if members is None:
        return None
    _check_number(output_tensor_list, members, "output_tensor_list")
    _check_number(input_tensor_list, members, "input_tensor_list")
    received = tuple(t.numel() for t in output_tensor_list)
    sent = tuple(t.numel() for t in input_tensor_list)
    return _all_to_all(output_tensor_list, input_tensor_list, received, sent, members, async_op)


def _all_to_all(
    outputs: list[Tensor],
    inputs: list[Tensor],
    received: tuple,
    sent: tuple,
    group: ProcessGroup,
    async_op: bool,
) -> Work | None:
    own = group.rank()
    if received[own] != sent[own]:
        raise ValueError(
            f"all_to_all: rank {own} sends itself {sent[own]} elements and expects {received[own]}"
        )
    place = inputs[0]._device
    ticket = place.backend.all_to_all_(
        arrays(outputs), arrays(inputs), received, sent, group._members
    )
    return finished(Work(place, ticket, outputs), async_op)


def place_of(group: ProcessGroup) -> Any:
    """The device that the group's backend works on."""
    return located("cuda") if group._backend == "nccl" else cpu


def barrier(
    group: Any = None,
    async_op: bool = False,
    device_ids: Any = None,
    timeout: timedelta | None = None,
) -> Work | None:
    """Wait until all ranks of the group have called this.

    Raises:
        DistBackendError: not all have come in time; the message names them.
    """
    members = member_of("barrier", group)
    if members is None:
        return None
    place = place_of(members)
    work = Work(place, place.backend.barrier(members._members), [])
    if async_op:
        return work
    work.wait(timeout)
    return None


def monitored_barrier(
    group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False
) -> None:
    """A barrier that names the ranks that have not come.

    Args:
        timeout: how long it waits.
        wait_all_ranks: name all missing ranks, and not only the first.

    Raises:
        RuntimeError: a rank has not come in time.
    """
    members = member_of("monitored_barrier", group)
    if members is None:
        return
    default_group()
    inner = members._members
    seconds = inner.seconds if timeout is None else seconds_of(timeout)
    inner.world.meet(inner.ranks, "monitored_barrier", seconds, wait_all_ranks)
