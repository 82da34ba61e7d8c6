"""torch.distributed.elastic: what `nnkit.distributed.elastic` has."""
