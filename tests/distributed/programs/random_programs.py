"""Random programs of collectives and messages, begun together and awaited in another order on each
rank, some at once.

    ... random_programs.py FRAMEWORK COUNT [FIRST]

Every rank draws the same program, computes what all ranks must hold, and compares its own part.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from tests.distributed.programs.ending import leave

FRAMEWORK, COUNT = sys.argv[1], int(sys.argv[2])
FIRST = int(sys.argv[3]) if len(sys.argv) > 3 else 0
T: Any = import_module(FRAMEWORK)
dist: Any = import_module(f"{FRAMEWORK}.distributed")

Numbers = np.ndarray
# Numbers are so small that every dtype holds their sums and products, or wraps as NumPy does.
DTYPES = {
    "float64": np.float64, "float32": np.float32, "float16": np.float64, "bfloat16": np.float64,
    "int64": np.int64, "int32": np.int32, "int16": np.int16, "int8": np.int8, "uint8": np.uint8,
    "bool": np.bool_, "complex64": np.complex64, "complex128": np.complex128,
}  # fmt: skip
OPERATIONS: dict[str, Callable] = {
    "SUM": np.add.reduce, "PRODUCT": np.multiply.reduce, "MIN": np.minimum.reduce,
    "MAX": np.maximum.reduce, "BAND": np.bitwise_and.reduce, "BOR": np.bitwise_or.reduce,
    "BXOR": np.bitwise_xor.reduce, "AVG": lambda x, dtype: x.sum(0, dtype) / len(x),
}  # fmt: skip
OF_INTEGERS = ("SUM", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR")
SHAPES = [(), (1,), (3, 2), (17,), (2, 0), (5, 1, 3), (5000,)]
if FRAMEWORK == "torch":  # as far as gloo goes
    DTYPES = {name: DTYPES[name] for name in ("float64", "float32", "int64", "int32", "int8")}
    SHAPES.remove((2, 0))
ROW_SHAPES = [shape for shape in SHAPES if shape]


def operations(dtype: str) -> tuple[str, ...]:
    """The reductions that torch knows for a dtype."""
    if dtype.startswith("complex"):
        return ("SUM", "AVG")
    if dtype == "bool":
        return ("SUM", "PRODUCT", "MIN", "MAX")
    return ("SUM", "PRODUCT", "MIN", "MAX", "AVG") if "float" in dtype else OF_INTEGERS


@dataclass
class Step:
    """One call of all members of a group: what the ranks draw alike."""

    draw: random.Random
    members: list[int]
    group: Any
    rank: int
    seed: int

    def __post_init__(self) -> None:
        self.kind = self.draw.choice(sorted(CALLS))
        self.dtype = self.draw.choice(list(DTYPES))
        self.shape = self.draw.choice(SHAPES if self.kind in OF_ANY_SHAPE else ROW_SHAPES)
        self.op = self.draw.choice(operations(self.dtype))
        self.root = self.draw.choice(self.members)
        self.layouts = self.draw.choices(("rows", "columns", "gaps"), k=4)
        self.place = self.members.index(self.rank) if self.rank in self.members else -1
        size = len(self.members)
        drawn = np.random.default_rng(self.seed).integers(0, 4, (size, size, *self.shape))
        self.numbers = drawn.astype(DTYPES[self.dtype])
        if self.dtype.startswith("complex"):
            self.numbers = self.numbers * (1 + 1j)

    def tensor(self, numbers: Numbers, layout: str | None = None) -> Any:
        """A tensor of these numbers, in an order of memory of its own."""
        x = T.tensor(numbers, dtype=getattr(T, self.dtype))
        layout = layout or self.draw.choice(self.layouts)
        if FRAMEWORK != "nnkit" or layout == "rows" or x.ndim == 0:
            return x
        if layout == "columns":
            order = tuple(reversed(range(x.ndim)))
            return x.permute(order).contiguous().permute(order)
        return T.stack([x, x], -1)[..., 0]

    def blank(self, *shape: int) -> Any:
        return self.tensor(np.zeros(shape or self.shape, DTYPES[self.dtype]))

    def own(self, k: int = 0) -> Numbers:
        return self.numbers[self.place, k]

    def reduced(self, k: int = 0) -> Numbers:
        return OPERATIONS[self.op](self.numbers[:, k], dtype=self.numbers.dtype)

    @property
    def options(self) -> dict[str, Any]:
        return {"op": getattr(dist.ReduceOp, self.op), **self.in_group}

    @property
    def in_group(self) -> dict[str, Any]:
        return {"group": self.group, "async_op": True}


Begun = tuple[list, list]  # works, and the tensors with what they must hold then


def all_reduce(s: Step) -> Begun:
    x = s.tensor(s.own())
    return [dist.all_reduce(x, **s.options)], [(x, s.reduced())]


def reduce(s: Step) -> Begun:
    x = s.tensor(s.own())
    work = dist.reduce(x, s.root, **s.options)
    return [work], [(x, s.reduced())] if s.rank == s.root else []


def broadcast(s: Step) -> Begun:
    x = s.tensor(s.own())
    expected = s.numbers[s.members.index(s.root), 0]
    return [dist.broadcast(x, s.root, **s.in_group)], [(x, expected)]


def all_gather(s: Step) -> Begun:
    outs = [s.blank() for _ in s.members]
    return [dist.all_gather(outs, s.tensor(s.own()), **s.in_group)], list(
        zip(outs, s.numbers[:, 0])
    )


def all_gather_into_tensor(s: Step) -> Begun:
    size = len(s.members)
    out = s.blank(size * s.shape[0], *s.shape[1:])
    work = dist.all_gather_into_tensor(out, s.tensor(s.own()), **s.in_group)
    return [work], [(out, s.numbers[:, 0].reshape(out.shape))]


def gather(s: Step) -> Begun:
    outs = [s.blank() for _ in s.members] if s.rank == s.root else []
    work = dist.gather(s.tensor(s.own()), outs or None, s.root, **s.in_group)
    return [work], list(zip(outs, s.numbers[:, 0]))


def scatter(s: Step) -> Begun:
    x = s.blank()
    parts = [s.tensor(s.own(k)) for k in range(len(s.members))] if s.rank == s.root else None
    expected = s.numbers[s.members.index(s.root), s.place]
    return [dist.scatter(x, parts, s.root, **s.in_group)], [(x, expected)]


def reduce_scatter(s: Step) -> Begun:
    x = s.blank()
    parts = [s.tensor(s.own(k)) for k in range(len(s.members))]
    return [dist.reduce_scatter(x, parts, **s.options)], [(x, s.reduced(s.place))]


def reduce_scatter_tensor(s: Step) -> Begun:
    x = s.blank()
    whole = s.tensor(np.concatenate(list(s.numbers[s.place])))
    return [dist.reduce_scatter_tensor(x, whole, **s.options)], [(x, s.reduced(s.place))]


def all_to_all(s: Step) -> Begun:
    outs = [s.blank() for _ in s.members]
    parts = [s.tensor(s.own(k)) for k in range(len(s.members))]
    work = dist.all_to_all(outs, parts, **s.in_group)
    return [work], list(zip(outs, s.numbers[:, s.place]))


def all_to_all_single(s: Step) -> Begun:
    """Rank i sends rank j so many rows of what it has for it as are left of i + j."""
    size, rows = len(s.members), s.shape[0]
    counts = np.array([[(i + j) % (rows + 1) for j in range(size)] for i in range(size)])
    sent = np.concatenate([s.own(k)[: counts[s.place, k]] for k in range(size)])
    expected = np.concatenate([s.numbers[i, s.place][: counts[i, s.place]] for i in range(size)])
    out, x = s.blank(*expected.shape), s.tensor(sent)
    splits = counts[:, s.place].tolist(), counts[s.place].tolist()
    return [dist.all_to_all_single(out, x, *splits, **s.in_group)], [(out, expected)]


def messages(s: Step) -> Begun:
    """Each sends to the next, which receives."""
    size = len(s.members)
    to, source = s.members[(s.place + 1) % size], s.members[s.place - 1]
    x = s.blank()
    if size == 1:
        return [], []
    works = dist.batch_isend_irecv([
        dist.P2POp(dist.isend, s.tensor(s.own()), to, s.group, s.seed % 1000),
        dist.P2POp(dist.irecv, x, source, s.group, s.seed % 1000),
    ])  # fmt: skip
    return works, [(x, s.numbers[s.place - 1, 0])]


CALLS: dict[str, Callable[[Step], Begun]] = {
    call.__name__: call
    for call in (
        all_reduce, reduce, broadcast, all_gather, all_gather_into_tensor, gather, scatter,
        reduce_scatter, reduce_scatter_tensor, all_to_all, all_to_all_single, messages,
    )
}  # fmt: skip
OF_ANY_SHAPE = (
    *("all_reduce", "reduce", "broadcast", "all_gather", "gather", "scatter", "reduce_scatter"),
    *("all_to_all", "messages"),
)


def finish(begun: Begun, order: random.Random, name: str) -> None:
    works, results = begun
    for work in works:
        way = order.randrange(3) if FRAMEWORK == "nnkit" else 0
        if way == 1:
            while not work.is_completed():
                pass
        elif way == 2:
            work.get_future().wait()
        else:
            work.wait()
    for tensor, expected in results:
        found = np.array(tensor.tolist()).reshape(expected.shape)
        exact = "float" not in name and "complex" not in name
        same = np.array_equal if exact else lambda a, b: np.allclose(a, b, 4e-3, 1e-3)
        assert tuple(tensor.shape) == expected.shape and same(found, expected), name


def run(number: int, groups: list, rank: int) -> None:
    """One program: some calls are waited for at once, the others at the end, in any order."""
    draw, order = random.Random(number), random.Random(f"{number} {rank}")
    left = []
    for k in range(draw.randint(1, 8)):
        members, group = draw.choice(groups)
        step = Step(draw, members, group, rank, 100 * number + k)
        state = draw.getstate()
        if rank in members:
            name = f"{step.kind} of {step.dtype} {step.shape} by {step.op} in program {number}"
            begun = CALLS[step.kind](step)
            if order.random() < 0.3:
                finish(begun, order, f"{name}, rank {rank}")
            else:
                left.append((begun, f"{name}, rank {rank}"))
        draw.setstate(state)  # of the layouts each rank draws its own
    order.shuffle(left)
    for begun, name in left:
        finish(begun, order, name)


def main() -> None:
    dist.init_process_group("gloo")
    size, rank = dist.get_world_size(), dist.get_rank()
    groups = [(list(range(size)), None)]
    for members in ([0, size - 1], list(range(1, size)), list(range(0, size, 2))):
        if len(set(members)) == len(members) and members:
            groups.append((members, dist.new_group(members)))
    for number in range(FIRST, FIRST + COUNT):
        run(number, groups, rank)
    leave(dist)


main()
