"""Random programs, the same under torch and nnkit.

    python -m tests.fuzz.programs --count 10000 --seed 0 --processes 2

prints how many programs differ, grouped by what differs first and after which kind of statement,
each group with its shortest program; the exit status is 1 if any does. A seed makes a program:
``--seed N --count 1`` runs it again.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import sys
import time
from collections import Counter
from types import ModuleType

from tests.fuzz.generate import check
from tests.fuzz.running import Finding
from tests.fuzz.shrink import shrink


def frameworks() -> tuple[ModuleType, ModuleType]:
    import torch

    import nnkit

    torch.set_num_threads(1)
    return torch, nnkit


def search(seeds: range, shortest: bool = True) -> dict[int, Finding]:
    """The findings among the programs of the seeds, made short."""
    oracle, framework = frameworks()
    found = {}
    for seed in seeds:
        try:
            finding = check(seed, oracle, framework)
            if finding is not None:
                found[seed] = shrink(finding, oracle, framework) if shortest else finding
        except BaseException:
            print(f"seed {seed}", file=sys.stderr)
            raise
        if seed % 500 == 0:
            gc.collect()
    return found


def _parts(first: int, count: int, size: int = 250) -> list[range]:
    end = first + count
    return [range(start, min(start + size, end)) for start in range(first, end, size)]


def report(found: dict[int, Finding], most: int) -> str:
    groups: dict[str, list[int]] = {}
    for seed, finding in found.items():
        groups.setdefault(finding.group, []).append(seed)
    lines = [f"{count:6} {aspect} after {kind}" for (aspect, kind), count in
             Counter(f.kind for f in found.values()).most_common()]  # fmt: skip
    for group, seeds in sorted(groups.items(), key=lambda item: -len(item[1]))[:most]:
        seed = min(seeds, key=lambda s: len(str(found[s])))
        lines += ["", f"## {len(seeds)} x {group}   (seed {seed})", str(found[seed])]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--find", type=int, default=40, help="how many groups to print")
    parser.add_argument("--no-shrink", action="store_true")
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    parts = _parts(options.seed, options.count)
    found: dict[int, Finding] = {}
    if options.processes == 1:
        for part in parts:
            found.update(search(part, not options.no_shrink))
    else:
        context = multiprocessing.get_context("spawn")
        with context.Pool(options.processes) as pool:
            jobs = [pool.apply_async(search, (part, not options.no_shrink)) for part in parts]
            for job in jobs:
                found.update(job.get())
    seconds = time.perf_counter() - start
    print(report(found, options.find))
    print(
        f"\n{len(found)} of {options.count} programs from seed {options.seed} differ "
        f"({len(found) / options.count:.2%}); {options.count / seconds:.0f} programs a second"
    )
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
