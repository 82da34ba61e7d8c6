"""The command line of the fuzzers whose programs follow from a seed."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from types import ModuleType


def run_seeds(about: str, check: Callable[[int, ModuleType, ModuleType], str]) -> int:
    """Check the programs of one seed after the other for some seconds, and print what differs.

    Args:
        about: the docstring of the fuzzer, whose first line says what it does.
        check: what differs in the program of a seed under torch and nnkit; empty where nothing.

    Returns:
        The exit status: 1 where a program differs.
    """
    parser = argparse.ArgumentParser(description=about.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    options = parser.parse_args()
    import torch

    import nnkit

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    end, seed, differing = time.monotonic() + options.seconds, options.seed, 0
    while time.monotonic() < end:
        what = check(seed, torch, nnkit)
        if what:
            differing += 1
            print(f"## seed {seed}: {what}", flush=True)
        seed += 1
    print(f"{differing} of {seed - options.seed} programs from seed {options.seed} differ")
    return int(differing > 0)
