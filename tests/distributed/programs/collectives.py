"""Every collective with every operation, dtype and layout, against NumPy.

    python -m nnkit.distributed.run --nproc-per-node 2 tests/distributed/programs/collectives.py

Each rank can make the tensors of all ranks, and so knows what must come. The argument ``torch``
runs the same under PyTorch with gloo, as far as that goes; ``nnkit cuda`` runs what NCCL has
between GPUs, one for each rank.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any

import numpy as np

from tests.distributed.programs.ending import leave

warnings.simplefilter("ignore")
FRAMEWORK, DEVICE = (*sys.argv[1:], *("nnkit", "cpu")[len(sys.argv) - 1 :])
T: Any = import_module(FRAMEWORK)
dist: Any = import_module(f"{FRAMEWORK}.distributed")

FLOATING = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
DTYPES = (*FLOATING, *INTEGERS, "bool", "complex64", "complex128")
SHAPES = ((4, 3), (), (0, 3), (1000,))
OPERATIONS: dict[str, Callable] = {
    "SUM": np.add.reduce,
    "PRODUCT": np.multiply.reduce,
    "MIN": np.minimum.reduce,
    "MAX": np.maximum.reduce,
    "AVG": np.add.reduce,
    "BAND": np.bitwise_and.reduce,
    "BOR": np.bitwise_or.reduce,
    "BXOR": np.bitwise_xor.reduce,
}


def values(rank: int, shape: tuple, dtype: str, seed: int) -> np.ndarray:
    """The numbers of one rank: small ones, whose sums and products no dtype rounds."""
    generator = np.random.default_rng([seed, rank])
    found = generator.integers(0, 2 if dtype == "bool" else 4, shape)
    if dtype.startswith("complex"):
        return found + 1j * generator.integers(0, 4, shape)
    return np.asarray(found, np.float64) if dtype in FLOATING else np.asarray(found)


def tensor(numbers: np.ndarray, dtype: str, layout: str = "rows") -> Any:
    """A tensor of these numbers, in some layout of memory."""
    made = T.tensor(numbers, dtype=getattr(T, dtype))
    if layout == "columns" and numbers.ndim > 1:
        made = made.t().contiguous().t()
    elif layout == "strided" and numbers.ndim:
        wide = T.zeros(*numbers.shape, 2, dtype=made.dtype)
        wide[..., 0] = made
        made = wide[..., 0]
    return made


def numpy(found: Any) -> np.ndarray:
    """The numbers of a tensor: those of floats, which NumPy may not have, in double precision."""
    kept = T.float64 if found.is_floating_point() else found.dtype
    return found.detach().to(kept).cpu().numpy()


def check(found: Any, expected: np.ndarray, *about: Any) -> None:
    got = numpy(found)
    assert got.shape == expected.shape, about
    assert np.array_equal(got, expected), (about, got.tolist(), expected.tolist())


def reduced(numbers: list[np.ndarray], op: str, dtype: str) -> np.ndarray:
    """What an operation makes of the numbers of all ranks."""
    if dtype == "bool":
        words = {"SUM": "MAX", "AVG": "MAX", "PRODUCT": "MIN"}
        return OPERATIONS[words.get(op, op)](np.array(numbers)).astype(bool)
    out = OPERATIONS[op](np.array(numbers))
    if op == "AVG":
        if dtype in INTEGERS:
            return np.trunc(out / len(numbers)).astype(int)
        if dtype in ("float16", "bfloat16", "float32"):
            size = np.float32(len(numbers))
            return numpy(tensor(out.astype(np.float32) / size, "float32").to(getattr(T, dtype)))
        if dtype == "complex64":
            return (out.astype(np.complex64) / np.float32(len(numbers))).astype(np.complex64)
        return out / len(numbers)
    return out


def operations(dtype: str) -> Iterator[str]:
    for op in OPERATIONS:
        if dtype.startswith("complex") and op not in ("SUM", "AVG"):
            continue
        if FRAMEWORK == "torch" and op == "AVG" and dtype in INTEGERS:
            continue
        if (dtype in FLOATING or DEVICE == "cuda") and op in ("BAND", "BOR", "BXOR"):
            continue
        yield op


def run_reductions(size: int, rank: int, dtype: str, shape: tuple, layout: str, seed: int) -> None:
    everybody = [values(r, shape, dtype, seed) for r in range(size)]
    for op in operations(dtype):
        kind = getattr(dist.ReduceOp, op)
        expected = reduced(everybody, op, dtype)
        x = tensor(everybody[rank], dtype, layout)
        dist.all_reduce(x, op=kind)
        check(x, expected, "all_reduce", op, dtype, shape, layout)
        if layout != "rows" and op != "SUM":
            continue
        root = seed % size
        x = tensor(everybody[rank], dtype, layout)
        dist.reduce(x, root, op=kind)
        if rank == root:
            check(x, expected, "reduce", op, dtype, shape)
        lists = [[values(r, shape, dtype, seed + 7 * k) for k in range(size)] for r in range(size)]
        out = tensor(values(rank, shape, dtype, seed), dtype, layout)
        own = [tensor(numbers, dtype, layout) for numbers in lists[rank]]
        dist.reduce_scatter(out, own, op=kind)
        expected = reduced([each[rank] for each in lists], op, dtype)
        check(out, expected, "reduce_scatter", op, dtype, shape)
        if shape:
            whole = T.cat(own)
            out = T.zeros(shape, dtype=whole.dtype)
            dist.reduce_scatter_tensor(out, whole, op=kind)
            check(out, expected, "reduce_scatter_tensor", op, dtype, shape)


def run_movements(size: int, rank: int, dtype: str, shape: tuple, layout: str, seed: int) -> None:
    about = (dtype, shape, layout)
    everybody = [values(r, shape, dtype, seed) for r in range(size)]
    root = seed % size
    x = tensor(everybody[rank], dtype, layout)
    dist.broadcast(x, root)
    check(x, everybody[root], "broadcast", *about)

    own = tensor(everybody[rank], dtype, layout)
    outs = [tensor(everybody[rank] * 0, dtype, layout) for _ in range(size)]
    dist.all_gather(outs, own)
    for out, expected in zip(outs, everybody):
        check(out, expected, "all_gather", *about)
    outs = [tensor(everybody[rank] * 0, dtype, layout) for _ in range(size)]
    dist.gather(own, outs if rank == root else None, root)
    if rank == root:
        for out, expected in zip(outs, everybody):
            check(out, expected, "gather", *about)
    lists = [[values(r, shape, dtype, seed + 7 * k) for k in range(size)] for r in range(size)]
    out = tensor(everybody[rank], dtype, layout)
    sent = [tensor(numbers, dtype, layout) for numbers in lists[rank]]
    dist.scatter(out, sent if rank == root else None, root)
    check(out, lists[root][rank], "scatter", *about)
    if shape:
        whole = T.zeros(size * shape[0], *shape[1:], dtype=own.dtype)
        dist.all_gather_into_tensor(whole, own)
        check(whole, np.concatenate(everybody), "all_gather_into_tensor", *about)
        whole = T.zeros(size * shape[0], *shape[1:], dtype=own.dtype)
        dist.all_to_all_single(whole, T.cat(sent))
        expected = np.concatenate([each[rank] for each in lists])
        check(whole, expected, "all_to_all_single", *about)
    if FRAMEWORK == "nnkit":
        stacked = T.zeros(size, *shape, dtype=own.dtype)
        dist.all_gather_into_tensor(stacked, own)
        check(stacked, np.stack(everybody), "all_gather_into_tensor", *about)
        outs = [tensor(everybody[rank] * 0, dtype, layout) for _ in range(size)]
        dist.all_to_all(outs, sent)
        for out, each in zip(outs, lists):
            check(out, each[rank], "all_to_all", *about)


def run_uneven(size: int, rank: int) -> None:
    """Parts of different sizes: rank r sends r + k + 1 rows to rank k."""
    rows = [[r + k + 1 for k in range(size)] for r in range(size)]
    sent = T.cat([T.full((n, 2), 10.0 * rank + k) for k, n in enumerate(rows[rank])])
    received = [rows[r][rank] for r in range(size)]
    out = T.zeros(sum(received), 2)
    dist.all_to_all_single(out, sent, received, rows[rank])
    expected = np.concatenate([np.full((n, 2), 10.0 * r + rank) for r, n in enumerate(received)])
    check(out, expected, "all_to_all_single")


def run_large_sums(size: int, rank: int) -> None:
    """More large arrays at a time than there are slots of shared memory, whose sums are awaited in
    another order; integers of 24 bits, so that every order of additions gives the same."""
    lengths = [70_001 + 50_021 * (n % 5) for n in range(20)] + [1_100_003]
    sums = [np.arange(n) % 1013 * sum(r + 1 for r in range(size)) for n in lengths]
    for dtype in ("float32", "float64"):
        xs = [tensor(np.arange(n) % 1013 * (rank + 1), dtype) for n in lengths]
        works = [dist.all_reduce(x, async_op=True) for x in xs]
        for work in works[rank:] + works[:rank]:
            work.wait()
        for x, expected in zip(xs, sums, strict=True):
            assert np.array_equal(numpy(x), expected), (dtype, len(expected))


def run_sums_together(size: int, rank: int) -> None:
    """Several arrays in one call: small ones, large ones, more than fit into shared memory, and of
    another layout on every other rank; also scaled, as gradients are."""
    cases = [(dtype, (3, 0, 8)) for dtype in FLOATING]
    cases += [("float32", (5, 60_000, 40_001)), ("float32", (400_000, 200_001))]
    for dtype, lengths in cases:
        terms = [np.arange(2 * n).reshape(n, 2) % 5 for n in lengths]
        for factor in (1, 0.5) if FRAMEWORK == "nnkit" else (1,):
            layout = ("columns", "rows")[rank % 2]
            xs = [tensor(term * (rank + 1), dtype, layout) for term in terms]
            if factor == 1:
                dist.all_reduce_coalesced(xs)
            else:
                dist.collectives.scale_and_sum(xs, factor, dist.group.WORLD).wait()
            scale = factor * sum(r + 1 for r in range(size))
            for x, term in zip(xs, terms, strict=True):
                check(x, term * scale, "together", dtype, lengths, factor)


def run_messages(size: int, rank: int) -> None:
    after, before = (rank + 1) % size, (rank - 1) % size
    if size == 1 or DEVICE == "cuda":  # NCCL knows no tags
        return
    x, y = T.arange(6.0).reshape(2, 3).t() + rank, T.zeros(3, 2)
    x = x if FRAMEWORK == "nnkit" else x.contiguous()
    if rank % 2:
        assert dist.recv(y, before) == before
        dist.send(x, after)
    elif size % 2 == 0 or rank:
        dist.send(x, after)
        dist.recv(y, before)
    else:
        work = dist.isend(x, after)
        dist.recv(y, before)
        work.wait()
    check(y, numpy(T.arange(6.0).reshape(2, 3).t()) + before, "send")
    big, got = T.full((300_000,), float(rank)), T.zeros(300_000)
    works = dist.batch_isend_irecv(
        [dist.P2POp(dist.irecv, got, before), dist.P2POp(dist.isend, big, after)]
    )
    for work in works:
        work.wait()
    assert float(got.min()) == float(got.max()) == before
    tagged = [T.zeros(1) for _ in range(3)]
    works = [dist.irecv(t, before, tag=k) for k, t in enumerate(tagged)]
    for k in (2, 0, 1):
        dist.send(T.tensor([10.0 * k + rank]), after, tag=k)
    for work in works:
        work.wait()
    assert [float(t) for t in tagged] == [10.0 * k + before for k in range(3)]
    dist.barrier()
    if rank:
        dist.send(T.tensor([rank]), 0)
    else:
        found = [T.zeros(1, dtype=T.int64) for _ in range(size - 1)]
        sources = [dist.recv(t) for t in found]
        assert sources == [int(t) for t in found] and sorted(sources) == list(range(1, size))


def run_objects(size: int, rank: int) -> None:
    own = {"rank": rank, "text": "x" * rank}
    everybody = [{"rank": r, "text": "x" * r} for r in range(size)]
    found: list = [None] * size
    dist.all_gather_object(found, own)
    assert found == everybody
    gathered = [None] * size if rank == 0 else None
    dist.gather_object(own, gathered, dst=0)
    assert rank or gathered == everybody
    objects = [1, "two", own] if rank == size - 1 else [None] * 3
    dist.broadcast_object_list(objects, src=size - 1)
    assert objects == [1, "two", everybody[-1]]
    got: list = [None]
    dist.scatter_object_list(got, everybody if rank == 0 else None, src=0)
    assert got == [own]
    if size > 1 and rank == 0:
        dist.send_object_list([own, 3], dst=1)
    elif rank == 1:
        received = [None, None]
        assert dist.recv_object_list(received, src=0) == 0
        assert received == [everybody[0], 3]


def run_groups(size: int, rank: int) -> None:
    for members in ([0], list(range(0, size, 2)), list(range(size - 1, -1, -1))):
        group = dist.new_group(members)
        sorted_members = sorted(members)
        if rank not in members:
            assert group == dist.GroupMember.NON_GROUP_MEMBER
            assert dist.get_rank(group) == -1
            assert dist.all_reduce(T.ones(1), group=group) is None
            continue
        assert dist.get_process_group_ranks(group) == sorted_members
        assert dist.get_rank(group) == sorted_members.index(rank) == group.rank()
        assert dist.get_world_size(group) == len(members) == group.size()
        assert dist.get_global_rank(group, group.rank()) == rank
        x = T.tensor([float(rank)])
        dist.all_reduce(x, group=group)
        assert float(x) == sum(members)
        x = T.tensor([float(rank)])
        dist.broadcast(x, src=sorted_members[-1], group=group)
        assert float(x) == sorted_members[-1]
        x = T.tensor([float(rank)])
        dist.broadcast(x, group_src=0, group=group)
        assert float(x) == sorted_members[0]
        outs = [T.zeros(1) for _ in members]
        dist.all_gather(outs, T.tensor([float(rank)]), group=group)
        assert [float(o) for o in outs] == sorted_members
        dist.barrier(group)
        if FRAMEWORK == "nnkit" and len(members) > 1:  # torch's splits groups of NCCL alone
            parts = [[k] for k in range(1, len(members))] + [[0]]
            assert dist.split_group(group, parts).size() == 1
            part = dist.split_group(group, [list(range(len(members) - 1, 0, -1))])
            assert (part is None) == (group.rank() == 0)
            if part is not None:
                assert dist.get_process_group_ranks(part) == sorted_members[1:]
                x = T.tensor([float(rank)])
                dist.all_reduce(x, group=part)
                assert float(x) == sum(sorted_members[1:])
        dist.destroy_process_group(group)
    dist.monitored_barrier()


def run_refusals(size: int, rank: int) -> None:
    """A list is wanted on the root alone; what each rank asks for wrongly, it is told at once."""
    x = T.ones(3)
    lists = [T.zeros(3) for _ in range(size)]
    for call, role in ((dist.gather, "destination"), (dist.scatter, "source")):
        given = None if rank == 0 else lists
        words = "must be specified on" if rank == 0 else "must NOT be specified on non-"
        try:
            call(x, given, 0)
        except ValueError as error:
            assert words in str(error) and f"{role} rank" in str(error), error
        else:
            raise AssertionError(call.__name__)
    dist.gather(x * (rank + 1), lists if rank == 0 else None, 0)  # and nothing is under way
    assert rank or [float(t[0]) for t in lists] == [r + 1.0 for r in range(size)]


def total_of(losses: Iterable[Any]) -> Any:
    return T.stack(list(losses)).sum()


def run_gradients(size: int, rank: int) -> None:
    """Backward is the transposed collective."""
    functional = (
        dist.nn.functional if FRAMEWORK == "nnkit" else import_module("torch.distributed.nn")
    )
    default = dist.group.WORLD

    def leaf() -> Any:
        return T.tensor([1.0 + rank, 2.0], requires_grad=True)

    x = leaf()
    (functional.all_reduce(x, group=default) * (rank + 1)).sum().backward()
    total = size * (size + 1) / 2
    check(x.grad, np.array([total, total]), "all_reduce")
    x = leaf()
    parts = functional.all_gather(x, group=default)
    total_of(part.sum() * (k + 1) * (rank + 1) for k, part in enumerate(parts)).backward()
    check(x.grad, np.full(2, (rank + 1) * total), "all_gather")
    x = leaf()
    (functional.broadcast(x, 0, group=default) * (rank + 1)).sum().backward()
    check(x.grad, np.full(2, 0.0 if rank else total), "broadcast")
    x = leaf()
    (functional.reduce(x, 0, group=default) * 3).sum().backward()
    check(x.grad, np.full(2, 3.0), "reduce")
    x = leaf()
    out = functional.reduce_scatter(T.zeros(2), [x * (k + 1) for k in range(size)], group=default)
    (out * (rank + 1)).sum().backward()
    check(x.grad, np.full(2, sum((k + 1.0) ** 2 for k in range(size))), "reduce_scatter")
    x = leaf()
    outs = [T.zeros(2) for _ in range(size)]
    parts = functional.all_to_all(outs, [x * (k + 1) for k in range(size)], group=default)
    total_of(p.sum() * (rank + 1) for p in parts).backward()
    check(x.grad, np.full(2, sum((k + 1.0) ** 2 for k in range(size))), "all_to_all")
    x = leaf()
    outs = functional.gather(x, 0, group=default)
    total_of((p * (k + 2)).sum() for k, p in enumerate(outs)).backward()
    check(x.grad, np.full(2, rank + 2.0), "gather")
    x = leaf()
    (
        functional.scatter([x * (k + 1) for k in range(size)], 0, group=default) * (rank + 1)
    ).sum().backward()
    expected = sum((k + 1.0) ** 2 for k in range(size)) if rank == 0 else 0.0
    check(x.grad, np.full(2, expected), "scatter")


def call_nccl_alone() -> None:
    """Let a group of one call NCCL, as larger ones do: it has nobody to talk to, and would not."""
    from mpi4py import MPI

    if not MPI.Is_initialized():
        MPI.Init_thread()
    group = dist.groups.default_group()._members
    group.world.MPI, group.control = MPI, MPI.COMM_SELF.Dup()


def main() -> None:
    dist.init_process_group("nccl" if DEVICE == "cuda" else "gloo")
    size, rank = dist.get_world_size(), dist.get_rank()
    if DEVICE == "cuda":
        T.cuda.set_device(rank)
        T.set_default_device("cuda")
        if size == 1:
            call_nccl_alone()
    dtypes = DTYPES if FRAMEWORK == "nnkit" and size < 3 else ("float32", "float64", "int32")
    for seed, dtype in enumerate(dtypes):
        for shape in SHAPES:
            if FRAMEWORK != "nnkit" and shape == (0, 3):
                continue
            layouts = ("rows", "columns", "strided") if FRAMEWORK == "nnkit" else ("rows",)
            for layout in layouts:
                run_reductions(size, rank, dtype, shape, layout, seed)
                run_movements(size, rank, dtype, shape, layout, seed)
    run_uneven(size, rank)
    run_large_sums(size, rank)
    run_sums_together(size, rank)
    run_messages(size, rank)
    run_objects(size, rank)
    run_groups(size, rank)
    run_refusals(size, rank)
    run_gradients(size, rank)
    leave(dist)


main()
