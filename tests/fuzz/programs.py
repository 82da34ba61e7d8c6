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
from multiprocessing.connection import Connection, wait
from types import ModuleType

from tests.fuzz.generate import check
from tests.fuzz.running import Finding
from tests.fuzz.shrink import shrink


def frameworks() -> tuple[ModuleType, ModuleType]:
    import torch

    import nnkit

    torch.set_num_threads(1)
    return torch, nnkit


def search(seeds: range, shortest: bool, report: Connection) -> None:
    """Send ``(seed, None)`` before each program, ``(seed, finding)`` for one that differs."""
    oracle, framework = frameworks()
    for seed in seeds:
        report.send((seed, None))
        finding = check(seed, oracle, framework)
        if finding is not None:
            report.send((seed, finding))
            if shortest:  # torch does not survive all that is tried
                report.send((seed, shrink(finding, oracle, framework)))
        if seed % 500 == 0:
            gc.collect()


def search_all(
    seeds: range, processes: int, shortest: bool
) -> tuple[dict[int, Finding], list[int]]:
    """The findings by seed, and the seeds of programs that ended their process."""
    context = multiprocessing.get_context("spawn")
    found: dict[int, Finding] = {}
    crashed: list[int] = []
    waiting = [seeds[index::processes] for index in range(processes)]
    workers: dict[Connection, list] = {}  # [process, its seeds, how many it has begun]
    while waiting or workers:
        while waiting:
            part = waiting.pop()
            receive, send = context.Pipe(duplex=False)
            process = context.Process(target=search, args=(part, shortest, send))
            process.start()
            send.close()
            workers[receive] = [process, part, 0]
        for ready in wait(list(workers)):
            process, part, begun = workers[ready]
            try:
                seed, finding = ready.recv()
            except EOFError:
                del workers[ready]
                process.join()
                if process.exitcode > 0:
                    raise SystemExit(f"the fuzzer itself failed after {begun} programs of {part}")
                if process.exitcode:
                    crashed += [seed for seed in part[begun - 1 : begun] if seed not in found]
                    waiting += [part[begun:]] if part[begun:] else []
            else:
                if finding is None:
                    workers[ready][2] += 1
                else:
                    found[seed] = finding
    return found, crashed


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
    seeds = range(options.seed, options.seed + options.count)
    found, crashed = search_all(seeds, options.processes, not options.no_shrink)
    seconds = time.perf_counter() - start
    print(report(found, options.find))
    print(
        f"\n{len(found)} of {options.count} programs from seed {options.seed} differ "
        f"({len(found) / options.count:.2%}); {options.count / seconds:.0f} programs a second"
    )
    if crashed:
        print(f"{len(crashed)} ended the process: seeds {crashed}")
    return bool(found or crashed)


if __name__ == "__main__":
    sys.exit(main())
