"""``python -m tests.distributed``: the long forms of the programs, on up to five ranks."""

from __future__ import annotations

import argparse
import time

from tests.distributed import check_kill, succeed

PARALLEL = ("mlp", "views", "static", "unused", "no_sync", "clip", "scaler", "cnn", "gpt", "lstm")
SHARDED = (
    *("mlp", "frees", "keeps", "one", "no_sync", "clip", "scaler", "cnn", "gpt", "lstm"),
    *("precision", "memory", "states", "errors"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, nargs="*", default=[2, 3, 4, 5])
    options = parser.parse_args()
    for ranks in options.ranks:
        for program, cases in (
            ("tensors", ()), ("data_parallel", PARALLEL), ("sharded", SHARDED), ("zero", ()),
            ("random_programs", ("1000",)),
        ):  # fmt: skip
            start = time.perf_counter()
            done = succeed(program, ranks, "nnkit", *cases, seconds=600)
            assert done.count("passed") == ranks
            print(f"{program} on {ranks} ranks: {time.perf_counter() - start:.1f} s", flush=True)
    for seed in range(20):
        check_kill(seed)
    print("20 kills")


if __name__ == "__main__":
    main()
