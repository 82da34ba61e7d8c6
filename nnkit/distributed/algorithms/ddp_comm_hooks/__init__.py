"""Communication hooks for `nnkit.nn.parallel.DistributedDataParallel.register_comm_hook`."""
