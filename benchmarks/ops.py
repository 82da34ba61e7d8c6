"""``python -m benchmarks ops``: every kind of op at three sizes, nnkit against torch.

An op is written once against the API that both share. Its backward is timed by itself, as
`autograd.grad` on a graph that is kept.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from typing import Any

import nnkit
from benchmarks.options import add_clock, add_only, add_patience
from benchmarks.timing import alternate, set_threads

SIZES = {"small": 8, "middle": 128, "large": 2048}  # the side: its square is the number of elements
IMAGES = {8: (1, 1, 8, 8), 128: (4, 16, 16, 16), 2048: (16, 64, 64, 64)}
HEADS = {8: (1, 1, 8, 8), 128: (1, 4, 64, 64), 2048: (16, 16, 256, 64)}


class Inputs:
    """Draws the arrays of one op: the same in both frameworks, for the same seed."""

    def __init__(self, fw: Any, side: int, device: str = "cpu") -> None:
        fw.manual_seed(0)
        self.fw, self.side, self.device = fw, side, device

    def square(self) -> Any:
        return self.draw(self.side, self.side)

    def draw(self, *shape: int) -> Any:
        return self.fw.randn(*shape).to(self.device)

    def images(self) -> Any:
        return self.draw(*IMAGES[self.side])

    def channels(self) -> Any:
        return self.draw(IMAGES[self.side][1])

    def heads(self) -> list[Any]:
        return [self.draw(*HEADS[self.side]) for _ in range(3)]

    def indices(self, *shape: int) -> Any:
        """Random numbers of rows or columns."""
        return self.fw.randint(0, self.side, shape).to(self.device)


Operation = Callable[..., Any]  # the framework and the inputs in, an array out
OPS: dict[str, tuple[Callable[[Inputs], list[Any]], Operation, bool]] = {}


def op(
    name: str, inputs: Callable[[Inputs], list[Any]], run: Operation, back: bool = False
) -> None:
    """Add a row to the table, and one for the gradient of the floating-point inputs."""
    OPS[name] = inputs, run, False
    if back:
        OPS[f"{name}, backward"] = inputs, run, True


def one(i: Inputs) -> list[Any]:
    return [i.square()]


def two(i: Inputs) -> list[Any]:
    return [i.square(), i.square()]


def positive(i: Inputs) -> list[Any]:
    return [i.square().abs()]


def with_row(i: Inputs) -> list[Any]:
    return [i.square(), i.draw(i.side)]


def with_column(i: Inputs) -> list[Any]:
    return [i.square(), i.draw(i.side, 1)]


def with_indices(i: Inputs) -> list[Any]:
    return [i.square(), i.indices(i.side, i.side)]


def with_rows(i: Inputs) -> list[Any]:
    return [i.square(), i.indices(i.side)]


def normalised(i: Inputs) -> list[Any]:
    return [i.square(), i.draw(i.side), i.draw(i.side)]


def with_channels(i: Inputs) -> list[Any]:
    return [i.images(), i.channels(), i.channels()]


def with_labels(i: Inputs) -> list[Any]:
    return [i.square(), i.indices(i.side)]


# Element-wise.
op("add", two, lambda fw, x, y: x + y, True)
op("add a number", one, lambda fw, x: x + 1.5)
op("add a row", with_row, lambda fw, x, y: x + y, True)
op("add a column", with_column, lambda fw, x, y: x + y, True)
op("add a transposed", two, lambda fw, x, y: x + y.t())
op("add float64", lambda i: [i.square().double(), i.square().double()], lambda fw, x, y: x + y)
op("add bfloat16", lambda i: [i.square().bfloat16(), i.square().bfloat16()], lambda fw, x, y: x + y)
op("add int64", lambda i: [i.indices(i.side, i.side)] * 2, lambda fw, x, y: x + y)
op("add in place", two, lambda fw, x, y: x.add_(y, alpha=1e-9))
op("mul", two, lambda fw, x, y: x * y, True)
op("div", two, lambda fw, x, y: x / y)
op("pow 3", one, lambda fw, x: x**3)
op("sqrt", positive, lambda fw, x: x.sqrt())
op("exp", one, lambda fw, x: x.exp(), True)
op("log", positive, lambda fw, x: x.log())
op("tanh", one, lambda fw, x: x.tanh(), True)
op("sigmoid", one, lambda fw, x: x.sigmoid(), True)
op("erf", one, lambda fw, x: x.erf())
op("sin", one, lambda fw, x: x.sin())
op("relu", one, lambda fw, x: fw.relu(x), True)
op("gelu", one, lambda fw, x: fw.nn.functional.gelu(x), True)
op("silu", one, lambda fw, x: fw.nn.functional.silu(x), True)
op("clamp", one, lambda fw, x: x.clamp(-1.0, 1.0))
op("compare", two, lambda fw, x, y: x > y)
op("where", two, lambda fw, x, y: fw.where(x > 0, x, y))
op("masked_fill", one, lambda fw, x: x.masked_fill(x > 0, 0.0))
op("to float64", one, lambda fw, x: x.double())
op("to bfloat16", one, lambda fw, x: x.bfloat16())

# Moves.
op("clone", one, lambda fw, x: x.clone())
op("contiguous of a transposed", one, lambda fw, x: x.t().contiguous())
op("permute NCHW to NHWC", lambda i: [i.images()], lambda fw, x: x.permute(0, 2, 3, 1).contiguous())
op("cat rows", two, lambda fw, x, y: fw.cat([x, y], 0))
op("cat columns", two, lambda fw, x, y: fw.cat([x, y], 1), True)
op("tril", one, lambda fw, x: x.tril())
op("zeros", one, lambda fw, x: fw.zeros_like(x))
op("slice with a step", one, lambda fw, x: x[::2, ::2].contiguous())

# Reductions.
op("sum of all", one, lambda fw, x: x.sum(), True)
op("sum of rows", one, lambda fw, x: x.sum(1), True)
op("sum of columns", one, lambda fw, x: x.sum(0))
op("sum of channels", lambda i: [i.images()], lambda fw, x: x.sum((0, 2, 3)))
op("mean of rows", one, lambda fw, x: x.mean(1))
op("var of rows", one, lambda fw, x: x.var(1), True)
op("var of columns", one, lambda fw, x: x.var(0))
op("amax of rows", one, lambda fw, x: x.amax(1))
op("amax of columns", one, lambda fw, x: x.amax(0))
op("max of rows, with indices", one, lambda fw, x: x.max(1)[1])
op("argmax of all", one, lambda fw, x: x.argmax())
op("argmax of rows", one, lambda fw, x: x.argmax(1))
op("logsumexp of rows", one, lambda fw, x: x.logsumexp(1))
op("norm", one, lambda fw, x: x.norm())
op("any", one, lambda fw, x: (x > 9.0).any())
op("cumsum of rows", one, lambda fw, x: x.cumsum(1), True)
op("cumsum of columns", one, lambda fw, x: x.cumsum(0))

# Rows.
op("softmax", one, lambda fw, x: x.softmax(1), True)
op("softmax of columns", one, lambda fw, x: x.softmax(0))
op("log_softmax", one, lambda fw, x: x.log_softmax(1), True)
op("cross_entropy", with_labels, lambda fw, x, y: fw.nn.functional.cross_entropy(x, y), True)
op(
    "layer_norm",
    normalised,
    lambda fw, x, w, b: fw.nn.functional.layer_norm(x, w.shape, w, b),
    True,
)
op(
    "rms_norm",
    with_row,
    lambda fw, x, w: fw.nn.functional.rms_norm(x, w.shape, w),
    True,
)
op(
    "batch_norm",
    with_channels,
    lambda fw, x, w, b: fw.nn.functional.batch_norm(x, None, None, w, b, True),
    True,
)
op(
    "group_norm",
    with_channels,
    lambda fw, x, w, b: fw.nn.functional.group_norm(x, max(1, len(w) // 4), w, b),
    True,
)
op("mse_loss", two, lambda fw, x, y: fw.nn.functional.mse_loss(x, y), True)

# Indices.
op("gather", with_indices, lambda fw, x, k: x.gather(1, k), True)
op("scatter_add", with_indices, lambda fw, x, k: fw.zeros_like(x).scatter_add(1, k, x))
op("index_select", with_rows, lambda fw, x, k: x.index_select(0, k), True)
op("index_add", with_rows, lambda fw, x, k: x.index_add(0, k, x))
op("rows by index", with_rows, lambda fw, x, k: x[k], True)
op("embedding", with_rows, lambda fw, x, k: fw.nn.functional.embedding(k, x), True)
op("masked_select", one, lambda fw, x: x[x > 0])
op("nonzero", one, lambda fw, x: (x > 0).nonzero())
op("sort", one, lambda fw, x: x.sort(1)[0], True)
op("argsort int64", lambda i: [i.indices(i.side, i.side)], lambda fw, x: x.sort(1)[0])
op("topk 5", one, lambda fw, x: x.topk(5)[0])
op("unique", lambda i: [i.indices(i.side, i.side)], lambda fw, x: x.unique())

# Random numbers.
op("rand", one, lambda fw, x: fw.rand(*x.shape))
op("randn", one, lambda fw, x: fw.randn(*x.shape))
op("randint", one, lambda fw, x: fw.randint(0, 10, x.shape))
op("randperm", one, lambda fw, x: fw.randperm(x.numel()))
op("bernoulli", one, lambda fw, x: fw.empty_like(x).bernoulli_(0.3))
op("dropout", one, lambda fw, x: fw.nn.functional.dropout(x, 0.5, True), True)

# Windows, products, attention.
op("max_pool2d", lambda i: [i.images()], lambda fw, x: fw.nn.functional.max_pool2d(x, 2), True)
op("avg_pool2d", lambda i: [i.images()], lambda fw, x: fw.nn.functional.avg_pool2d(x, 2), True)
op(
    "max_pool2d 3, stride 2",
    lambda i: [i.images()],
    lambda fw, x: fw.nn.functional.max_pool2d(x, 3, 2, 1),
    True,
)
op("matmul", two, lambda fw, x, y: x @ y)
op("matmul of a transposed", two, lambda fw, x, y: x @ y.t())
op("matrix times vector", with_row, lambda fw, x, y: x @ y)
op(
    "linear",
    lambda i: [i.square(), i.square(), i.draw(i.side)],
    lambda fw, x, w, b: fw.nn.functional.linear(x, w, b),
    True,
)
op("bmm", lambda i: i.heads()[:2], lambda fw, x, y: x @ y.mT)
op(
    "attention, causal",
    Inputs.heads,
    lambda fw, q, k, v: fw.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True),
    True,
)
op(
    "attention",
    Inputs.heads,
    lambda fw, q, k, v: fw.nn.functional.scaled_dot_product_attention(q, k, v),
    True,
)


def step(name: str, fw: Any, side: int, device: str = "cpu") -> Callable[[], Any]:
    """A function that runs the op once, on inputs that are drawn here."""
    inputs, run, backward = OPS[name]
    arrays = inputs(Inputs(fw, side, device))
    if not backward:
        return lambda: run(fw, *arrays)
    leaves = [x.requires_grad_() for x in arrays if x.is_floating_point()]
    out = run(fw, *arrays)
    g = fw.randn(out.shape).to(device)
    return lambda: fw.autograd.grad(out, leaves, g, retain_graph=True)


def compare(name: str, side: int, options: argparse.Namespace) -> tuple[float, float]:
    """nnkit's speed relative to torch's, and nnkit's microseconds."""
    import torch

    contestants = {"nnkit": step(name, nnkit, side), "torch": step(name, torch, side)}
    turns = alternate(contestants, options.rounds, options.seconds, options.patience, options.clock)
    return turns.ratio("torch", "nnkit")[0], statistics.median(turns.seconds["nnkit"]) * 1e6


def table(names: list[str], options: argparse.Namespace) -> None:
    """The ops by their worst ratio, the slowest first."""
    sizes = options.sizes
    rows = []
    for name in names:
        found = [compare(name, SIZES[size], options) for size in sizes]
        rows.append((min(r for r, _ in found), name, found))
    print("times as fast as torch (nnkit's time, us): below 1 torch is ahead")
    print(f"{'op':<30}" + "".join(f"{f'{s}, {SIZES[s] ** 2}':>22}" for s in sizes))
    for _, name, found in sorted(rows):
        print(f"{name:<30}" + "".join(f"{r:>9.2f} {f'({us:.1f})':>12}" for r, us in found))


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sizes", nargs="+", default=list(SIZES), choices=list(SIZES))
    parser.add_argument("--rounds", type=int, default=5, help="turns of each contestant")
    add_only(parser)
    add_clock(parser)
    add_patience(parser)
    parser.add_argument("--seconds", type=float, default=0.02, help="length of a turn")


def run(options: argparse.Namespace) -> None:
    set_threads(options.threads)
    table([n for n in OPS if options.only in n], options)
