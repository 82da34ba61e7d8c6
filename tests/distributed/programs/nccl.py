"""The drivers of NCCL, with its stand-in, against the kernels of the CPU."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

import nnkit.distributed as dist
from nnkit.backend.cpu import collective as cpu
from nnkit.backend.cuda import collective as cuda
from tests.distributed import fake_nccl
from tests.distributed.fake_nccl import Array

cuda.load_nccl = lambda: fake_nccl  # type: ignore[assignment]
cuda.cupy = lambda: fake_nccl.cupy  # type: ignore[assignment]
cuda.contiguous = lambda x: x.copy("C")
NAMES = "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128".split()
DTYPES = [*map(np.dtype, NAMES), np.dtype(ml_dtypes.bfloat16)]


def arrays(count: int, dtype: np.dtype, seed: int, strided: bool) -> list[Array]:
    generator = np.random.default_rng([seed, dist.get_rank()])
    found = [generator.integers(0, 3, (3, 2)).astype(dtype).view(Array) for _ in range(count)]
    return [a.T.copy().T for a in found] if strided else found


def compare(name: str, outs: int, ins: int, *statics: Any) -> None:
    """Call a primitive on both sides with equal arrays, and compare all of them."""
    writes_only = name in ("all_reduce_", "reduce_", "broadcast_")
    for seed, dtype in enumerate(DTYPES):
        if dtype.kind == "c" and {"product", "min", "max"} & set(statics):
            continue
        for strided in (False, True):
            results = []
            for module in (cpu, cuda):
                xs = arrays(ins, dtype, seed, strided)
                places = [] if writes_only else [arrays(outs, dtype, seed + 99, strided)]
                ticket = getattr(module, name)(
                    *places, xs, *statics, dist.groups.default_group()._members
                )
                module.await_arrival(ticket, None)
                results.append([*xs, *(places[0] if places else [])])
            root = statics[-1] if name == "reduce_" else dist.get_rank()
            for ours, theirs in zip(*results):
                if root == dist.get_rank():
                    assert np.array_equal(ours, theirs), (name, dtype, strided, ours, theirs)


def main() -> None:
    dist.init_process_group("nccl")
    size, rank = dist.get_world_size(), dist.get_rank()
    for op in ("sum", "product", "min", "max"):
        compare("all_reduce_", 0, 2, op)
        compare("reduce_", 0, 1, op, 1)
        compare("reduce_scatter_", 1, size, op)
    compare("broadcast_", 0, 2, 1)
    compare("all_gather_", size, 1)
    compare("gather_ranks_", size if rank == 1 else 0, 1, 1)
    compare("scatter_ranks_", 1, size if rank == 1 else 0, 1)
    counts = (6,) * size
    compare("all_to_all_", size, size, counts, counts)
    members = dist.groups.default_group()._members
    x = (np.arange(4.0) + rank).view(Array)
    if rank == 0:
        cuda.await_arrival(cuda.send([x], 1, 0, members), None)
    elif rank == 1:
        assert cuda.await_arrival(cuda.receive_([x], 0, 0, members), None) == 0
        assert x.tolist() == [0.0, 1.0, 2.0, 3.0]
    cuda.await_arrival(cuda.barrier(members), None)
    for words, call in {
        "Cannot use ReduceOp.BAND with NCCL": lambda: cuda.all_reduce_([x], "band", members),
        "name the source": lambda: cuda.receive_([x], -1, 0, members),
    }.items():
        try:
            call()
        except RuntimeError as error:
            assert words in str(error)
        else:
            raise AssertionError(words)
    print("passed")


main()
