"""Memory that grows: programs and training steps repeated, with an eye on what the process holds.

    python -m tests.fuzz.memory --steps 100000

repeats each step so often and prints how far the process's memory went up after the first tenth,
which fills the caches; the exit status is 1 if any of it grew by more than a megabyte. The steps
are a training loop of several layers, an update by each optimizer, and the frozen programs, which
write in place, raise, hook, and nest transforms.
"""

from __future__ import annotations

import argparse
import gc
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import nnkit
from nnkit import nn, optim
from tests.fuzz.frozen import frozen
from tests.fuzz.running import observe

LIMIT = 1.0  # megabytes
Step = Callable[[], object]


def resident() -> float:
    """The megabytes of memory that the process holds."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def _trained(model: nn.Module, shape: tuple[int, ...], optimizer: Callable) -> Step:
    updates = optimizer(model.parameters(), lr=1e-4)

    def step() -> None:
        updates.zero_grad()
        out = model(nnkit.randn(shape))
        out = out[0] if isinstance(out, tuple) else out
        out.square().mean().backward()
        updates.step()

    return step


def _programs() -> Step:
    """All frozen programs, one a step; each has run once before, since what its first run makes
    is kept for good."""
    programs = [program for program, _ in frozen().values()]
    for program in programs:
        observe(program, nnkit)

    def forever() -> Iterator[object]:
        while True:
            for program in programs:
                yield observe(program, nnkit)

    return forever().__next__


STEPS: dict[str, Callable[[], Step]] = {
    "layers of images": lambda: _trained(
        nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)),
        (2, 2, 8, 8),
        optim.SGD,
    ),
    "recurrent layer": lambda: _trained(nn.LSTM(3, 4), (5, 2, 3), optim.Adam),
    "attention": lambda: _trained(
        nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 5, 8), optim.AdamW
    ),
    **{
        f"update by {name}": lambda name=name: _trained(
            nn.Linear(3, 3), (4, 3), getattr(optim, name)
        )
        for name in ("Adadelta", "Adagrad", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop")
    },
    "programs": _programs,
}


def growth(step: Step, steps: int) -> float:
    """By how many megabytes the process grew during the last three quarters of the steps; within
    the first what is kept for good has been made."""
    for _ in range(steps // 4):
        step()
    before = resident()
    for _ in range(steps - steps // 4):
        step()
    return resident() - before


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--only", default="", help="those whose name contains this text")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    grown = {
        name: growth(make(), options.steps) for name, make in STEPS.items() if options.only in name
    }
    for name, megabytes in grown.items():
        print(f"{name}: {megabytes:+.2f} MB in {options.steps} steps")
    return int(max(grown.values()) > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
