"""Random programs of collectives, begun together and awaited in another order on each rank.

    ... random_programs.py nnkit COUNT

Every rank draws the same program, computes what all ranks must hold, and compares its own part.
"""

from __future__ import annotations

import random
import sys
from importlib import import_module
from typing import Any

import numpy as np

FRAMEWORK, COUNT = sys.argv[1], int(sys.argv[2])
T: Any = import_module(FRAMEWORK)
dist: Any = import_module(f"{FRAMEWORK}.distributed")

OPERATIONS = {"SUM": np.add, "PRODUCT": np.multiply, "MIN": np.minimum, "MAX": np.maximum}


def step(draw: random.Random, groups: list, size: int, rank: int, seed: int) -> Any:
    """Begin one random collective: its work, and the tensors with what they must hold then."""
    members, group = draw.choice(groups)
    shape = draw.choice([(1,), (3, 2), (17,), (5000,)])
    kinds = ["all_reduce", "broadcast", "all_gather", "reduce", "scatter", "gather", "all_to_all"]
    kind = draw.choice(kinds)
    op = draw.choice(list(OPERATIONS))
    root = draw.choice(members)
    values = np.random.default_rng(seed).integers(0, 4, (size, len(members), *shape))
    values = values.astype(np.float64)
    if rank not in members:
        return None
    place = members.index(rank)

    def tensor(numbers: np.ndarray) -> Any:
        return T.tensor(numbers.tolist(), dtype=T.float64)

    x = tensor(values[rank, 0])
    blank = np.zeros(shape)
    firsts = [values[r, 0] for r in members]
    kind_of_op = getattr(dist.ReduceOp, op)
    total = OPERATIONS[op].reduce(np.array(firsts))
    settings = {"group": group, "async_op": True}
    if kind == "all_reduce":
        return dist.all_reduce(x, op=kind_of_op, **settings), [(x, total)]
    if kind == "reduce":
        work = dist.reduce(x, root, op=kind_of_op, **settings)
        return work, [(x, total)] if rank == root else []
    if kind == "broadcast":
        return dist.broadcast(x, root, **settings), [(x, values[root, 0])]
    if kind == "all_gather":
        outs = [tensor(blank) for _ in members]
        return dist.all_gather(outs, x, **settings), list(zip(outs, firsts))
    if kind == "gather":
        outs = [tensor(blank) for _ in members] if rank == root else []
        work = dist.gather(x, outs or None, root, **settings)
        return work, list(zip(outs, firsts))
    if kind == "scatter":
        parts = [tensor(values[root, k]) for k in range(len(members))]
        work = dist.scatter(x, parts if rank == root else None, root, **settings)
        return work, [(x, values[root, place])]
    out = T.zeros(len(members) * shape[0], *shape[1:], dtype=T.float64)
    sent = tensor(np.concatenate(list(values[rank])))
    expected = np.concatenate([values[r, place] for r in members])
    return dist.all_to_all_single(out, sent, **settings), [(out, expected)]


def main() -> None:
    dist.init_process_group("gloo")
    size, rank = dist.get_world_size(), dist.get_rank()
    groups = [(list(range(size)), None)]
    for members in ([0, size - 1], list(range(1, size))):
        if len(set(members)) == len(members) and members:
            group = dist.new_group(members)
            groups.append((members, group))
    for number in range(COUNT):
        draw, order = random.Random(number), random.Random(f"{number} {rank}")
        begun = [
            step(draw, groups, size, rank, 100 * number + k) for k in range(draw.randint(1, 8))
        ]
        open_works = [found for found in begun if found is not None]
        order.shuffle(open_works)
        for work, results in open_works:
            way = order.randrange(3) if FRAMEWORK == "nnkit" else 0
            if way == 1:
                while not work.is_completed():
                    pass
            elif way == 2:
                work.get_future().wait()
            else:
                work.wait()
            for tensor, expected in results:
                assert np.array_equal(np.array(tensor.tolist()), expected), (number, rank)
    dist.barrier()
    dist.destroy_process_group()
    print("passed")


main()
