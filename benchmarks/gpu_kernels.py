"""Kernels that move data: the share of the card's copy bandwidth that each of them reaches.

Bytes are those that an operation cannot do without: its operands read once, its results written
once. Every operand is larger than the card's cache, so that none is found there. CALLS calls are
timed as one CUDA graph: no time between them is the host's.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import nnkit
from benchmarks import gpu
from benchmarks.timing import has

ROWS, COLUMNS = 1 << 16, 1024
CALLS = 20  # of a graph
DTYPES = ("float32", "bfloat16")
HEADINGS = ("kernel", "dtype", "nnkit", "of copy", "torch", "of copy")
Case = tuple[str, Callable[[], Any], int]  # name, call, how often the operand's bytes are moved


def cases(fw: Any, dtype: str) -> Iterator[Case]:
    """Operations on a matrix of ROWS rows; batch norm sees it as images."""
    functional = fw.nn.functional
    make = {"device": "cuda", "dtype": getattr(fw, dtype)}
    x, y = fw.randn(ROWS, COLUMNS, **make), fw.randn(ROWS, COLUMNS, **make)
    weight, bias = fw.ones(COLUMNS, **make), fw.zeros(COLUMNS, **make)
    yield "add", lambda: x + y, 3
    yield "add a row", lambda: x + bias, 2
    yield "gelu", lambda: functional.gelu(x), 2
    yield "transposed copy", lambda: x.t().contiguous(), 2
    yield "sum of rows", lambda: x.sum(1), 1
    yield "sum of columns", lambda: x.sum(0), 1
    yield "softmax", lambda: functional.softmax(x, 1), 2
    yield "layer_norm", lambda: functional.layer_norm(x, (COLUMNS,), weight, bias), 2
    yield "dropout", lambda: functional.dropout(x, 0.5), 2
    leaf = x.detach().requires_grad_()
    for name, out in (
        ("softmax, backward", functional.softmax(leaf, 1)),
        ("layer_norm, backward", functional.layer_norm(leaf, (COLUMNS,))),
    ):
        yield name, lambda out=out: fw.autograd.grad(out, leaf, y, retain_graph=True), 3
    channels = max(1, ROWS // 1024)
    images = x.reshape(64, channels, 32, -1)
    scale, shift = fw.ones(channels, **make), fw.zeros(channels, **make)
    yield (
        "batch_norm",
        lambda: functional.batch_norm(images, None, None, scale, shift, training=True),
        3,
    )


def captured(fw: Any, call: Callable[[], Any], stream: Any) -> Any:
    """CALLS calls as one CUDA graph."""
    for _ in range(3):
        call()
    fw.cuda.synchronize()
    graph = fw.cuda.CUDAGraph()
    with fw.cuda.graph(graph, stream=stream):
        for _ in range(CALLS):
            call()
    return graph


def measured(fw: Any, dtype: str, copy: float, budget: float) -> dict[str, tuple[str, str]]:
    """The time of a call of each case, and its share of the bandwidth of a ``copy``."""
    found = {}
    size = ROWS * COLUMNS * (4 if dtype == "float32" else 2)
    stream = fw.cuda.Stream()  # torch's backward runs where its forward ran, which is captured
    with fw.cuda.stream(stream):
        for name, call, moved in cases(fw, dtype):
            try:
                graph = captured(fw, call, stream)
                seconds = gpu.seconds_of(fw, graph.replay, budget) / CALLS
                found[name] = (gpu.duration(seconds), f"{moved * size / seconds / copy:.0%}")
            except Exception as error:  # one that fails must not hide the others' figures
                found[name] = (gpu.told(error), "")
    return found


def table(budget: float = 0.2) -> str:
    """The table in Markdown, some ``budget`` seconds for each figure."""
    frameworks = [nnkit] + ([importlib.import_module("torch")] if has("torch") else [])
    fastest = frameworks[-1]
    if not fastest.cuda.is_available():
        frameworks, fastest = [nnkit], nnkit
    copy = gpu.ceilings(fastest, "float32")[1]
    lines = [f"A copy moves {copy / 1e9:.0f} GB/s.", ""]
    lines += [f"| {' | '.join(HEADINGS)} |", f"|{'---|' * len(HEADINGS)}"]
    for dtype in DTYPES:
        columns = []
        for fw in frameworks:
            columns.append(measured(fw, dtype, copy, budget))
            fw.cuda.empty_cache()
        for name in columns[0]:
            cells = [cell for column in columns for cell in column[name]]
            lines.append(f"| {name} | {dtype} | {' | '.join(cells + [''] * (4 - len(cells)))} |")
    return "\n".join(lines) + "\n"
