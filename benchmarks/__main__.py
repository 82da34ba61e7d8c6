"""``python -m benchmarks [steps | ops | profile | memory | ranks]``: how fast nnkit is.

steps: a step of each workload, against PyTorch, JAX and NumPy, with its share of the roofline;
ops: every kind of op at three sizes; profile: where the time of one workload goes;
memory: peak memory and the time of the import, in fresh processes;
ranks: collectives, how much of them backward hides, and what to expect of 1,024 ranks.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks import memory, ops, profile, ranks, steps

MODES = {"steps": steps, "ops": ops, "profile": profile, "memory": memory, "ranks": ranks}


def main(arguments: list[str]) -> None:
    mode = "steps"
    if arguments and arguments[0] in MODES:
        mode, *arguments = arguments
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks {mode}",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--threads", type=int, help="threads of every framework")
    MODES[mode].add_options(parser)
    MODES[mode].run(parser.parse_args(arguments))


if __name__ == "__main__":
    main(sys.argv[1:])
