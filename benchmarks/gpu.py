"""``python -m benchmarks --device cuda``: training steps on a GPU, beside PyTorch.

Everybody runs the same step: nnkit, nnkit captured as a CUDA graph, torch eager, torch.compile.
The roofline is what the step needs against ceilings measured on the same card: a large product of
matrices in the workload's dtype, and a large copy.
"""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import nnkit
from benchmarks.roofline import Needs
from benchmarks.timing import duration, has
from benchmarks.workloads import classifiers, sequences, vision
from benchmarks.workloads.training import Step, training_step
from nnkit.backend.device import located
from nnkit.backend.door import standing

ROUNDS = 7
COLUMNS = ("workload", "contestant", "step", "of torch eager's speed", "of roofline")


def resnet18(fw: Any, device: str) -> Step:
    """ResNet-18 for small images, batch 128 of 32x32, SGD with momentum."""
    fw.manual_seed(0)
    x, y = fw.randn(128, 3, 32, 32).to(device), fw.randint(0, 10, (128,)).to(device)
    model = vision.residual_network(fw, [64, 128, 256, 512], 2).to(device)
    return training_step(fw, model, fw.optim.SGD(model.parameters(), lr=0.05, momentum=0.9), x, y)


def gpt2(fw: Any, device: str) -> Step:
    """GPT: 12 layers, width 768, 12 heads, 1024 tokens, batch 8, bfloat16, AdamW."""
    fw.manual_seed(0)
    tokens = fw.randint(0, 50257, (8, 1025)).to(device)
    model = sequences.transformer(fw, 50257, 1024, 12, 768, 12).to(device).to(fw.bfloat16)
    optimizer = fw.optim.AdamW(model.parameters(), lr=1e-4)
    return training_step(fw, model, optimizer, tokens[:, :-1], tokens[:, 1:], flatten=True)


WORKLOADS: dict[str, tuple[Callable[..., Step], str]] = {
    "softmax 64-10, batch 64": (classifiers.softmax_digits, "float32"),
    "MLP 1024-1024-1024-10, batch 256": (classifiers.mlp_wide, "float32"),
    "CNN 28x28, batch 64": (vision.cnn, "float32"),
    "ResNet-18 32x32, batch 128": (resnet18, "float32"),
    "GPT 12 layers, T 1024, batch 8, bfloat16": (gpt2, "bfloat16"),
}


def seconds_of(fw: Any, step: Step, budget: float) -> float:
    """The median over some rounds of the time of one step, within about ``budget`` seconds."""
    fw.cuda.synchronize()
    start = time.perf_counter()
    step()
    fw.cuda.synchronize()
    once = max(time.perf_counter() - start, 1e-6)
    count = max(1, min(200, int(budget / ROUNDS / once)))
    found = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(count):
            step()
        fw.cuda.synchronize()
        found.append((time.perf_counter() - start) / count)
    return statistics.median(found)


def captured(fw: Any, step: Step) -> Step:
    """The step as one CUDA graph."""
    graph = fw.cuda.CUDAGraph()
    with fw.cuda.graph(graph):
        step()
    parts = (graph, step)  # the step owns the parameters that the graph writes to
    return lambda: parts[0].replay()


def compiled(torch: Any, workload: Callable[..., Step]) -> Step:
    """The workload with its model compiled by torch."""
    module = torch.nn.Module
    original = module.to

    def compiling(self: Any, *arguments: Any, **options: Any) -> Any:
        moved = original(self, *arguments, **options)
        return torch.compile(moved) if "cuda" in map(str, arguments) else moved

    module.to = compiling
    try:
        return workload(torch, "cuda")
    finally:
        module.to = original


def contestants(workload: Callable[..., Step]) -> dict[str, tuple[Any, Callable[[], Step]]]:
    """A contestant: a framework and what makes its step ready."""

    def graph(fw: Any) -> Step:
        step = workload(fw, "cuda")
        for _ in range(3):
            step()
        return captured(fw, step)

    found: dict[str, tuple[Any, Callable[[], Step]]] = {
        "nnkit": (nnkit, lambda: workload(nnkit, "cuda")),
        "nnkit, CUDA graph": (nnkit, lambda: graph(nnkit)),
    }
    if has("torch"):
        torch = importlib.import_module("torch")
        found["torch eager"] = (torch, lambda: workload(torch, "cuda"))
        found["torch.compile"] = (torch, lambda: compiled(torch, workload))
    return found


SIDE, ELEMENTS = 4096, 1 << 28  # of the matrices and the vectors that measure the card


def ceilings(fw: Any, dtype: str) -> tuple[float, float]:
    """Floating-point operations and bytes a second: a product of matrices, and a copy."""
    x = fw.randn(SIDE, SIDE).to("cuda").to(getattr(fw, dtype))
    product = 2 * SIDE**3 / seconds_of(fw, lambda: x @ x, 0.5)
    source = fw.randn(ELEMENTS, device="cuda")  # a card moves zeros faster
    target = fw.empty_like(source)
    copy = 8 * ELEMENTS / seconds_of(fw, lambda: target.copy_(source), 0.5)
    return product, copy


def least_seconds(workload: Callable[..., Step], flops: float, bytes: float) -> float:
    """The least time of a step: that of each call at the ceiling of arithmetic or of memory."""
    step = workload(nnkit, "cuda")
    step()
    with standing(Needs, located("cuda")) as needs:
        step()
    return sum(max(f / flops, b / bytes) for f, b in needs.calls)


def told(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:120]}"


class Measurement:
    """The table's rows of one workload; an error is a row that says so."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.workload, self.dtype = WORKLOADS[name]
        self.seconds: dict[str, float] = {}
        self.problems: dict[str, str] = {}
        self.least = float("nan")

    def take(self, label: str, fw: Any, make: Callable[[], Step], budget: float) -> None:
        try:
            step = make()
            for _ in range(3):
                step()
            self.seconds[label] = seconds_of(fw, step, budget)
        except Exception as error:  # one that fails must not hide the others' figures
            self.problems[label] = told(error)

    def compare_with_card(self) -> None:
        fw = importlib.import_module("torch") if has("torch") else nnkit
        try:
            self.least = least_seconds(self.workload, *ceilings(fw, self.dtype))
        except Exception as error:
            self.problems["roofline"] = told(error)

    def rows(self) -> list[tuple[str, ...]]:
        eager = self.seconds.get("torch eager")
        name, problems = self.name, self.problems.items()
        rows = [
            (name, label, duration(s), f"{eager / s:.2f}" if eager else "", f"{self.least / s:.0%}")
            for label, s in self.seconds.items()
        ]
        return rows + [(name, label, problem, "", "") for label, problem in problems]


def table(
    only: str = "", seconds: float = 240.0, budget: float = 2.0, labels: Sequence[str] = (),
    write: Callable[[str], object] = lambda page: None,
) -> str:  # fmt: skip
    """The whole table in Markdown, some ``budget`` seconds for each figure.

    What would begin after ``seconds`` is left out; torch.compile, which takes the longest to get
    ready, comes last for all workloads. ``labels`` names the contestants (all); ``write`` is given
    the table as far as it has come, after each of them.
    """
    end = time.perf_counter() + seconds
    found = [Measurement(name) for name in WORKLOADS if only in name]
    for is_slow in (False, True):
        for one in found:
            for label, (fw, make) in contestants(one.workload).items():
                if (label == "torch.compile") != is_slow or (labels and label not in labels):
                    continue
                if time.perf_counter() > end:
                    one.problems[label] = "left out: no time"
                    continue
                one.take(label, fw, make, budget)
                fw.cuda.empty_cache()
                write(_page(found))
            if not is_slow and one.seconds:
                one.compare_with_card()
            print(f"{one.name}: {', '.join(one.seconds) or 'nothing'} measured", flush=True)
    return _page(found)


def _page(found: list[Measurement]) -> str:
    lines = [f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}"]
    lines += [f"| {' | '.join(row)} |" for one in found for row in one.rows()]
    return "\n".join(lines) + "\n"
