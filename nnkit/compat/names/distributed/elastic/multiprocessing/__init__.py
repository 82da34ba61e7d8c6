"""torch.distributed.elastic.multiprocessing: what nnkit has of it."""
