"""torch.distributed.elastic.multiprocessing: see `nnkit.distributed.elastic`."""
