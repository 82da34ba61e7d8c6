"""torch.distributed.checkpoint: that of `nnkit.distributed`."""
