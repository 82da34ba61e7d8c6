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
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from types import ModuleType
from typing import Any

from tests.fuzz.generate import check, generate
from tests.fuzz.running import Finding
from tests.fuzz.shrink import shrink


def frameworks() -> tuple[ModuleType, ModuleType]:
    import torch

    import nnkit

    torch.set_num_threads(1)
    # Anomaly mode writes down where each node was made: a third of the time, and never shown.
    traceback.walk_stack = lambda _: iter(())
    return torch, nnkit


def find(seed: int) -> Finding | None:
    return check(seed, *frameworks())


def run_oracle(seed: int) -> None:
    generate(seed, frameworks()[0])


def shorten(finding: Finding) -> Finding:
    return shrink(finding, *frameworks())


def _serve(function: Callable, items: Sequence, results: Connection) -> None:
    for index, item in enumerate(items):
        results.send((index, item, None))  # so that the reader knows what ended the process
        result = function(item)
        if result is not None:
            results.send((index, item, result))
        if index % 500 == 0:
            gc.collect()


def in_processes(function: Callable, items: Sequence, count: int) -> tuple[dict, list]:
    """What ``function`` returns for each item but None, and the items that ended their process."""
    context = multiprocessing.get_context("spawn")
    found: dict = {}
    ended: list = []
    waiting = [items[index::count] for index in range(count)]
    workers: dict[Any, list] = {}  # [process, its items, how many it has begun, the last]
    while waiting or workers:
        while waiting:
            part = waiting.pop()
            receive, send = context.Pipe(duplex=False)
            process = context.Process(target=_serve, args=(function, part, send))
            process.start()
            send.close()
            workers[receive] = [process, part, 0, None]
        ready: Any
        for ready in wait(list(workers)):
            worker = workers[ready]
            try:
                index, item, result = ready.recv()
            except EOFError:
                del workers[ready]
                process, part, begun, item = worker
                process.join()
                if process.exitcode > 0:
                    raise SystemExit(f"the fuzzer itself failed at {item}") from None
                if process.exitcode:
                    ended.append(item)
                    waiting += [part[begun:]] if part[begun:] else []
            else:
                worker[2:] = index + 1, item
                if result is not None:
                    found[item] = result
    return found, ended


def shortest(findings: Sequence[Finding], processes: int) -> list[tuple[int, Finding]]:
    """The shortest program of each group, and how many programs are in it; the largest first."""
    alike: dict[str, list[Finding]] = {}
    for finding in findings:
        alike.setdefault(finding.group, []).append(finding)
    # Two of a group are made short: the statement that ends them may be no part of the cause.
    samples = [sorted(group, key=lambda f: len(f.program))[:2] for group in alike.values()]
    chosen = [finding for group in samples for finding in group]
    short, _ = in_processes(shorten, chosen, processes)
    counts: Counter[str] = Counter()
    best: dict[str, Finding] = {}
    for group, sample in zip(alike.values(), samples):
        for share, finding in enumerate(sample):
            found = short.get(finding, finding)
            counts[found.group] += len(group[share :: len(sample)])
            known = best.get(found.group)
            if known is None or len(str(found)) < len(str(known)):
                best[found.group] = found
    return [(count, best[group]) for group, count in counts.most_common()]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--find", type=int, default=40, help="how many groups to print")
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    seeds = range(options.seed, options.seed + options.count)
    found, ended = in_processes(find, seeds, options.processes)
    seconds = time.perf_counter() - start
    unanswered = set(in_processes(run_oracle, ended, 1)[1]) if ended else set()
    kinds = Counter((f.aspect, f.program[-1].kind) for f in found.values())
    for (aspect, kind), count in kinds.most_common():
        print(f"{count:6} {aspect} after {kind}")
    for count, finding in shortest(list(found.values()), options.processes)[: options.find]:
        print(f"\n## {count} x {finding.group}   (seed {finding.seed})\n{finding}")
    print(
        f"\n{len(found)} of {options.count} programs from seed {options.seed} differ "
        f"({len(found) / options.count:.2%}); {options.count / seconds:.0f} programs a second"
    )
    if unanswered:
        print(f"torch itself ended the process: seeds {sorted(unanswered)}")
    broken = sorted(set(ended) - unanswered)
    if broken:
        print(f"nnkit ended the process: seeds {broken}")
    return bool(found or broken)


if __name__ == "__main__":
    sys.exit(main())
