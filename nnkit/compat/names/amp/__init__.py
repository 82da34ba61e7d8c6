"""torch.amp: see `nnkit.amp`."""
