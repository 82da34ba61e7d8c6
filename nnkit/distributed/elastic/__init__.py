"""torch's name for what surrounds jobs; `nnkit.distributed.run` starts them."""
