"""``python -m tests.distributed``: the long forms of the programs, on up to five ranks.

With ``--framework torch`` the same under PyTorch with gloo, but for what it has on GPUs alone.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from pathlib import Path

from tests.distributed import check_kill, check_memory, launch
from tests.distributed.test_checkpoint import killed_runs

PARALLEL = (
    *("mlp", "views", "static", "unused", "no_sync", "clip", "scaler", "cnn", "gpt", "lstm"),
    *("zero_mlp", "zero_cnn", "zero_gpt", "zero_lstm"),
    *("compiled", "hooks", "power", "large", "observed", "join", "join_zero", "errors"),
)
SHARDED = (
    *("mlp", "frees", "keeps", "one", "no_sync", "clip", "scaler", "cnn", "gpt", "lstm"),
    *("precision", "memory", "states", "errors"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, nargs="*", default=[1, 2, 3, 4, 5])
    parser.add_argument("--framework", choices=("nnkit", "torch"), default="nnkit")
    options = parser.parse_args()
    is_ours = options.framework == "nnkit"
    # torch's SyncBatchNorm is for GPUs, and torch.compile takes minutes.
    only_ours = set() if is_ours else {"cnn", "zero_cnn", "compiled"}
    for ranks in options.ranks:
        programs = [("collectives", ()), ("tensors", ()), ("random_programs", ("1000",))]
        if ranks in (2, 3, 4):  # of which each has as much of a batch
            programs += [("data_parallel", PARALLEL), ("sharded", SHARDED), ("zero", ())]
        if ranks == 3 and is_ours:
            programs.append(("wrapped", ()))
        for program, cases in programs:
            start = time.perf_counter()
            done = launch(
                program,
                ranks,
                options.framework,
                *(c for c in cases if c not in only_ours),
                seconds=600,
            )
            # Not its exit code: gloo can abort a process that has done everything.
            assert done.stdout.count("passed") == ranks, f"{done.stdout}\n{done.stderr[-4000:]}"
            print(f"{program} on {ranks} ranks: {time.perf_counter() - start:.1f} s", flush=True)
    if is_ours:
        print(check_memory(), flush=True)
        for seed in range(20):
            check_kill(seed)
            print(f"kill {seed}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            killed_runs("sharded", Path(folder), 20, 30, random.Random(0))
        print("a sharded run, killed 20 times", flush=True)


if __name__ == "__main__":
    main()
