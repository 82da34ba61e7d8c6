"""``python -m benchmarks --device cuda``: training steps on a GPU, beside PyTorch.

Everybody runs the same step: nnkit, nnkit captured as a CUDA graph, torch eager, torch.compile.
The roofline is what the step needs against ceilings measured on the same card: a large product of
matrices in the workload's dtype, and a large copy.
"""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable
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
    return graph.replay


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
    """Who takes part: a framework and what makes its step ready."""

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


def ceilings(fw: Any, dtype: str) -> tuple[float, float]:
    """Floating-point operations and bytes a second: a product of matrices, and a copy."""
    side, elements = 4096, 1 << 28
    x = fw.randn(side, side).to("cuda").to(getattr(fw, dtype))
    product = 2 * side**3 / seconds_of(fw, lambda: x @ x, 0.5)
    source = fw.zeros(elements, device="cuda")
    target = fw.zeros(elements, device="cuda")
    copy = 8 * elements / seconds_of(fw, lambda: target.copy_(source), 0.5)
    return product, copy


def least_seconds(workload: Callable[..., Step], flops: float, bytes: float) -> float:
    """What a step would take at the ceilings, each call at the nearer of the two."""
    step = workload(nnkit, "cuda")
    step()
    with standing(Needs, located("cuda")) as needs:
        step()
    return sum(max(f / flops, b / bytes) for f, b in needs.calls)


def measured(name: str, budget: float) -> list[tuple[str, ...]]:
    """The table's rows of one workload; an error is a row that says so."""
    workload, dtype = WORKLOADS[name]
    torch = importlib.import_module("torch") if has("torch") else nnkit
    seconds: dict[str, float] = {}
    problems: dict[str, str] = {}
    for label, (fw, make) in contestants(workload).items():
        try:
            step = make()
            for _ in range(3):
                step()
            seconds[label] = seconds_of(fw, step, budget)
            del step
        except Exception as error:  # one that fails must not hide the others' figures
            problems[label] = f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
        fw.cuda.empty_cache()
    try:
        least = least_seconds(workload, *ceilings(torch, dtype))
    except Exception as error:
        problems["roofline"] = f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
        least = float("nan")
    eager = seconds.get("torch eager")
    rows = [
        (name, label, duration(s), f"{eager / s:.2f}" if eager else "", f"{least / s:.0%}")
        for label, s in seconds.items()
    ]
    return rows + [(name, label, problem, "", "") for label, problem in problems.items()]


def table(only: str = "", seconds: float = 240.0) -> str:
    """The whole table in Markdown; workloads that would begin after ``seconds`` are left out."""
    lines = [f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}"]
    start = time.perf_counter()
    for name in WORKLOADS:
        if only not in name:
            continue
        if time.perf_counter() - start > seconds:
            lines.append(f"| {name} | left out: no time | | | |")
            continue
        lines += [f"| {' | '.join(row)} |" for row in measured(name, budget=2.0)]
        print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"
