"""Ranks that read one data pipe, alone and with two workers each; told is who got which samples."""

from __future__ import annotations

import nnkit
from nnkit import distributed
from nnkit.utils.data import DataLoader
from nnkit.utils.data.datapipes.iter import IterableWrapper


def main() -> None:
    distributed.init_process_group()
    rank = distributed.get_rank()
    nnkit.manual_seed(rank)  # the first rank's seed is that of all
    pipe = IterableWrapper(range(12)).shuffle().sharding_filter()
    for workers in (0, 2):
        samples = list(DataLoader(pipe, batch_size=None, num_workers=workers))
        print(f"rank {rank}, {workers} workers: {samples}", flush=True)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
