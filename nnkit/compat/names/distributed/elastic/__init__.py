"""torch.distributed.elastic: see `nnkit.distributed.elastic`."""
